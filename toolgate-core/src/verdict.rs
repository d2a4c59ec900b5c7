//! What is decided about a call, and why.

use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;

use crate::classify::ClassifiedBy;
use crate::classify::Mode;

/// The decision lattice: of all contributions the highest wins.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[expect(
    clippy::exhaustive_enums,
    reason = "a new outcome must break every match"
)]
pub enum Decision {
    /// It runs at once.
    Run,
    /// It is staged, claimed and applied without a person.
    AutoApply,
    /// It waits for a person.
    Queue,
    /// It is refused, with a reason.
    Refuse,
    /// For this principal there is no such tool.
    #[default]
    Hidden,
}

impl Decision {
    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::AutoApply => "auto_apply",
            Self::Queue => "queue",
            Self::Refuse => "refuse",
            Self::Hidden => "hidden",
        }
    }
}

/// Whether the agent can hope for another answer, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "part of the wire contract")]
pub enum Retry {
    /// The same call may pass later.
    After,
    /// A call with other arguments may pass.
    Fixed,
    /// No such call will pass.
    Never,
}

/// Why a call is refused, asked about or not run. The words are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Code {
    /// The tool changes something, so a person is asked.
    Action,
    /// Policy says that every call of this tool waits.
    ApprovalAlways,
    /// An argument breaks a rule of the policy.
    ArgumentRefused,
    /// The arguments do not fit the tool's input schema.
    ArgumentsInvalid,
    /// The arguments are not strict JSON.
    ArgumentsMalformed,
    /// The day's calls are used up.
    BudgetExhausted,
    /// The tool's definition changed since the request was made.
    DigestChanged,
    /// An earlier request answers.
    Held,
    /// For this principal there is no such tool.
    Hidden,
    /// The output was withheld because it reads like instructions.
    InjectionBlocked,
    /// The key that made the request was revoked.
    KeyRevoked,
    /// The principal is switched off.
    Killed,
    /// Policy says that this tool needs no person.
    NeverAsks,
    /// There is no such request of this principal.
    NotFound,
    /// The tool only reads.
    Observation,
    /// The last request of this form is still open, unknown or freshly declined.
    OpenRequest,
    /// The principal has as many open requests as it may have.
    QueueFull,
    /// The minute's calls are used up.
    RateLimited,
    /// An argument holds a redaction marker.
    RedactionInArgs,
    /// What this was decided on changed twice while it was decided.
    Stale,
    /// The gate could not write down what it did.
    Unavailable,
    /// The tool's source does not answer.
    UpstreamUnavailable,
}

impl Code {
    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Action => "action",
            Self::ApprovalAlways => "approval_always",
            Self::ArgumentRefused => "argument_refused",
            Self::ArgumentsInvalid => "arguments_invalid",
            Self::ArgumentsMalformed => "arguments_malformed",
            Self::BudgetExhausted => "budget_exhausted",
            Self::DigestChanged => "digest_changed",
            Self::Held => "held",
            Self::Hidden => "hidden",
            Self::InjectionBlocked => "injection_blocked",
            Self::KeyRevoked => "key_revoked",
            Self::Killed => "killed",
            Self::NeverAsks => "never_asks",
            Self::NotFound => "not_found",
            Self::Observation => "observation",
            Self::OpenRequest => "open_request",
            Self::QueueFull => "queue_full",
            Self::RateLimited => "rate_limited",
            Self::RedactionInArgs => "redaction_in_args",
            Self::Stale => "stale",
            Self::Unavailable => "unavailable",
            Self::UpstreamUnavailable => "upstream_unavailable",
        }
    }
}

/// One reason of a decision, safe to show to the agent: names and limits, never a value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Reason {
    /// The stable word.
    pub code: Code,
    /// A sentence for people, in the gate's words.
    pub message: String,
    /// JSON Pointer of the argument, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path: Option<String>,
    /// What the rule would accept, from the policy.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub expected: Option<Value>,
    /// Whether another try can pass.
    pub retry: Retry,
    /// Milliseconds after which it can.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retry_after_ms: Option<i64>,
}

impl Reason {
    /// A reason without a place.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>, retry: Retry) -> Self {
        Self {
            code,
            message: message.into(),
            path: None,
            expected: None,
            retry,
            retry_after_ms: None,
        }
    }

    /// The reason with the argument's JSON Pointer.
    #[must_use]
    pub fn at(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// The reason with what the rule would accept.
    #[must_use]
    pub fn expecting(mut self, expected: Value) -> Self {
        self.expected = Some(expected);
        self
    }

    /// The reason with the time after which another try can pass.
    #[must_use]
    pub const fn after_ms(mut self, millis: i64) -> Self {
        self.retry_after_ms = Some(millis);
        self
    }
}

/// What policy and call say of each other, before the unit is asked.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::exhaustive_structs, reason = "crosses the wire to a unit")]
pub struct Verdict {
    /// The highest contribution.
    pub decision: Decision,
    /// What contributed, in the order of the path of a call.
    pub reasons: Vec<Reason>,
    /// What calling the tool does; nothing for a hidden one.
    pub mode: Option<Mode>,
    /// Whose word the mode, or the absence of a question, rests on.
    pub classified_by: Option<ClassifiedBy>,
}

impl Verdict {
    /// There is no such tool.
    #[must_use]
    pub fn hidden() -> Self {
        let reason = Reason::new(Code::Hidden, "there is no such tool", Retry::Never);
        Self {
            decision: Decision::Hidden,
            reasons: vec![reason],
            mode: None,
            classified_by: None,
        }
    }

    /// Adds a contribution; the highest wins.
    pub fn contribute(&mut self, decision: Decision, reason: Reason) {
        self.decision = self.decision.max(decision);
        self.reasons.push(reason);
    }

    /// The first reason that refuses or asks.
    #[must_use]
    pub fn leading(&self) -> Option<&Reason> {
        self.reasons.first()
    }
}
