//! What the agent gets: a disclosed result, or the gate's own words.

use serde_json::Map;
use serde_json::Value;
use serde_json::json;
use toolgate_core::approval::Approval;
use toolgate_core::approval::Status;
use toolgate_core::verdict::Code;
use toolgate_core::verdict::Reason;
use toolgate_core::verdict::Retry;

use super::quote::plain;
use super::quote::quotable;

/// Where a result's `_meta` says what became of the call.
pub(super) const OUTCOME: &str = "toolgate/outcome";
/// Where a result's `_meta` says how far its content can be trusted.
pub(super) const TRUST: &str = "toolgate/trust";

/// The answer to a call.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a wire must answer each of them")]
pub enum Reply {
    /// For this principal there is no such tool; exactly as if it had never existed.
    Hidden,
    /// A `CallToolResult` object.
    Result(Value),
    /// The key is not good.
    Unauthorised,
}

impl Reply {
    /// What kind of answer it is, for the log: never anything of the call.
    pub(super) fn word(&self) -> &str {
        let Self::Result(result) = self else {
            return match self {
                Self::Unauthorised => "unauthorised",
                Self::Hidden | Self::Result(_) => "hidden",
            };
        };
        let outcome = result.get("_meta").and_then(|meta| meta.get(OUTCOME));
        let word = |name: &str| {
            outcome
                .and_then(|said| said.get(name))
                .and_then(Value::as_str)
        };
        word("code").or_else(|| word("status")).unwrap_or("result")
    }

    /// A refusal from which the agent can recover by itself.
    pub(super) fn refused(reason: &Reason) -> Self {
        if reason.code == Code::Hidden {
            return Self::Hidden;
        }
        let reason = &quotable(reason.clone());
        let mut text = format!(
            "toolgate: refused ({}): {}",
            reason.code.as_str(),
            reason.message
        );
        if let Some(path) = &reason.path {
            text.push_str(&format!("; at {path}"));
        }
        if let Some(expected) = &reason.expected {
            text.push_str(&format!("; allowed: {expected}"));
        }
        text.push_str(match (reason.retry, reason.retry_after_ms) {
            (Retry::Never, _) => ". The same call will not pass.",
            (Retry::Fixed, _) => ". A corrected call may pass.",
            (Retry::After, None) => ". It may pass later.",
            (Retry::After, Some(_)) => ". It may pass after retryAfterMs.",
        });
        if let Some(wait) = reason.retry_after_ms {
            text.push_str(&format!(" retryAfterMs: {wait}"));
        }
        let mut outcome = Map::new();
        outcome.insert("status".to_owned(), "refused".into());
        outcome.insert("code".to_owned(), reason.code.as_str().into());
        if let Some(path) = &reason.path {
            outcome.insert("path".to_owned(), path.as_str().into());
        }
        if let Some(expected) = &reason.expected {
            outcome.insert("expected".to_owned(), expected.clone());
        }
        outcome.insert("retry".to_owned(), json!(reason.retry));
        if let Some(wait) = reason.retry_after_ms {
            outcome.insert("retryAfterMs".to_owned(), wait.into());
        }
        Self::said(&text, &Value::Object(outcome), true, false)
    }

    /// The gate could not do its part, so nothing is done or disclosed.
    pub(super) fn unavailable() -> Self {
        let message = "the gate cannot write down what it does right now, so nothing is done";
        Self::refused(&Reason::new(Code::Unavailable, message, Retry::After))
    }

