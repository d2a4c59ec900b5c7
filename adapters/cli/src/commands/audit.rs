//! `toolgate audit`: reading the chains back, with a gate or without one.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufRead;
use std::io::BufReader;
use std::path::Path;
use std::path::PathBuf;

use clap::Subcommand;
use serde_json::Value;
use serde_json::json;
use toolgate_audit::ChainId;
use toolgate_audit::ExportVerifier;
use toolgate_audit::Head;
use toolgate_audit::StoredRow;
use toolgate_audit::Summary;
use toolgate_audit::Verifier;
use toolgate_axum::sqlite::ReadOnly;
use toolgate_mcp::store::Filed;
use toolgate_mcp::store::StoreError;

use crate::client::Client;
use crate::client::Connection;
use crate::failure::Exit;
use crate::failure::Failure;
use crate::out::Out;
use crate::out::at;
use crate::out::items;
use crate::out::plain;
use crate::out::table;
use crate::words;

/// Entries read at once.
const SLICE: usize = 1_000;
/// So many lines that are none of an export are named.
const MOST_FOREIGN: usize = 20;

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Command {
    /// Print every entry and every head as lines of JSON
    #[command(after_help = "Example:
  toolgate audit export --data toolgate-data > export.jsonl")]
    Export {
        /// The gate's data folder; a gate may be running over it
        #[arg(long, value_name = "DIR")]
        data: PathBuf,
    },
    /// Check every chain: of the running gate, of a data folder or of an export
    #[command(after_help = "Examples:
  toolgate audit verify
  toolgate audit verify --data toolgate-data
  toolgate audit verify --file export.jsonl

Exit codes: 0 sound, 1 tampered with, 2 incomplete, 3 not to be read, 64 wrong usage.")]
    Verify {
        /// The gate's data folder; a gate may be running over it
        #[arg(long, value_name = "DIR", conflicts_with = "file")]
        data: Option<PathBuf>,
        /// An export
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
    },
}

/// Exports; the output is lines of JSON whether or not programs are to read it.
pub(crate) fn export(data: &Path, out: &mut Out) -> Result<(), Failure> {
    let store = open(data)?;
    for (chain, head) in store.chains().map_err(unreadable)? {
        rows(&store, &chain, head, |row| {
            let mut line = toolgate_audit::row_line(&chain, stored(row));
            line.push('\n');
            out.raw(line.as_bytes())
        })?;
        let mut line = toolgate_audit::head_line(&chain, &head);
        line.push('\n');
        out.raw(line.as_bytes())?;
    }
    out.flush()
}

/// Verifies without a gate.
pub(crate) fn verify_offline(
    data: Option<&Path>,
    file: Option<&Path>,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let (summary, foreign) = match (data, file) {
        (_, Some(file)) => export_summary(file)?,
        (Some(data), None) => (data_summary(&open(data)?)?, Vec::new()),
        (None, None) => return Err(Failure::usage("neither a folder nor a file is named")),
    };
    let mut document = serde_json::to_value(&summary)
        .map_err(|_| Failure::unreachable("the report cannot be written"))?;
    if !foreign.is_empty()
        && let Some(document) = document.as_object_mut()
    {
        document.insert("foreignLines".to_owned(), json!(foreign));
    }
    told(&document, out)
}

/// Has the running gate verify itself.
pub(crate) async fn verify_online(connection: &Connection, out: &mut Out) -> Result<Exit, Failure> {
    let client = Client::open(connection)?;
    let document = client.fetch(&["audit", "verify"], &[]).await?;
    told(&document, out)
}

fn told(document: &Value, out: &mut Out) -> Result<Exit, Failure> {
    let says = |name: &str| document.get(name) == Some(&Value::Bool(true));
    let (ok, complete) = (says("ok"), says("complete"));
    let (exit, word) = match (ok, complete) {
        (false, _) => (Exit::Refused, "tampered with"),
        (true, false) => (Exit::Incomplete, "sound as far as it goes, but incomplete"),
        (true, true) => (Exit::Ok, "sound"),
    };
    out.answer(document, || {
        let mut lines = vec![format!(
            "{} entries: {word}",
            plain(&at(document, "/entries"))
        )];
        let chains: Vec<_> = items(document, "/chains")
            .iter()
            .map(|chain| [at(chain, "/chain"), at(chain, "/size"), at(chain, "/head")])
            .collect();
        lines.extend(table(["CHAIN", "SIZE", "HEAD"], &chains));
        let problems: Vec<_> = items(document, "/problems")
            .iter()
            .map(|problem| {
                [
                    at(problem, "/chain"),
                    at(problem, "/seq"),
                    at(problem, "/kind"),
                ]
            })
            .collect();
        if !problems.is_empty() {
            lines.push(String::new());
            lines.extend(table(["CHAIN", "ENTRY", "PROBLEM"], &problems));
        }
        let foreign = items(document, "/foreignLines");
        if !foreign.is_empty() {
            let numbers: Vec<_> = foreign.iter().map(Value::to_string).collect();
            lines.push(String::new());
            lines.push(format!("no lines of an export: {}", numbers.join(", ")));
        }
        lines
    })?;
    Ok(exit)
}

