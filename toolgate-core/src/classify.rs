//! The only code that reads or writes a tool's annotations.
//!
//! A tool is declared read-only only if the hint is the JSON boolean `true`; whatever is absent,
//! misspelt or of another type counts as not declared (MCP 2026-07-28, server/tools).

use serde::Deserialize;
use serde::Serialize;
use serde_json::Map;
use serde_json::Value;

use crate::catalog::Provenance;
use crate::catalog::Trust;

const READ_ONLY: &str = "readOnlyHint";
const DESTRUCTIVE: &str = "destructiveHint";
const IDEMPOTENT: &str = "idempotentHint";
const OPEN_WORLD: &str = "openWorldHint";

/// What calling a tool does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(
    clippy::exhaustive_enums,
    reason = "a third mode must break every match"
)]
pub enum Mode {
    /// It may change something: it goes to the queue first.
    Action,
    /// It reads: it runs at once and leaves an observation in the audit.
    Observation,
}

/// Whose word a tool's mode rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(
    clippy::exhaustive_enums,
    reason = "each source of a mode is shown to people"
)]
pub enum ClassifiedBy {
    /// The tool's own code in this process.
    Builtin,
    /// Nobody declared anything: it counts as an action.
    Default,
    /// The operator's policy says that it needs no person.
    Policy,
    /// The server's annotations.
    ServerAnnotation,
}

/// The classifier's answer, kept with the tool; nothing recomputes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::exhaustive_structs, reason = "a verdict is matched whole")]
pub struct Classified {
    /// What calling the tool does.
    pub mode: Mode,
    /// Whose word that is.
    pub classified_by: ClassifiedBy,
    /// Whether an operator's rule may apply it without a person.
    pub auto_eligible: bool,
    /// Whether the tool is vouched for as idempotent, so that it may be retried.
    pub idempotent: bool,
    /// Whether it is declared read-only under a name that says it changes something.
    pub suspicious: bool,
}

/// Classifies a tool from its definition, its name and where it comes from.
///
/// ```
/// use serde_json::json;
/// use toolgate_core::catalog::{Provenance, Trust};
/// use toolgate_core::classify::{Mode, classify};
///
/// let declared = json!({"name": "x", "annotations": {"readOnlyHint": "true"}});
/// let found = classify(&declared, Provenance::User, Trust::Byo);
/// assert_eq!(found.mode, Mode::Action);
/// ```
#[must_use]
pub fn classify(definition: &Value, provenance: Provenance, trust: Trust) -> Classified {
    let hints = definition.get("annotations").and_then(Value::as_object);
    let hint = |name: &str| {
        hints
            .and_then(|hints| hints.get(name))
            .and_then(Value::as_bool)
    };
    let read_only = hint(READ_ONLY) == Some(true);
    let vouched = trust == Trust::Vetted;
    let name = definition
        .get("name")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let declared = hints.is_some_and(|hints| hints.values().any(Value::is_boolean));
    Classified {
        mode: if read_only {
            Mode::Observation
        } else {
            Mode::Action
        },
        classified_by: match provenance {
            Provenance::Builtin => ClassifiedBy::Builtin,
            _ if declared => ClassifiedBy::ServerAnnotation,
            _ => ClassifiedBy::Default,
        },
        auto_eligible: !read_only
            && vouched
            && hint(DESTRUCTIVE) == Some(false)
            && hint(IDEMPOTENT) == Some(true),
        idempotent: vouched && (read_only || hint(IDEMPOTENT) == Some(true)),
        suspicious: read_only && provenance != Provenance::Builtin && says_it_changes(name),
    }
}

/// The annotations that the gate publishes: its own verdict, with the author's other words kept.
#[must_use]
pub fn published(definition: &Value, classified: &Classified) -> Value {
    let sent = definition.get("annotations").and_then(Value::as_object);
    let kept = |name: &str| {
        sent.and_then(|sent| sent.get(name))
            .and_then(Value::as_bool)
    };
    let reads = classified.mode == Mode::Observation;
    let mut hints = Map::new();
    hints.insert(READ_ONLY.to_owned(), Value::Bool(reads));
    hints.insert(
        DESTRUCTIVE.to_owned(),
        Value::Bool(!reads && kept(DESTRUCTIVE).unwrap_or(true)),
    );
    hints.insert(IDEMPOTENT.to_owned(), Value::Bool(classified.idempotent));
    hints.insert(
        OPEN_WORLD.to_owned(),
        Value::Bool(kept(OPEN_WORLD).unwrap_or(true)),
    );
    Value::Object(hints)
}

