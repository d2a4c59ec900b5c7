//! Catalogs and calls for the tests.

use std::sync::Arc;

use serde_json::Value;
use serde_json::json;
use toolgate_core::catalog::Catalog;
use toolgate_core::catalog::Provenance;
use toolgate_core::catalog::Source;
use toolgate_core::catalog::Tool;
use toolgate_core::catalog::Trust;
use toolgate_core::classify::Mode;
use toolgate_core::classify::declare;
use toolgate_core::judge::Judged;
use toolgate_core::judge::judge;
use toolgate_core::policy;
use toolgate_core::policy::Policy;

pub(crate) fn source(id: &str, provenance: Provenance, trust: Trust) -> Source {
    Source {
        id: id.parse().unwrap(),
        provenance,
        trust,
    }
}

pub(crate) fn builtin(id: &str, name: &str, mode: Mode, schema: Value) -> Arc<Tool> {
    let definition = json!({
        "name": name,
        "inputSchema": schema,
        "annotations": declare(mode, mode == Mode::Action, false, false),
    });
    let source = source(id, Provenance::Builtin, Trust::Vetted);
    Arc::new(Tool::new(&source, &definition.to_string()).unwrap())
}

pub(crate) fn foreign(id: &str, trust: Trust, definition: &Value) -> Arc<Tool> {
    let source = source(id, Provenance::Deployment, trust);
    Arc::new(Tool::new(&source, &definition.to_string()).unwrap())
}

pub(crate) fn object(properties: Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required })
}

/// The built-in tools, an upstream `gh` that nobody vouches for and a vetted one, `crm`.
pub(crate) fn catalog() -> Catalog {
    let text = json!({ "type": "string" });
    let number = json!({ "type": "integer" });
    let (read, write) = (Mode::Observation, Mode::Action);
    let reads = json!({ "readOnlyHint": true });
    let issue = object(
        json!({
            "title": text,
            "labels": { "type": "array", "items": text },
            "assignees": { "type": "array", "items": object(json!({ "name": text, "id": number }), &[]) },
            "meta": { "type": "object" },
            "count": { "type": ["integer", "null"] },
            "state": { "enum": ["open", "closed"] },
        }),
        &[],
    );
    Catalog::new(
        [
            builtin(
                "desk",
                "tickets_list",
                read,
                object(json!({ "status": text }), &[]),
            ),
            builtin(
                "desk",
                "tickets_get",
                read,
                object(json!({ "id": number }), &["id"]),
            ),
            builtin(
                "desk",
                "tickets_comment",
                write,
                object(json!({ "id": number, "body": text }), &["id", "body"]),
            ),
            builtin(
                "desk",
                "tickets_close",
                write,
                object(json!({ "id": number, "reason": text }), &["id"]),
            ),
            builtin("flags", "flags_list", read, object(json!({}), &[])),
            builtin(
                "flags",
                "flags_get",
                read,
                object(json!({ "name": text }), &["name"]),
            ),
            builtin(
                "flags",
                "flags_set",
                write,
                object(
                    json!({ "name": text, "value": { "type": "boolean" } }),
                    &["name", "value"],
                ),
            ),
            builtin(
                "files",
                "files_list",
                read,
                object(json!({ "prefix": text }), &[]),
            ),
            builtin(
                "files",
                "files_read",
                read,
                object(json!({ "path": text, "offset": number }), &["path"]),
            ),
            builtin(
                "files",
                "files_write",
                write,
                object(
                    json!({ "path": text, "content": text }),
                    &["path", "content"],
                ),
            ),
            builtin(
                "web",
                "web_fetch",
                read,
                object(json!({ "url": text, "offset": number }), &["url"]),
            ),
            foreign(
                "gh",
                Trust::Byo,
                &json!({ "name": "create_issue", "inputSchema": issue }),
            ),
            foreign(
                "gh",
                Trust::Byo,
                &json!({ "name": "list_secrets", "inputSchema": { "type": "object" }, "annotations": reads }),
            ),
            foreign(
                "gh",
                Trust::Byo,
                &json!({ "name": "list_issues", "inputSchema": { "type": "object" }, "annotations": reads }),
            ),
            foreign(
                "gh",
                Trust::Byo,
                &json!({ "name": "delete_issue", "inputSchema": { "type": "object" }, "annotations": reads }),
            ),
            foreign(
                "crm",
                Trust::Vetted,
                &json!({ "name": "add_note", "inputSchema": object(json!({ "text": text }), &[]) }),
            ),
        ],
        false,
    )
}

pub(crate) fn accept(policy: Value) -> Policy {
    policy::parse(&policy.to_string(), &catalog()).unwrap()
}

pub(crate) fn call(policy: &Policy, name: &str, raw: &str) -> Judged {
    judge(
        policy,
        catalog().find(name).map(AsRef::as_ref),
        raw,
        &|_| None,
    )
}

/// The decision of a call, the code of its first reason and the place that it names.
pub(crate) fn outcome(judged: &Judged) -> (&'static str, &'static str, Option<&str>) {
    let reason = judged.verdict.leading().unwrap();
    (
        judged.verdict.decision.as_str(),
        reason.code.as_str(),
        reason.path.as_deref(),
    )
}
