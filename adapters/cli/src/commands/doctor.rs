//! `toolgate doctor`: what is configured, reachable and unsafe.

use std::path::Path;
use std::path::PathBuf;

use serde_json::Value;
use serde_json::json;

use super::audit;
use super::process;
use crate::client::Client;
use crate::client::Connection;
use crate::config;
use crate::failure::Exit;
use crate::failure::Failure;
use crate::out::Out;
use crate::out::at;
use crate::out::items;
use crate::out::plain;

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "Example:
  toolgate doctor -c toolgate.toml

With TOOLGATE_TOKEN set, the running gate is asked as well. It exits with 1 if something is bad.")]
pub(crate) struct Args {
    /// The configuration
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The data folder, if not the one of the configuration
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

/// How a finding weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Bad,
    Good,
    Note,
}

impl State {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Bad => "bad",
            Self::Good => "good",
            Self::Note => "note",
        }
    }
}

#[derive(Debug, Default)]
struct Findings(Vec<(State, String)>);

impl Findings {
    fn add(&mut self, state: State, text: impl Into<String>) {
        self.0.push((state, text.into()));
    }

    fn failure(&mut self, failure: &Failure) {
        self.add(State::Bad, &failure.message);
        for detail in &failure.details {
            self.add(State::Bad, detail);
        }
    }
}

pub(crate) async fn run(
    args: &Args,
    connection: &Connection,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let mut findings = Findings::default();
    let mut data = args.data.clone();
    if let Some(path) = &args.config {
        match config::load(path) {
            Ok(config) => {
                let named = config.connectors.iter().map(|one| one.as_str());
                let named: Vec<_> = named.collect();
                let text = format!("{} is accepted", path.display());
                findings.add(State::Good, text);
                match named.as_slice() {
                    [] => findings.add(State::Note, "no connector is on: agents have no tools"),
                    named => findings.add(State::Note, format!("on are {}", named.join(", "))),
                }
                if config.relaxed {
                    let text =
                        "durability is relaxed: a power cut may lose the last reads' entries";
                    findings.add(State::Note, text);
                }
                data.get_or_insert(config.data);
            }
            Err(failure) => findings.failure(&failure),
        }
    }
    if let Some(data) = &data {
        folder(data, &mut findings);
    }
    gate(connection, &mut findings).await;
    let bad = findings.0.iter().any(|(state, _)| *state == State::Bad);
    let listed = findings
        .0
        .iter()
        .map(|(state, text)| json!({"state": state.as_str(), "text": text}));
    let document = json!({"ok": !bad, "findings": listed.collect::<Vec<_>>()});
    out.answer(&document, || {
        let lines = findings.0.iter();
        let line = |(state, text): &(State, String)| format!("{}  {}", state.as_str(), plain(text));
        lines.map(line).collect()
    })?;
    Ok(if bad { Exit::Refused } else { Exit::Ok })
}

fn folder(data: &Path, findings: &mut Findings) {
    let name = data.display();
    if !data.exists() {
        findings.add(
            State::Note,
            format!("{name} is not there; a first start makes it"),
        );
        return;
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let open = std::fs::metadata(data).is_ok_and(|m| m.permissions().mode() & 0o077 != 0);
        if open {
            findings.add(
                State::Bad,
                format!("{name} can be entered by others; close it: chmod 700"),
            );
        }
    }
    match process::find(data) {
        Some(process) => {
            let number = process.number;
            findings.add(State::Good, format!("process {number} has {name}"));
        }
        None => findings.add(State::Note, format!("no gate runs over {name}")),
    }
    match audit::open(data).and_then(|store| audit::data_summary(&store)) {
        Ok(summary) if summary.ok && summary.complete => {
            let text = format!("the audit is sound, {} entries", summary.entries);
            findings.add(State::Good, text);
        }
        Ok(_) => findings.add(
            State::Bad,
            "the audit was tampered with: toolgate audit verify",
        ),
        Err(failure) => findings.failure(&failure),
    }
}

async fn gate(connection: &Connection, findings: &mut Findings) {
    let client = match Client::open(connection) {
        Ok(client) => client,
        Err(failure) => {
            let text = format!("the running gate is not asked: {}", failure.message);
            findings.add(State::Note, text);
            return;
        }
    };
    match client.fetch(&["overview"], &[]).await {
        Ok(overview) => looked_over(&overview, client.address(), findings),
        Err(failure) => findings.failure(&failure),
    }
}

fn looked_over(overview: &Value, address: &str, findings: &mut Findings) {
    findings.add(State::Good, format!("a gate answers at {address}"));
    if overview.get("insecure") == Some(&Value::Bool(true)) {
        findings.add(
            State::Bad,
            "a safeguard is off: TOOLGATE_ALLOW_INSECURE is set",
        );
    }
    let agents = items(overview, "/principals");
    let tools = items(overview, "/tools").len();
    findings.add(
        State::Note,
        format!("{} agents, {tools} tools", agents.len()),
    );
    for (pointer, what) in [
        ("/waiting", "requests wait for a person"),
        ("/unknown", "requests have an unknown outcome"),
    ] {
        let count = at(overview, pointer);
        if !matches!(count.as_str(), "" | "0") {
            findings.add(State::Note, format!("{count} {what}"));
        }
    }
    for agent in agents {
        let stale = items(agent, "/stale").len();
        if stale > 0 {
            let name = at(agent, "/name");
            findings.add(
                State::Bad,
                format!("{stale} rules of {name} name what is not there"),
            );
        }
    }
}