/// What an export holds, and the numbers of the first lines of it that are none of an export.
fn export_summary(path: &Path) -> Result<(Summary, Vec<u64>), Failure> {
    let failed = |error: std::io::Error| words::unusable(path, &error);
    let mut input = BufReader::new(File::open(path).map_err(failed)?);
    let mut verifier = ExportVerifier::new();
    let mut foreign = Vec::new();
    let mut line = Vec::new();
    let mut number = 0_u64;
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line).map_err(failed)? == 0 {
            break;
        }
        number = number.saturating_add(1);
        if foreign.len() < MOST_FOREIGN && toolgate_audit::verify_export([&line]).unreadable > 0 {
            foreign.push(number);
        }
        verifier.feed(&line);
    }
    let summary = verifier.finish();
    if summary.chains.is_empty() && !foreign.is_empty() {
        let message = format!("{} is not an export of toolgate", path.display());
        return Err(Failure::usage(message));
    }
    Ok((summary, foreign))
}

pub(super) fn data_summary(store: &ReadOnly) -> Result<Summary, Failure> {
    let mut read = Vec::new();
    for (chain, head) in store.chains().map_err(unreadable)? {
        let mut verifier = Verifier::new(chain.clone());
        rows(store, &chain, head, |row| {
            verifier.feed(stored(row));
            Ok(())
        })?;
        read.push((chain, head, verifier));
    }
    let beyond = beyond(store)?;
    let finish = |(chain, head, mut verifier): (ChainId, Head, Verifier)| {
        if let Some(row) = beyond.get(&chain) {
            verifier.feed(stored(row));
        }
        verifier.finish(Some(&head))
    };
    Ok(read.into_iter().map(finish).collect())
}

/// Goes through the rows of a chain up to a head; what a running gate appends meanwhile belongs
/// to the next reading.
fn rows(
    store: &ReadOnly,
    chain: &ChainId,
    head: Head,
    mut each: impl FnMut(&Filed) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut from = 0;
    loop {
        let slice = store.slice(chain, from, SLICE).map_err(unreadable)?;
        let Some(last) = slice.last() else {
            return Ok(());
        };
        let next = last.seq.saturating_add(1);
        for row in slice.iter().filter(|row| row.seq <= head.size) {
            each(row)?;
        }
        if slice.len() < SLICE || next > head.size {
            return Ok(());
        }
        from = next;
    }
}

/// Rows that no writer appended: stored beyond the heads, however often those are read.
fn beyond(store: &ReadOnly) -> Result<BTreeMap<ChainId, Filed>, Failure> {
    let mut found = BTreeMap::new();
    for (chain, head) in store.chains().map_err(unreadable)? {
        let row = store.slice(&chain, head.size.saturating_add(1), 1);
        if let Some(row) = row.map_err(unreadable)?.into_iter().next() {
            found.insert(chain, row);
        }
    }
    if !found.is_empty() {
        let now = store.chains().map_err(unreadable)?;
        let now: BTreeMap<ChainId, Head> = now.into_iter().collect();
        found.retain(|chain, row| now.get(chain).is_none_or(|head| row.seq > head.size));
    }
    Ok(found)
}

fn stored(row: &Filed) -> StoredRow<'_> {
    StoredRow {
        seq: row.seq,
        bytes: &row.bytes,
        hash: row.hash,
    }
}

pub(super) fn open(data: &Path) -> Result<ReadOnly, Failure> {
    ReadOnly::open(data).map_err(|error| words::unopened(data, &error))
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the shape that `map_err` wants"
)]
fn unreadable(error: StoreError) -> Failure {
    Failure::unreachable(error.to_string())
}