/// The annotations of a built-in tool, all four stated.
#[must_use]
pub fn declare(mode: Mode, destructive: bool, idempotent: bool, open_world: bool) -> Value {
    let mut hints = Map::new();
    hints.insert(READ_ONLY.to_owned(), Value::Bool(mode == Mode::Observation));
    hints.insert(DESTRUCTIVE.to_owned(), Value::Bool(destructive));
    hints.insert(IDEMPOTENT.to_owned(), Value::Bool(idempotent));
    hints.insert(OPEN_WORLD.to_owned(), Value::Bool(open_world));
    Value::Object(hints)
}

const MUTATING: &[&str] = &[
    "add",
    "append",
    "apply",
    "approve",
    "archive",
    "cancel",
    "clear",
    "close",
    "commit",
    "create",
    "delete",
    "deploy",
    "destroy",
    "disable",
    "drop",
    "edit",
    "enable",
    "exec",
    "execute",
    "grant",
    "insert",
    "install",
    "kill",
    "merge",
    "modify",
    "move",
    "patch",
    "pay",
    "post",
    "publish",
    "purge",
    "push",
    "put",
    "remove",
    "rename",
    "replace",
    "reset",
    "restart",
    "revoke",
    "run",
    "save",
    "send",
    "set",
    "start",
    "stop",
    "submit",
    "transfer",
    "truncate",
    "uninstall",
    "update",
    "upload",
    "upsert",
    "write",
];

fn says_it_changes(name: &str) -> bool {
    words(name)
        .iter()
        .any(|word| MUTATING.contains(&word.as_str()))
}

fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_lower = false;
    for c in name.chars() {
        let breaks = !c.is_alphanumeric() || (c.is_uppercase() && after_lower);
        if breaks {
            words.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
        after_lower = c.is_lowercase() || c.is_numeric();
    }
    words
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_the_boolean_true_declares_a_read() {
        for (hint, mode) in [
            (json!("true"), Mode::Action),
            (json!(1), Mode::Action),
            (Value::Null, Mode::Action),
            (json!(false), Mode::Action),
            (json!(true), Mode::Observation),
        ] {
            let tool = json!({"name": "x", "annotations": {READ_ONLY: hint}});
            assert_eq!(classify(&tool, Provenance::User, Trust::Byo).mode, mode);
        }
        let bare = classify(&json!({"name": "x"}), Provenance::User, Trust::Vetted);
        assert_eq!(
            (bare.mode, bare.classified_by),
            (Mode::Action, ClassifiedBy::Default)
        );
        assert!(!bare.auto_eligible);
    }

    #[test]
    fn two_of_fifty_four_shapes_are_eligible() {
        let states = [None, Some(false), Some(true)];
        let mut eligible = 0;
        for trust in [Trust::Vetted, Trust::Byo] {
            for read in states {
                for destructive in states {
                    for idempotent in states {
                        let mut hints = Map::new();
                        for (name, value) in [
                            (READ_ONLY, read),
                            (DESTRUCTIVE, destructive),
                            (IDEMPOTENT, idempotent),
                        ] {
                            value.map(|value| hints.insert(name.to_owned(), value.into()));
                        }
                        let tool = json!({"name": "x", "annotations": hints});
                        let found = classify(&tool, Provenance::Deployment, trust);
                        eligible += u32::from(found.auto_eligible);
                    }
                }
            }
        }
        assert_eq!(eligible, 2);
    }

    #[test]
    fn a_mutating_name_makes_a_declared_read_suspicious() {
        let read = |name: &str| {
            let tool = json!({"name": name, "annotations": {READ_ONLY: true}});
            classify(&tool, Provenance::User, Trust::Byo).suspicious
        };
        assert!(read("delete_issue") && read("deleteIssue"));
        assert!(!read("list_deleted_issues"));
    }
}
