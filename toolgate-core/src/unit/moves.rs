//! What may be asked of a unit.

use serde::Deserialize;
use serde::Serialize;
use serde_json::Map;
use serde_json::Value;

use super::Event;
use super::Key;
use super::Seal;
use crate::approval::ApprovalId;
use crate::approval::RequestKey;
use crate::approval::StoredResult;
use crate::digest::Digest;
use crate::id::CallId;
use crate::id::KeyId;
use crate::id::OperatorName;
use crate::id::PolicyName;
use crate::id::PrincipalName;
use crate::id::ToolName;
use crate::id::UpstreamId;
use crate::id::WireName;
use crate::policy::Approvers;
use crate::policy::Limits;
use crate::verdict::Decision;
use crate::verdict::Verdict;

/// One change of a unit. It crosses a wire on Workers, so it is data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "move", rename_all = "snake_case")]
pub enum Move {
    /// Adds a key.
    AddKey {
        /// The key.
        key: Key,
        /// Who adds it.
        by: OperatorName,
    },
    /// Asks whether a call may run.
    Admit(Box<Admit>),
    /// Hands a stored result over.
    Collect(Box<Collect>),
    /// Makes the principal.
    Create(Box<Create>),
    /// Answers a request; a yes claims it.
    Decide(Box<Decide>),
    /// Switches the principal off.
    Kill {
        /// Who.
        by: OperatorName,
        /// Why.
        reason: Option<String>,
    },
    /// Writes something down; it names no call, so whoever asks again writes it again.
    Note(Box<Event>),
    /// Asks after a request; it names no call, so each asking is one more.
    Poll(Box<Poll>),
    /// Writes an observation down, so that its result may be disclosed.
    Record(Box<Record>),
    /// Switches the principal on again.
    Revive {
        /// Who.
        by: OperatorName,
    },
    /// Revokes a key.
    RevokeKey {
        /// Which.
        id: KeyId,
        /// Who revokes it.
        by: OperatorName,
    },
    /// Puts a policy in force.
    SetPolicy(Box<SetPolicy>),
    /// Stores the outcome of a claimed call.
    Settle(Box<Settle>),
    /// Closes what is overdue.
    Sweep,
}

/// The rows that a move needs beside the head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Needs<'a> {
    /// The approval of that name.
    Approval(&'a ApprovalId),
    /// The running call of that id.
    Call(&'a CallId),
    /// What is overdue: requests past their window, lapsed claims, lapsed calls.
    Due,
    /// The head alone.
    Head,
    /// The latest generation of that request, if one is named, and the running call of that id.
    Request(Option<&'a RequestKey>, &'a CallId),
}

impl Move {
    /// The rows it needs beside the head.
    #[must_use]
    pub fn needs(&self) -> Needs<'_> {
        match self {
            // A call that may run at once asks nobody, so no request answers it.
            Self::Admit(admit) if admit.verdict.decision == Decision::Run => {
                Needs::Call(&admit.call)
            }
            Self::Admit(admit) => {
                Needs::Request(admit.subject.as_ref().map(|s| &s.request), &admit.call)
            }
            Self::Collect(collect) => Needs::Approval(&collect.approval),
            Self::Decide(decide) => Needs::Approval(&decide.approval),
            Self::Poll(poll) => Needs::Approval(&poll.approval),
            Self::Record(record) => Needs::Call(&record.call),
            Self::Settle(settle) => Needs::Approval(&settle.approval),
            Self::Sweep => Needs::Due,
            Self::AddKey { .. }
            | Self::Create(_)
            | Self::Kill { .. }
            | Self::Note(_)
            | Self::Revive { .. }
            | Self::RevokeKey { .. }
            | Self::SetPolicy(_) => Needs::Head,
        }
    }
}

/// Makes a principal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Create {
    /// What people call it.
    pub name: PrincipalName,
    /// The operator it belongs to.
    pub owner: Option<OperatorName>,
    /// The text of its policy.
    pub policy: String,
    /// The stored policy that the text was taken from.
    pub policy_name: Option<PolicyName>,
    /// Who makes it.
    pub by: OperatorName,
}

/// Puts a policy in force that was worked out against version `from`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetPolicy {
    /// The version that it replaces.
    pub from: u64,
    /// Its text.
    pub text: String,
    /// The stored policy that the text was taken from.
    pub name: Option<PolicyName>,
    /// What changes, for the audit.
    pub diff: Value,
    /// Who puts it in force.
    pub by: OperatorName,
}

