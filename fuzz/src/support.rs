//! What several targets need.

use std::borrow::Cow;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::OnceLock;

use http::HeaderMap;
use http::HeaderName;
use http::HeaderValue;
use serde_json::Value;
use serde_json::json;
use toolgate_core::catalog::Catalog;
use toolgate_core::catalog::Provenance;
use toolgate_core::catalog::Source;
use toolgate_core::catalog::Tool;
use toolgate_core::catalog::Trust;
use toolgate_core::id::UpstreamId;

/// Bytes as text, whatever they are.
pub(crate) fn text(data: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(data)
}

/// The first line and what follows it.
pub(crate) fn line(text: &str) -> (&str, &str) {
    text.split_once('\n').unwrap_or((text, ""))
}

/// `name: value` on each line; lines that make no header are left out.
pub(crate) fn header_map(block: &[u8]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for line in block.split(|byte| *byte == b'\n') {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else {
            continue;
        };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if let (Ok(name), Ok(value)) =
            (HeaderName::from_bytes(name), HeaderValue::from_bytes(value))
        {
            headers.append(name, value);
        }
    }
    headers
}

/// A header as ASCII text, if it is there once.
pub(crate) fn single<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok().map(str::trim_ascii),
        _ => None,
    }
}

pub(crate) fn source(id: &str, provenance: Provenance, trust: Trust) -> Source {
    let id = UpstreamId::from_str(id).expect("an id of ours");
    Source {
        id,
        provenance,
        trust,
    }
}

/// A few tools: some built in, some that nobody vouches for, one that is vetted.
pub(crate) fn catalog() -> &'static Catalog {
    static CATALOG: OnceLock<Catalog> = OnceLock::new();
    CATALOG.get_or_init(|| Catalog::new(tools(), false))
}

fn tools() -> Vec<Arc<Tool>> {
    let reads = json!({"readOnlyHint": true});
    let object = |properties: Value| json!({"type": "object", "properties": properties});
    let issue = json!({
        "title": {"type": "string"},
        "labels": {"type": "array", "items": {"type": "string"}},
        "assignees": {"type": "array", "items": object(json!({"name": {"type": "string"}}))},
        "count": {"type": ["integer", "null"]},
        "state": {"enum": ["open", "closed"]},
        "meta": {"type": "object"},
    });
    let builtin = [
        (
            "files",
            "files_read",
            object(json!({"path": {"type": "string"}})),
            true,
        ),
        (
            "flags",
            "flags_set",
            object(json!({"name": {"type": "string"}, "value": {"type": "boolean"}})),
            false,
        ),
        (
            "web",
            "web_fetch",
            object(json!({"url": {"type": "string"}, "offset": {"type": "integer"}})),
            true,
        ),
    ];
    let foreign = [
        ("gh", "create_issue", object(issue), false, Trust::Byo),
        (
            "gh",
            "list_issues",
            json!({"type": "object"}),
            true,
            Trust::Byo,
        ),
        (
            "gh",
            "delete_issue",
            json!({"type": "object"}),
            true,
            Trust::Byo,
        ),
        (
            "crm",
            "add_note",
            object(json!({"text": {"type": "string"}})),
            false,
            Trust::Vetted,
        ),
    ];
    let builtin = builtin.map(|(id, name, schema, is_read)| {
        let source = source(id, Provenance::Builtin, Trust::Vetted);
        (source, name, schema, is_read)
    });
    let foreign = foreign.map(|(id, name, schema, is_read, trust)| {
        (
            source(id, Provenance::Deployment, trust),
            name,
            schema,
            is_read,
        )
    });
    let all = builtin.into_iter().chain(foreign);
    all.map(|(source, name, schema, is_read)| {
        let mut definition = json!({"name": name, "inputSchema": schema});
        if is_read {
            definition["annotations"] = reads.clone();
        }
        let tool = Tool::new(&source, &definition.to_string());
        Arc::new(tool.expect("a definition of ours"))
    })
    .collect()
}
