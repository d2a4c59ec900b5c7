//! A call's stages. Each is made from the one before and from what permits the step.

use serde_json::Map;
use serde_json::Value;
use toolgate_core::approval::Approval;
use toolgate_core::approval::ApprovalId;
use toolgate_core::approval::StoredResult;
use toolgate_core::digest::Digest;
use toolgate_core::id::CallId;
use toolgate_core::id::PrincipalId;
use toolgate_core::id::ToolName;
use toolgate_core::id::UpstreamId;
use toolgate_core::id::WireName;
use toolgate_core::json;
use toolgate_core::policy::OnInjection;
use toolgate_core::policy::Pii;
use toolgate_core::policy::Policy;
use toolgate_core::schema::Checker;
use toolgate_core::unit::Ending;
use toolgate_core::unit::Outcome;
use toolgate_core::verdict::Reason;
use toolgate_core::verdict::Retry;
use toolgate_filter::Finding;
use toolgate_filter::Settings;

use super::leaving::Ticket;
use crate::store::Moved;
use crate::upstream::Dispatched;
use crate::upstream::ToolCall;
use crate::upstream::UpstreamError;
use crate::upstream::settings;

/// A call that its unit let pass: admitted as an observation, or claimed as an action.
#[derive(Debug)]
pub(super) struct Cleared {
    pub(super) upstream: UpstreamId,
    pub(super) call: ToolCall,
    pub(super) claim: Option<(ApprovalId, u64)>,
    pub(super) leave: Ticket,
}

impl Cleared {
    /// An observation, if the unit admitted it.
    pub(super) fn observation(
        moved: &Moved,
        call: CallId,
        principal: &PrincipalId,
        upstream: &UpstreamId,
        (tool, arguments): (&WireName, Map<String, Value>),
        leave: Ticket,
    ) -> Option<Self> {
        matches!(moved.outcome, Outcome::Admitted).then(|| Self {
            upstream: upstream.clone(),
            call: ToolCall::new(call, principal.clone(), tool.clone(), arguments),
            claim: None,
            leave,
        })
    }

    /// An action, if the unit gave the claim to this very call or decision.
    pub(super) fn action(
        approval: &Approval,
        call: CallId,
        principal: &PrincipalId,
        leave: Ticket,
    ) -> Option<Self> {
        let claim = approval.claim.as_ref().filter(|claim| claim.call == call)?;
        // What runs is read as strictly as what was judged.
        let Value::Object(arguments) = json::parse_strict(approval.args.as_deref()?).ok()? else {
            return None;
        };
        Some(Self {
            upstream: approval.upstream.clone(),
            call: ToolCall::new(call, principal.clone(), approval.wire.clone(), arguments),
            claim: Some((approval.id.clone(), claim.fence)),
            leave,
        })
    }

    /// The same, with what the policy in force says of the tool that is called.
    pub(super) fn under(mut self, policy: &Policy, shown: &ToolName) -> Self {
        self.call.hosts = policy.hosts(shown);
        self.call.pii = policy.pii();
        self
    }
}

/// A call that was made: what its source answered, and how long that took.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) answer: Result<Value, UpstreamError>,
    /// What the source removed with [`ToolCall::clean`].
    pub(super) found: Vec<Finding>,
    pub(super) took_ms: i64,
}

/// What of a policy the filter needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wishes {
    pub(super) pii: Pii,
    pub(super) on_injection: OnInjection,
}

impl Wishes {
    pub(super) fn of(policy: &Policy) -> Self {
        Self {
            pii: policy.pii(),
            on_injection: policy.on_injection(),
        }
    }

    const fn settings(self) -> Settings {
        settings(self.pii)
    }
}

/// A result that passed the filter, or why there is none to show.
#[derive(Debug, Clone)]
pub(super) struct Filtered {
    pub(super) shown: Shown,
    pub(super) findings: Vec<Finding>,
    pub(super) ending: Ending,
}

/// What a filtered call has to show.
#[derive(Debug, Clone)]
pub(super) enum Shown {
    /// There is no result.
    Nothing(NoResult),
    /// The filtered result.
    Result(Value),
    /// The result is withheld, with the gate's notice.
    Withheld(String),
}

/// A call without a result.
#[derive(Debug, Clone)]
pub(super) struct NoResult {
    /// Whether the call may have been made.
    pub(super) dispatched: Dispatched,
    /// Why, in the gate's words.
    pub(super) why: String,
    /// What the agent may hope for if it calls again.
    pub(super) retry: Retry,
}

impl Filtered {
    /// Passes what a source answered through the filter.
    pub(super) fn of(ran: Ran, wishes: Wishes, output: Option<&Value>) -> Self {
        let took_ms = ran.took_ms;
        match ran.answer {
            Ok(result) => match not_complete(&result) {
                None => Self::clean(result, ran.found, wishes, output, took_ms),
                Some(why) => Self::nothing(
                    NoResult {
                        dispatched: Dispatched::Maybe,
                        why: why.to_owned(),
                        retry: Retry::Never,
                    },
                    took_ms,
                ),
            },
            Err(error) => Self::nothing(
                NoResult {
                    dispatched: error.dispatched(),
                    why: error.to_string(),
                    retry: error.retry(),
                },
                took_ms,
            ),
        }
    }

    fn nothing(none: NoResult, took_ms: i64) -> Self {
        Self {
            shown: Shown::Nothing(none),
            findings: Vec::new(),
            ending: Ending {
                outcome: "no_result".to_owned(),
                took_ms,
                ..Ending::default()
            },
        }
    }