/// What a call is about, once the tool is known and the arguments are read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Subject {
    /// The source of the tool.
    pub upstream: UpstreamId,
    /// The tool as its author spells it.
    pub wire: WireName,
    /// The definition's digest.
    pub digest: Digest,
    /// What is asked.
    pub request: RequestKey,
    /// The canonical arguments.
    pub args: String,
    /// How long the tool's results are replayed after they were handed over, in milliseconds.
    pub replay_ms: i64,
}

/// Asks whether a call may run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Admit {
    /// The call.
    pub call: CallId,
    /// The key that makes it; none if the host vouches for the caller.
    pub key: Option<KeyId>,
    /// The tool, if it is in the principal's view.
    pub tool: Option<ToolName>,
    /// The name as asked, cleaned and cut, for the audit.
    pub asked: String,
    /// What policy and call say of each other.
    pub verdict: Verdict,
    /// The policy that this was worked out from.
    pub policy_version: u64,
    /// The limits of that policy.
    pub limits: Limits,
    /// What the call is about; none if it is refused before that is known.
    pub subject: Option<Subject>,
    /// The arguments, redacted.
    pub redacted: Option<Value>,
    /// The commitment to them.
    pub seal: Option<Seal>,
    /// Whether the agent insists on a new request.
    pub new_request: bool,
    /// How long a claim or a running call is valid, in milliseconds.
    pub lease_ms: i64,
}

/// Asks after a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Poll {
    /// The key that asks.
    pub key: Option<KeyId>,
    /// The request.
    pub approval: ApprovalId,
    /// The policy that the limits are from.
    pub policy_version: u64,
    /// The limits of that policy.
    pub limits: Limits,
    /// Whether asking takes a token; the gate's own waiting does not.
    pub counted: bool,
}

/// How a call ended, for the audit.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ending {
    /// `ok`, `tool_error`, or why there is no result.
    pub outcome: String,
    /// SHA-256 over the filtered result's canonical bytes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub result_digest: Option<Digest>,
    /// Size of the filtered result in bytes.
    pub bytes: u64,
    /// How often each rule of the filter found something.
    #[serde(skip_serializing_if = "Map::is_empty", default)]
    pub findings: Map<String, Value>,
    /// Whether the result is withheld from the agent by its policy.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub withheld: bool,
    /// Milliseconds that the tool took.
    pub took_ms: i64,
}

/// Writes an observation down.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// The call.
    pub call: CallId,
    /// How it ended.
    pub ending: Ending,
}

/// Hands a stored result over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Collect {
    /// The call that asks for it.
    pub call: CallId,
    /// The key that asks.
    pub key: Option<KeyId>,
    /// The request.
    pub approval: ApprovalId,
    /// The policy that the result was filtered by.
    pub policy_version: u64,
    /// What the filter found this time.
    pub ending: Ending,
}

/// What was worked out again before an approved call is made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Recheck {
    /// The policy that it was worked out from.
    pub policy_version: u64,
    /// What that policy says of the stored arguments.
    pub verdict: Verdict,
    /// The tool's digest now; none if the tool is gone.
    pub digest: Option<Digest>,
    /// Who may approve.
    pub approvers: Approvers,
    /// Whether there is only one operator.
    pub sole_operator: bool,
}

/// Answers a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Decide {
    /// The decision's id; claiming twice by it is claiming once.
    pub call: CallId,
    /// The request.
    pub approval: ApprovalId,
    /// Whether it is a yes.
    pub approved: bool,
    /// Who answers.
    pub by: OperatorName,
    /// Why.
    pub reason: Option<String>,
    /// What was worked out again; needed for a yes.
    pub recheck: Option<Recheck>,
    /// How long the claim is valid, in milliseconds.
    pub lease_ms: i64,
}

/// Stores the outcome of a claimed call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Settle {
    /// The request.
    pub approval: ApprovalId,
    /// The claim's fence token.
    pub fence: u64,
    /// The result; none if there is none.
    pub result: Option<StoredResult>,
    /// Whether the call was certainly not made; only without a result.
    pub not_made: bool,
    /// Why there is no result.
    pub message: Option<String>,
    /// How it ended.
    pub ending: Ending,
}
