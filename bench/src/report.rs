//! The table.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Duration;

use crate::Outcome;
use crate::disk::Disk;
use crate::filter::Filter;
use crate::load::Times;
use crate::process::Server;
use crate::servers::KINDS;

#[derive(Debug)]
pub(crate) struct Report {
    time: Duration,
    closed: BTreeMap<(&'static str, usize), Times>,
    steady: BTreeMap<&'static str, Times>,
    servers: BTreeMap<&'static str, Seen>,
    text: String,
}

#[derive(Debug, Default)]
struct Seen {
    start: Duration,
    idle: Option<u64>,
    loaded: Option<u64>,
    disk: u64,
}

impl Report {
    pub(crate) fn new(quick: bool) -> Self {
        Self {
            time: Duration::from_secs(if quick { 1 } else { 5 }),
            closed: BTreeMap::new(),
            steady: BTreeMap::new(),
            servers: BTreeMap::new(),
            text: String::new(),
        }
    }

    /// How long each measurement lasts.
    pub(crate) const fn time(&self) -> Duration {
        self.time
    }

    pub(crate) fn filter(&mut self, filter: &Filter) {
        self.line(format_args!(
            "filter: {:.0} MB/s of harmless text in 4 KiB strings, {:.3} of `is_ascii` ({:.0} MB/s)",
            filter.harmless,
            filter.harmless / filter.is_ascii,
            filter.is_ascii,
        ));
        let (pattern, took) = filter.worst;
        self.line(format_args!(
            "filter: 1 MiB of `{}` takes {took:.1} ms, the longest of the hostile texts",
            pattern.escape_default(),
        ));
    }

    pub(crate) fn disk(&mut self, disk: &Disk) {
        self.line(format_args!(
            "audit: {:.0} durable entries/s of 64 callers, {:.1} times the {:.0} syncs/s of the disk",
            disk.appends,
            disk.appends / disk.syncs,
            disk.syncs,
        ));
    }

    pub(crate) fn started(&mut self, kind: &'static str, server: &Server) {
        let seen = self.servers.entry(kind).or_default();
        seen.start = server.start;
        seen.idle = server.memory();
    }

    pub(crate) fn ended(&mut self, kind: &'static str, server: &Server) {
        let seen = self.servers.entry(kind).or_default();
        seen.loaded = server.memory();
        seen.disk = server.disk();
    }

    pub(crate) fn closed(&mut self, kind: &'static str, connections: usize, times: Times) {
        self.closed.insert((kind, connections), times);
    }

    pub(crate) fn steady(&mut self, kind: &'static str, times: Times) {
        self.steady.insert(kind, times);
    }

    pub(crate) fn print(mut self) -> Outcome<()> {
        self.calls();
        self.at_a_steady_rate();
        self.processes();
        std::io::stdout().write_all(self.text.as_bytes())?;
        Ok(())
    }

    fn calls(&mut self) {
        self.line(format_args!(""));
        self.line(format_args!(
            "| server | connections | calls/s | of the proxy | p50 ms | p99 ms |"
        ));
        self.line(format_args!("|---|---:|---:|---:|---:|---:|"));
        let closed = std::mem::take(&mut self.closed);
        for connections in [1, 16, 64] {
            let proxy = closed.get(&("proxy", connections));
            let proxy = proxy.map_or(f64::NAN, Times::per_second);
            for kind in KINDS {
                let Some(times) = closed.get(&(kind, connections)) else {
                    continue;
                };
                let rate = times.per_second();
                self.line(format_args!(
                    "| {kind} | {connections} | {rate:.0} | {:.2} | {:.2} | {:.2} |",
                    rate / proxy,
                    times.quantile(0.5),
                    times.quantile(0.99),
                ));
            }
        }
    }

    fn at_a_steady_rate(&mut self) {
        self.line(format_args!(""));
        self.line(format_args!(
            "| server, at 1000 calls/s | p50 ms | p99 ms | added to the proxy, p50 | p99 |"
        ));
        self.line(format_args!("|---|---:|---:|---:|---:|"));
        let steady = std::mem::take(&mut self.steady);
        let proxy = |share| steady.get("proxy").map_or(f64::NAN, |t| t.quantile(share));
        for kind in KINDS {
            let Some(times) = steady.get(kind) else {
                continue;
            };
            let (half, most) = (times.quantile(0.5), times.quantile(0.99));
            self.line(format_args!(
                "| {kind} | {half:.2} | {most:.2} | {:+.2} | {:+.2} |",
                half - proxy(0.5),
                most - proxy(0.99),
            ));
        }
    }

    fn processes(&mut self) {
        self.line(format_args!(""));
        self.line(format_args!(
            "| server | start ms | idle MB | after the load MB | on disk MB |"
        ));
        self.line(format_args!("|---|---:|---:|---:|---:|"));
        for (kind, seen) in std::mem::take(&mut self.servers) {
            self.line(format_args!(
                "| {kind} | {:.0} | {:.1} | {:.1} | {:.1} |",
                seen.start.as_secs_f64() * 1e3,
                megabytes(seen.idle.unwrap_or(0)),
                megabytes(seen.loaded.unwrap_or(0)),
                megabytes(seen.disk),
            ));
        }
    }

    fn line(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a text cannot fail.
        let _ = writeln!(self.text, "{text}");
    }
}

#[expect(clippy::cast_precision_loss, reason = "sizes are far below 2^52")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

#[expect(clippy::print_stderr, reason = "a program says why it ends")]
pub(crate) fn fail(error: &dyn Error) {
    eprintln!("bench: {error}");
}
