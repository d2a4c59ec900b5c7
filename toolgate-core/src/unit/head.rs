//! The small row that every move reads and most change.

use serde::Deserialize;
use serde::Serialize;

use crate::approval::MOST_OPEN;
use crate::digest::Digest;
use crate::id::CallId;
use crate::id::KeyId;
use crate::id::OperatorName;
use crate::id::PolicyName;
use crate::id::PrincipalId;
use crate::id::PrincipalName;
use crate::id::ToolName;
use crate::key::KeyHash;
use crate::limits::Meters;
use crate::time::Timestamp;
use crate::verdict::Code;
use crate::verdict::Reason;
use crate::verdict::Retry;

/// How coarse the time of a key's last use is, in milliseconds.
const LAST_USE: i64 = 60_000;

/// A principal without its rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Head {
    /// Which principal.
    pub id: PrincipalId,
    /// What people call it.
    pub name: PrincipalName,
    /// The operator it belongs to, if any.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub owner: Option<OperatorName>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Counts the moves that changed it.
    pub version: u64,
    /// The latest stamp; stamps never go back.
    pub at: Timestamp,
    /// Set while it is switched off.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub killed: Option<Killed>,
    /// How often it was switched off.
    #[serde(default)]
    pub kills: u64,
    /// Its keys, revoked ones too.
    pub keys: Vec<Key>,
    /// Which policy is in force.
    pub policy: PolicyRef,
    /// What it has used of its limits.
    pub meters: Meters,
    /// Undecided requests.
    pub open: u32,
    /// The last fence token handed out.
    pub fence: u64,
    /// Equal answers that are being counted instead of written again.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub repeats: Vec<Repeat>,
    /// The latest calls that were answered and left no row of their own.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub answered: Vec<Answered>,
}

impl Head {
    /// The key of that id, if it is good at `now`.
    #[must_use]
    pub fn good_key(&self, id: &KeyId, now: Timestamp) -> Option<&Key> {
        self.keys
            .iter()
            .find(|key| key.id == *id && key.is_good(now))
    }

    /// The key of that hash, compared in constant time, if it is good at `now`.
    #[must_use]
    pub fn key_by_hash(&self, hash: &KeyHash, now: Timestamp) -> Option<&Key> {
        self.keys
            .iter()
            .fold(None, |found, key| {
                if key.hash.matches(hash) {
                    Some(key)
                } else {
                    found
                }
            })
            .filter(|key| key.is_good(now))
    }

    /// Why no further request may be made, if as many as may be are undecided.
    #[must_use]
    pub fn queue_full(&self) -> Option<Reason> {
        (self.open >= MOST_OPEN).then(|| {
            let message = "too many requests are undecided; wait until some are decided";
            Reason::new(Code::QueueFull, message, Retry::After)
        })
    }

    /// When a sweep has something to write down of the head itself. Nothing if never.
    #[must_use]
    pub fn due_at(&self) -> Option<Timestamp> {
        self.repeats.iter().filter_map(Repeat::due_at).min()
    }

    pub(super) fn touch(&mut self, id: &KeyId, now: Timestamp) {
        if let Some(key) = self.keys.iter_mut().find(|key| key.id == *id)
            && key.last_used_at.is_none_or(|at| now.since(at) >= LAST_USE)
        {
            key.last_used_at = Some(now);
        }
    }
}

/// That a principal is switched off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Killed {
    /// Who switched it off.
    pub by: OperatorName,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// When.
    pub at: Timestamp,
}

/// One key of a principal; never the key itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Key {
    /// Its name.
    pub id: KeyId,
    /// What is stored of it.
    pub hash: KeyHash,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last used, to the minute.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub last_used_at: Option<Timestamp>,
    /// When it stops being good.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub revoked_at: Option<Timestamp>,
}

impl Key {
    /// Whether it is neither revoked nor expired at `now`.
    #[must_use]
    pub fn is_good(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|at| now < at)
    }
}

/// Which policy is in force; its text is a row of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyRef {
    /// Grows with every change.
    pub version: u64,
    /// The stored policy that it was taken from.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub name: Option<PolicyName>,
    /// SHA-256 of its text.
    pub digest: Digest,
}

/// An answer that came again within ten seconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Repeat {
    /// The answer.
    pub code: Code,
    /// About which tool; none for a tool that does not exist.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tool: Option<ToolName>,
    /// To which key; none if the host vouches for the caller.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub key: Option<KeyId>,
    /// About which place in the arguments.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path: Option<String>,
    /// When it was written.
    pub since: Timestamp,
    /// How often it came again without being written.
    pub more: u64,
}

/// A call that was refused, or that an earlier request answered: asked again because its answer was
/// lost, it is not counted again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Answered {
    /// The call.
    pub call: CallId,
    /// The answer.
    pub code: Code,
}
