//! The last stage: the fence round untrusted text, and what `_meta` says of it.

use std::borrow::Cow;

use serde_json::Map;
use serde_json::Value;
use serde_json::json;
use toolgate_core::approval::Approval;
use toolgate_core::policy::Fence;
use toolgate_core::verdict::Code;
use toolgate_core::verdict::Reason;
use toolgate_core::verdict::Retry;
use toolgate_filter::fence;
use toolgate_filter::fence::FenceId;

use super::Gate;
use super::answer::OUTCOME;
use super::answer::Reply;
use super::answer::TRUST;
use super::stage::NoResult;
use super::stage::Recorded;
use super::stage::Shown;
use super::stage::is_reserved;
use crate::ports::EntropyError;
use crate::upstream::Dispatched;

/// The kinds of a content block (MCP 2026-07-28, `ContentBlock`).
const KINDS: [&str; 5] = ["text", "image", "audio", "resource", "resource_link"];

impl Gate {
    /// Hands a recorded result to the agent. `request` is the approval whose result it is.
    pub(super) fn disclose(
        &self,
        recorded: Recorded,
        fenced: Fence,
        request: Option<(&Approval, bool)>,
    ) -> Reply {
        let (shown, findings) = recorded.into_parts();
        let mut result = match shown {
            Shown::Result(result) => result,
            Shown::Withheld(notice) => {
                let reason = Reason::new(Code::InjectionBlocked, notice, Retry::Never);
                return Reply::refused(&reason);
            }
            Shown::Nothing(none) => return Reply::refused(&no_result(&none)),
        };
        let mut notes: Vec<String> = toolgate_filter::notes(&findings)
            .into_iter()
            .map(str::to_owned)
            .collect();
        let mut meta = Map::new();
        meta.insert(TRUST.to_owned(), "untrusted".into());
        if let Some((approval, replayed)) = request {
            let at = approval.settled_at;
            if replayed {
                let at = at.map(|at| at.to_string()).unwrap_or_default();
                notes.push(format!("not run again: this is the stored result of {at}"));
            }
            let outcome = json!({
                "status": "applied",
                "id": approval.id,
                "settledAt": at,
                "replayed": replayed,
            });
            meta.insert(OUTCOME.to_owned(), outcome);
        }
        if !notes.is_empty() {
            meta.insert("toolgate/notes".to_owned(), json!(notes));
        }
        let Some(members) = result.as_object_mut() else {
            return Reply::unavailable();
        };
        if fenced == Fence::On && self.wrap(members, &notes).is_err() {
            return Reply::unavailable();
        }
        let kept = members
            .entry("_meta")
            .or_insert_with(|| Value::Object(Map::new()));
        if let Some(kept) = kept.as_object_mut() {
            kept.retain(|name, _| !is_reserved(name));
            kept.extend(meta);
        } else {
            *kept = Value::Object(meta);
        }
        Reply::Result(result)
    }

    /// Fences every text that a model reads, and takes the fence's and the gate's voice from every
    /// other; the notes stand before the first text.
    fn wrap(&self, result: &mut Map<String, Value>, notes: &[String]) -> Result<(), EntropyError> {
        let others = result.iter_mut().filter(|(name, _)| *name != "content");
        others.for_each(|(_, other)| defuse_words(other));
        let blocks = result
            .entry("content")
            .or_insert_with(|| Value::Array(Vec::new()));
        let Some(blocks) = blocks.as_array_mut() else {
            *blocks = Value::Array(Vec::new());
            return Ok(());
        };
        let mut notes = notes;
        for block in blocks.iter_mut() {
            make_known(block);
            if let Some(text) = readable(block) {
                let id = FenceId::from_entropy(self.entropy::<16>()?);
                *text = fence::wrap(text, &id, notes);
                notes = &[];
            }
            defuse_block(block);
        }
        if !notes.is_empty() {
            let lines: Vec<String> = notes
                .iter()
                .map(|note| format!("toolgate: {note}"))
                .collect();
            blocks.insert(0, json!({"type": "text", "text": lines.join("\n")}));
        }
        Ok(())
    }
}

/// A block of a kind that the protocol does not know is a text to its reader, so it becomes one.
fn make_known(block: &mut Value) {
    let kind = block.get("type").and_then(Value::as_str);
    if !kind.is_some_and(|kind| KINDS.contains(&kind)) {
        let text = match std::mem::take(block) {
            Value::String(text) => text,
            other => other.to_string(),
        };
        *block = json!({"type": "text", "text": text});
    }
}

/// Defuses the words of a block that are in no fence: names, descriptions, addresses and the like.
fn defuse_block(block: &mut Value) {
    let Some(members) = block.as_object_mut() else {
        return;
    };
    let kind = members.get("type").and_then(Value::as_str);
    let kind = kind.unwrap_or_default().to_owned();
    for (name, member) in members {
        match (kind.as_str(), name.as_str(), member) {
            ("text", "text", _) | ("image" | "audio", "data", _) => {}
            ("resource", "resource", Value::Object(resource)) => {
                let words = resource
                    .iter_mut()
                    .filter(|(name, _)| !matches!(name.as_str(), "text" | "blob"));
                words.for_each(|(_, word)| defuse_words(word));
            }
            (_, _, member) => defuse_words(member),
        }
    }
}

/// Defuses every string in a value.
fn defuse_words(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(defused) = fence::defuse(text) {
                *text = defused;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(defuse_words),
        Value::Object(members) => members.values_mut().for_each(defuse_words),
        _ => {}
    }
}

/// The text of a text block, or of an embedded resource.
fn readable(block: &mut Value) -> Option<&mut String> {
    let kind = block.get("type").and_then(Value::as_str)?;
    let place = match kind {
        "text" => block.get_mut("text"),
        "resource" => block
            .get_mut("resource")
            .and_then(|resource| resource.get_mut("text")),
        _ => None,
    };
    match place {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

fn no_result(none: &NoResult) -> Reason {
    let why = &none.why;
    let message = match none.dispatched {
        Dispatched::No => format!("the call was not made: {why}"),
        Dispatched::Maybe => format!("the call has no result: {why}"),
    };
    Reason::new(Code::UpstreamUnavailable, message, none.retry)
}
