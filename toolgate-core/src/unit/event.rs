//! What a step did, to be written down as audit entries.

use serde::Deserialize;
use serde::Serialize;
use serde_json::Map;
use serde_json::Value;

use crate::id::ToolName;

/// What happened. The words are the audit entries' kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A re-check refused an approved request.
    Blocked,
    /// An observation was made and its result disclosed, or withheld.
    Call,
    /// The stored result of an action was handed over.
    Collected,
    /// A person said no.
    Decided,
    /// A request's window closed.
    Expired,
    /// An earlier request answered instead of a new one.
    Held,
    /// An action is about to be made.
    Intent,
    /// A key was made.
    KeyCreated,
    /// A key was revoked.
    KeyRevoked,
    /// The principal was switched off.
    Killed,
    /// A result came after its claim had lapsed.
    LateResult,
    /// An action's outcome is known.
    Outcome,
    /// A request waits for a person.
    Pending,
    /// A policy came into force.
    PolicySet,
    /// The principal was made.
    PrincipalCreated,
    /// A call was refused.
    Refused,
    /// The principal was switched on again.
    Revived,
    /// It cannot be known whether an action was made.
    Unknown,
}

impl EventKind {
    /// The entry's kind.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::Call => "call",
            Self::Collected => "collected",
            Self::Decided => "decided",
            Self::Expired => "expired",
            Self::Held => "held",
            Self::Intent => "intent",
            Self::KeyCreated => "key_created",
            Self::KeyRevoked => "key_revoked",
            Self::Killed => "killed",
            Self::LateResult => "late_result",
            Self::Outcome => "outcome",
            Self::Pending => "pending",
            Self::PolicySet => "policy_set",
            Self::PrincipalCreated => "principal_created",
            Self::Refused => "refused",
            Self::Revived => "revived",
            Self::Unknown => "unknown",
        }
    }
}

/// A salted commitment to arguments; the salt is kept apart from the entry and can be deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Seal {
    /// The commitment, which the entry carries.
    pub commitment: String,
    /// The salt as hexadecimal digits, which it does not.
    pub salt: String,
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// What; a word of [`EventKind`], or another snake-case word of a note.
    pub kind: String,
    /// With which tool.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tool: Option<String>,
    /// The arguments, redacted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub args: Option<Value>,
    /// The commitment to the arguments as they were.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub seal: Option<Seal>,
    /// All else, as the entry's detail.
    #[serde(default)]
    pub detail: Map<String, Value>,
}

impl Event {
    pub(super) fn new(kind: EventKind) -> Self {
        Self::note(kind.as_str())
    }

    /// An event of a kind that no move of a call makes.
    #[must_use]
    pub fn note(kind: &str) -> Self {
        Self {
            kind: kind.to_owned(),
            tool: None,
            args: None,
            seal: None,
            detail: Map::new(),
        }
    }

    pub(super) fn tool(mut self, tool: Option<&ToolName>) -> Self {
        self.tool = tool.map(ToString::to_string);
        self
    }

    pub(super) fn args(mut self, args: Option<&Value>, seal: Option<&Seal>) -> Self {
        self.args = args.cloned();
        self.seal = seal.cloned();
        self
    }

    /// The event with one more detail.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Serialize) -> Self {
        if let Ok(value) = serde_json::to_value(value)
            && !value.is_null()
        {
            self.detail.insert(name.to_owned(), value);
        }
        self
    }
}
