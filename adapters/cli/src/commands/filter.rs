//! `toolgate filter`: the filter over standard input.

use std::io::BufRead;
use std::io::Read;

use serde::Deserialize;
use serde_json::Value;
use serde_json::json;
use toolgate_filter::Cleaned;
use toolgate_filter::Finding;
use toolgate_filter::Pii;
use toolgate_filter::Settings;
use toolgate_filter::clean_text;

use crate::failure::Failure;
use crate::out::Out;

/// The longest line of `--jsonl`, in bytes.
const MOST_LINE: usize = 64 << 20;

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "Examples:
  toolgate filter < ticket.txt
  toolgate filter --json < ticket.txt | jq .findings
  printf '{\"id\":1,\"text\":\"password: hunter2\"}\\n' | toolgate filter --jsonl

Spans are bytes of the given text.")]
pub(crate) struct Args {
    /// Each line is a text of its own, {\"id\", \"text\"}; so is each line of the output
    #[arg(long, conflicts_with = "json")]
    jsonl: bool,
    /// Leave personal data where it is
    #[arg(long)]
    allow_pii: bool,
}

/// A line of `--jsonl`.
#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    id: Value,
    text: String,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    let pii = if args.allow_pii {
        Pii::Allow
    } else {
        Pii::Redact
    };
    let settings = Settings::new(pii);
    let stdin = std::io::stdin().lock();
    if args.jsonl {
        return lines(stdin, &settings, out);
    }
    let mut text = String::new();
    let mut stdin = stdin;
    stdin
        .read_to_string(&mut text)
        .map_err(|_| Failure::unreachable("standard input is not UTF-8 text"))?;
    let cleaned = clean_text(&text, &settings);
    if out.is_json() {
        return out.line(safe(&document(None, &cleaned)));
    }
    out.raw(cleaned.value.as_bytes())?;
    out.flush()
}

fn lines(mut input: impl BufRead, settings: &Settings, out: &mut Out) -> Result<(), Failure> {
    let mut line = Vec::new();
    let mut number = 0_u64;
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        line.clear();
        number = number.saturating_add(1);
        let most = u64::try_from(MOST_LINE).unwrap_or(u64::MAX);
        let read = input.by_ref().take(most).read_until(b'\n', &mut line);
        let read = read.map_err(|_| Failure::unreachable("standard input cannot be read"))?;
        if read == 0 {
            break;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let parsed: Line = serde_json::from_slice(&line).map_err(|_| {
            Failure::usage(format!(
                "line {number} is not an object with `id` and `text`"
            ))
        })?;
        let cleaned = clean_text(&parsed.text, settings);
        batch.extend_from_slice(safe(&document(Some(parsed.id), &cleaned)).as_bytes());
        batch.push(b'\n');
        if batch.len() >= BATCH {
            out.raw(&batch)?;
            batch.clear();
        }
    }
    out.raw(&batch)?;
    out.flush()
}

fn document(id: Option<Value>, cleaned: &Cleaned<String>) -> Value {
    let findings: Vec<_> = cleaned.findings.iter().map(finding).collect();
    match id {
        Some(id) => json!({"id": id, "text": cleaned.value, "findings": findings}),
        None => json!({"text": cleaned.value, "findings": findings}),
    }
}

fn finding(finding: &Finding) -> Value {
    json!({
        "rule": finding.rule,
        "kind": finding.kind,
        "start": finding.span.start,
        "end": finding.span.end,
    })
}

/// JSON in which no character can be taken for the end of a line.
fn safe(document: &Value) -> String {
    let text = document.to_string();
    if !text.contains(['\u{85}', '\u{2028}', '\u{2029}']) {
        return text;
    }
    text.replace('\u{85}', "\\u0085")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

/// Output is written once that many bytes of it are there.
const BATCH: usize = 64 * 1024;