    /// Passes a stored result through the filter once more, before it is handed over.
    pub(super) fn again(stored: &StoredResult, wishes: Wishes, output: Option<&Value>) -> Self {
        Self::clean(stored.value.clone(), Vec::new(), wishes, output, 0)
    }

    fn clean(
        result: Value,
        found: Vec<Finding>,
        wishes: Wishes,
        output: Option<&Value>,
        took_ms: i64,
    ) -> Self {
        let mut cleaned = toolgate_filter::clean_result(result, &wishes.settings());
        cleaned.findings.extend(found);
        let mut result = cleaned.value;
        // A word that was disguised is one only once it is cleaned.
        strip_reserved(&mut result);
        keep_valid(&mut result, output);
        let bytes = json::canonical(&result);
        let failed = result.get("isError").and_then(Value::as_bool) == Some(true);
        let choice = match wishes.on_injection {
            OnInjection::Block => toolgate_filter::OnInjection::Block,
            OnInjection::Flag => toolgate_filter::OnInjection::Flag,
        };
        let notice = choice.withholds(&cleaned.findings);
        let ending = Ending {
            outcome: if failed { "tool_error" } else { "ok" }.to_owned(),
            result_digest: Some(Digest::of(&bytes)),
            bytes: bytes.len() as u64,
            findings: count(&cleaned.findings),
            withheld: notice.is_some(),
            took_ms,
        };
        Self {
            shown: notice.map_or(Shown::Result(result), Shown::Withheld),
            findings: cleaned.findings,
            ending,
        }
    }

    /// The result, if the audit's append lets it be disclosed.
    pub(super) fn recorded(self, moved: &Moved) -> Result<Recorded, Option<Box<Reason>>> {
        match &moved.outcome {
            Outcome::Recorded | Outcome::Collected(_) => Ok(Recorded(self)),
            Outcome::Withheld(reason) | Outcome::Refused(reason) => {
                Err(Some(Box::new(reason.clone())))
            }
            _ => Err(None),
        }
    }
}

/// A filtered result of which the audit holds an entry: the only thing that is disclosed.
#[derive(Debug)]
pub(super) struct Recorded(Filtered);

impl Recorded {
    pub(super) fn into_parts(self) -> (Shown, Vec<Finding>) {
        (self.0.shown, self.0.findings)
    }
}

/// Why a tool's answer is not a complete result (MCP 2026-07-28, `resultType`), if it is not.
fn not_complete(result: &Value) -> Option<&'static str> {
    let Some(members) = result.as_object() else {
        return Some("the tool's answer is not a result");
    };
    match members.get("resultType").map(Value::as_str) {
        None | Some(Some("complete")) => None,
        Some(Some("input_required")) => {
            Some("the tool asks for input, which the gate does not pass on")
        }
        Some(_) => Some("the tool's answer is of a kind that the gate does not know"),
    }
}

/// Takes out what only the gate may say.
fn strip_reserved(result: &mut Value) {
    let Some(members) = result.as_object_mut() else {
        return;
    };
    for word in ["resultType", "ttlMs", "cacheScope"] {
        members.remove(word);
    }
    strip_meta(members);
    let blocks = members.get_mut("content").and_then(Value::as_array_mut);
    for block in blocks.into_iter().flatten() {
        let Some(block) = block.as_object_mut() else {
            continue;
        };
        strip_meta(block);
        let resource = block.get_mut("resource").and_then(Value::as_object_mut);
        if let Some(resource) = resource {
            strip_meta(resource);
        }
    }
}

fn strip_meta(members: &mut Map<String, Value>) {
    if let Some(meta) = members.get_mut("_meta").and_then(Value::as_object_mut) {
        meta.retain(|name, _| !is_reserved(name));
        if meta.is_empty() {
            members.remove("_meta");
        }
    }
}

/// Whether a `_meta` key is the gate's or the protocol's own word.
pub(super) fn is_reserved(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.starts_with("toolgate/") || name == "io.modelcontextprotocol/serverinfo"
}

/// A filtered structured result still fits the schema it is listed under, or is left out.
fn keep_valid(result: &mut Value, output: Option<&Value>) {
    let Some(members) = result.as_object_mut() else {
        return;
    };
    let Some(schema) = output else { return };
    let Some(structured) = members.get("structuredContent") else {
        return;
    };
    if Checker::new(schema).is_some_and(|checker| checker.is_valid(structured)) {
        return;
    }
    members.remove("structuredContent");
    if members.get("isError").and_then(Value::as_bool) != Some(true) {
        let text = "the tool's structured result does not fit the schema that it declares, so it \
                    is left out";
        let block = serde_json::json!({"type": "text", "text": text});
        if let Some(blocks) = members.get_mut("content").and_then(Value::as_array_mut) {
            blocks.push(block);
        } else {
            members.insert("content".to_owned(), Value::Array(vec![block]));
        }
        members.insert("isError".to_owned(), Value::Bool(true));
    }
}

fn count(findings: &[Finding]) -> Map<String, Value> {
    let mut counts: std::collections::BTreeMap<&str, u64> = std::collections::BTreeMap::new();
    for finding in findings {
        *counts.entry(finding.rule.as_ref()).or_default() += 1;
    }
    counts
        .into_iter()
        .map(|(rule, n)| (rule.to_owned(), n.into()))
        .collect()
}