    /// A request that has no result to hand over (yet).
    pub(super) fn standing(approval: &Approval) -> Self {
        let id = approval.id.as_str();
        let why = plain(approval.message.as_deref().unwrap_or_default());
        match approval.status {
            Status::Pending => {
                let text = format!(
                    "toolgate: this call waits for a person; nothing has been done yet. Request \
                     {id}. Do not wait for it in a loop: go on with other work or end your turn, \
                     then call {} with this id, or repeat the same call, to get the result.",
                    super::OUTCOME_TOOL
                );
                let outcome = json!({
                    "status": "pending_approval",
                    "id": id,
                    "expiresAt": approval.expires_at,
                });
                Self::said(&text, &outcome, false, true)
            }
            Status::Applying => {
                let text = format!(
                    "toolgate: request {id} is being carried out right now. Call {} with this id \
                     to get the result.",
                    super::OUTCOME_TOOL
                );
                Self::said(&text, &json!({"status": "applying", "id": id}), false, true)
            }
            Status::Declined => {
                let reason = approval
                    .answer
                    .as_ref()
                    .and_then(|answer| answer.reason.as_deref());
                let said = reason
                    .map(|r| format!(" Reason given: {r}."))
                    .unwrap_or_default();
                let text = format!(
                    "toolgate: a person declined request {id}.{said} Do not repeat this call."
                );
                let mut outcome = ended("declined", id, Retry::Never);
                if let (Some(outcome), Some(reason)) = (outcome.as_object_mut(), reason) {
                    outcome.insert("reason".to_owned(), reason.into());
                }
                Self::said(&text, &outcome, true, false)
            }
            Status::Expired => {
                let text = format!(
                    "toolgate: nobody answered request {id} in time; nothing was done. The same \
                     call makes a new request."
                );
                Self::said(&text, &ended("expired", id, Retry::After), true, false)
            }
            Status::Withdrawn => {
                let text = format!("toolgate: request {id} was withdrawn; nothing was done.");
                Self::said(&text, &ended("withdrawn", id, Retry::After), true, false)
            }
            Status::Blocked => {
                let text = format!(
                    "toolgate: request {id} was approved, but not carried out: {why}. Nothing was \
                     done."
                );
                Self::said(&text, &ended("blocked", id, Retry::Fixed), true, false)
            }
            Status::Failed => {
                let text = if approval.unattended {
                    format!("toolgate: the call was not made: {why}. It may be called again.")
                } else {
                    format!(
                        "toolgate: request {id} was approved, but the call was not made: {why}. An \
                         operator can try it again."
                    )
                };
                Self::said(&text, &ended("failed", id, Retry::After), true, false)
            }
            Status::Unknown | Status::Applied => {
                let text = format!(
                    "toolgate: it is not known whether request {id} was carried out. It is not \
                     tried again; an operator finds out. Do not repeat this call."
                );
                Self::said(&text, &ended("unknown", id, Retry::Never), true, false)
            }
        }
    }

    /// The call was made and its result is kept, but it cannot be handed over right now.
    pub(super) fn kept(approval: &Approval) -> Self {
        let id = approval.id.as_str();
        let text = format!(
            "toolgate: request {id} was carried out, and its result is kept, but it cannot be \
             handed over right now. Do not repeat this call: call {} with this id later.",
            super::OUTCOME_TOOL
        );
        let outcome = json!({
            "status": "applied",
            "code": Code::Unavailable,
            "id": id,
            "retry": Retry::After,
        });
        Self::said(&text, &outcome, true, false)
    }

    /// The call was made, and its result is not for this agent.
    pub(super) fn withheld(approval: &Approval, reason: &Reason) -> Self {
        let id = approval.id.as_str();
        let text = format!(
            "toolgate: request {id} was carried out: {}.",
            reason.message
        );
        let outcome = json!({
            "status": "applied",
            "code": reason.code,
            "id": id,
            "retry": reason.retry,
        });
        Self::said(&text, &outcome, true, false)
    }

    /// There is no such request of this principal.
    pub(super) fn no_such_request() -> Self {
        let text = "toolgate: there is no such request of yours.";
        let outcome = json!({"status": "refused", "code": Code::NotFound, "retry": Retry::Never});
        Self::said(text, &outcome, true, false)
    }

    fn said(text: &str, outcome: &Value, is_error: bool, structured: bool) -> Self {
        let mut result = Map::new();
        result.insert(
            "content".to_owned(),
            json!([{"type": "text", "text": text}]),
        );
        if structured {
            result.insert("structuredContent".to_owned(), outcome.clone());
        }
        if is_error {
            result.insert("isError".to_owned(), Value::Bool(true));
        }
        result.insert("_meta".to_owned(), json!({ OUTCOME: outcome }));
        Self::Result(Value::Object(result))
    }
}

fn ended(status: &str, id: &str, retry: Retry) -> Value {
    json!({"status": status, "code": status, "id": id, "retry": retry})
}
