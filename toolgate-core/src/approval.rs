//! A request that waits for a person, its states and the moves between them.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;

use crate::digest::Digest;
use crate::id::CallId;
use crate::id::IdError;
use crate::id::KeyId;
use crate::id::OperatorName;
use crate::id::PrincipalId;
use crate::id::ToolName;
use crate::id::UpstreamId;
use crate::id::WireName;
use crate::time::DAY;
use crate::time::Timestamp;
use crate::verdict::Code;

/// How long a request waits for a person, in milliseconds.
pub const WINDOW: i64 = DAY;
/// How long a decline answers the same call, in milliseconds.
pub const DECLINE_HOLDS: i64 = DAY;
/// How long the outcome of a call that needed no person is kept, in milliseconds.
pub const UNATTENDED_KEPT: i64 = DAY / 24;
/// The most undecided requests of one principal.
pub const MOST_OPEN: u32 = 50;
/// The largest stored result, in bytes of JSON.
pub const MOST_RESULT: usize = 128 * 1024;

/// What a request is, whatever the spelling of its arguments.
///
/// SHA-256 over a version tag and the length-prefixed principal, upstream, wire name, definition
/// digest, canonical arguments (RFC 8785), execution id and occurrence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RequestKey(Digest);

impl RequestKey {
    /// The key of a call with these canonical argument bytes.
    #[must_use]
    pub fn new(
        principal: &PrincipalId,
        upstream: &UpstreamId,
        wire: &WireName,
        definition: &Digest,
        canonical_args: &[u8],
        execution: Option<&str>,
        occurrence: u32,
    ) -> Self {
        Self(Digest::of_fields(
            "toolgate/request/v1",
            &[
                principal.as_str().as_bytes(),
                upstream.as_str().as_bytes(),
                wire.as_str().as_bytes(),
                definition.as_bytes(),
                canonical_args,
                execution.unwrap_or_default().as_bytes(),
                &occurrence.to_be_bytes(),
            ],
        ))
    }

    /// The key as 64 hexadecimal digits, for a store's index.
    #[must_use]
    pub fn to_hex(&self) -> String {
        self.0.to_string()
    }
}

/// The name of one request: `ap_` and 32 characters of `[a-z2-7]`. It is a name, never a
/// permission.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ApprovalId(String);

impl ApprovalId {
    /// The name of the request's `generation`th asking.
    #[must_use]
    pub fn new(request: &RequestKey, generation: u32) -> Self {
        let digest = Digest::of_fields(
            "toolgate/approval/v1",
            &[request.0.as_bytes(), &generation.to_be_bytes()],
        );
        Self(format!("ap_{}", digest.short()))
    }

    /// Reads a name; anything but the exact form is nothing.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let body = text.strip_prefix("ap_")?;
        let fits = body.len() == 32 && body.bytes().all(|b| matches!(b, b'a'..=b'z' | b'2'..=b'7'));
        fits.then(|| Self(text.to_owned()))
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ApprovalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ApprovalId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text).ok_or(IdError::Character("`ap_` and 32 of a-z and 2-7"))
    }
}

impl TryFrom<String> for ApprovalId {
    type Error = IdError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<ApprovalId> for String {
    fn from(id: ApprovalId) -> Self {
        id.0
    }
}

/// Where a request stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(
    clippy::exhaustive_enums,
    reason = "a new state must break every match"
)]
pub enum Status {
    /// The call was made and its result is kept.
    Applied,
    /// It is claimed and being made.
    Applying,
    /// It was approved, but a re-check refused it.
    Blocked,
    /// A person said no.
    Declined,
    /// Nobody answered in time.
    Expired,
    /// The call was not made; a person may try again.
    Failed,
    /// It waits for a person.
    Pending,
    /// Nobody knows whether the call was made; it is never made again.
    Unknown,
    /// The request was taken back.
    Withdrawn,
}

impl Status {
    /// Every status.
    pub const ALL: [Self; 9] = [
        Self::Applied,
        Self::Applying,
        Self::Blocked,
        Self::Declined,
        Self::Expired,
        Self::Failed,
        Self::Pending,
        Self::Unknown,
        Self::Withdrawn,
    ];

    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::Applying => "applying",
            Self::Blocked => "blocked",
            Self::Declined => "declined",
            Self::Expired => "expired",
            Self::Failed => "failed",
            Self::Pending => "pending",
            Self::Unknown => "unknown",
            Self::Withdrawn => "withdrawn",
        }
    }

    /// The status of that word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }

    /// Whether it counts against [`MOST_OPEN`].
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Applying | Self::Pending)
    }

    /// The status after a change.
    ///
    /// # Errors
    /// [`IllegalTransition`] for every pair that the state machine does not draw.
    pub const fn after(self, change: Change) -> Result<Self, IllegalTransition> {
        match (self, change) {
            (Self::Pending | Self::Failed, Change::Claim) => Ok(Self::Applying),
            (Self::Pending | Self::Failed, Change::Block) => Ok(Self::Blocked),
            (Self::Pending, Change::Decline) => Ok(Self::Declined),
            (Self::Pending, Change::Expire) => Ok(Self::Expired),
            (Self::Pending, Change::Withdraw) => Ok(Self::Withdrawn),
            (Self::Applying, Change::Apply) => Ok(Self::Applied),
            (Self::Applying, Change::Fail) => Ok(Self::Failed),
            (Self::Applying, Change::Lose) => Ok(Self::Unknown),
            (from, change) => Err(IllegalTransition { from, change }),
        }
    }
}

/// What can happen to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a new change must break every match"
)]
pub enum Change {
    /// The call was made and answered.
    Apply,
    /// A re-check before the dispatch refused it.
    Block,
    /// One worker took it, to make the call.
    Claim,
    /// A person said no.
    Decline,
    /// Its window closed.
    Expire,
    /// The call was certainly not made.
    Fail,
    /// It cannot be known whether the call was made.
    Lose,
    /// It was taken back.
    Withdraw,
}

impl Change {
    /// Every change.
    pub const ALL: [Self; 8] = [
        Self::Apply,
        Self::Block,
        Self::Claim,
        Self::Decline,
        Self::Expire,
        Self::Fail,
        Self::Lose,
        Self::Withdraw,
    ];
}

/// A change that the state machine does not draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct IllegalTransition {
    /// Where the request stood.
    pub from: Status,
    /// What was to happen to it.
    pub change: Change,
}

impl fmt::Display for IllegalTransition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a request that is {} cannot take this change",
            self.from.as_str()
        )
    }
}

impl std::error::Error for IllegalTransition {}

/// The right to make an approved call, for a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::exhaustive_structs, reason = "a row that stores keep whole")]
pub struct Claim {
    /// Grows with every claim of a principal; a stale one cannot settle.
    pub fence: u64,
    /// When the claim lapses.
    pub lease_until: Timestamp,
    /// The call or decision that took it, so that taking it twice is taking it once.
    pub call: CallId,
}

/// What a person answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::exhaustive_structs, reason = "a row that stores keep whole")]
pub struct Answer {
    /// Whether it was a yes.
    pub approved: bool,
    /// Who.
    pub by: OperatorName,
    /// Why, in the operator's words.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// When.
    pub at: Timestamp,
    /// Whether the principal's own owner answered.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub own: bool,
}

/// A kept result, already filtered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::exhaustive_structs, reason = "a row that stores keep whole")]
pub struct StoredResult {
    /// The tool's result object, filtered.
    pub value: Value,
    /// Whether the tool said that it failed.
    pub is_error: bool,
}

/// One request, as its unit keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::exhaustive_structs, reason = "a row that stores keep whole")]
pub struct Approval {
    /// Its name.
    pub id: ApprovalId,
    /// What is asked.
    pub request: RequestKey,
    /// The how-manieth asking of the same.
    pub generation: u32,
    /// The source of the tool.
    pub upstream: UpstreamId,
    /// The tool as its author spells it.
    pub wire: WireName,
    /// The tool as the agent sees it.
    pub tool: ToolName,
    /// The definition under which it was asked.
    pub digest: Digest,
    /// The policy under which it was asked.
    pub policy_version: u64,
    /// The key that asked; none if the host vouches for the caller.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub key: Option<KeyId>,
    /// The call that asked, so that asking twice by it is asking once.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub call: Option<CallId>,
    /// The canonical arguments in the clear, until the request leaves its window.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub args: Option<String>,
    /// The arguments with secrets and personal data redacted.
    pub redacted: Value,
    /// Where it stands.
    pub status: Status,
    /// Whether no person was asked.
    pub unattended: bool,
    /// When it was asked.
    pub created_at: Timestamp,
    /// When its window closes.
    pub expires_at: Timestamp,
    /// What a person answered.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub answer: Option<Answer>,
    /// Who may make the call right now, or made it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub claim: Option<Claim>,
    /// When the call's outcome was stored.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub settled_at: Option<Timestamp>,
    /// The kept result.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub result: Option<StoredResult>,
    /// When the agent first got the result.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub handed_over_at: Option<Timestamp>,
    /// The call that the result was handed over to last, so that doing it twice is doing it once.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub handed_over_to: Option<CallId>,
    /// How long the result is replayed after that, in milliseconds.
    pub replay_ms: i64,
    /// Why it failed, is blocked or unknown, in the gate's words.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub message: Option<String>,
    /// The same in a word, for a request that a re-check blocked.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub code: Option<Code>,
    /// A result that came after the claim had lapsed: evidence for a person.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub late: Option<StoredResult>,
}

impl Approval {
    /// Whether an equal call at `now` is answered by this request instead of making a new one.
    #[must_use]
    pub fn answers(&self, now: Timestamp) -> bool {
        let after = |at: Option<Timestamp>, millis: i64| at.is_none_or(|at| now < at.plus(millis));
        match self.status {
            Status::Applying | Status::Unknown => true,
            Status::Pending => now < self.expires_at,
            // What needed no person answers until its result is handed over, and not again.
            Status::Applied if self.unattended => self.handed_over_at.is_none(),
            Status::Applied => after(self.handed_over_at, self.replay_ms),
            Status::Failed => !self.unattended && after(self.settled_at, self.replay_ms),
            Status::Declined => after(self.answer.as_ref().map(|a| a.at), DECLINE_HOLDS),
            Status::Blocked | Status::Expired | Status::Withdrawn => false,
        }
    }

    /// Whether a yes would make the call: it waits for a person, or it was not made and what it
    /// would send is still kept.
    #[must_use]
    pub fn may_be_made(&self, now: Timestamp) -> bool {
        match self.status {
            Status::Pending => now < self.expires_at,
            Status::Failed => self.args.is_some(),
            _ => false,
        }
    }

    /// When a sweep has something to do with it: close its window, its lapsed claim or its time for
    /// another try, or drop it. Nothing if never.
    #[must_use]
    pub fn due_at(&self) -> Option<Timestamp> {
        let after = |millis: i64| Some(self.settled_at.unwrap_or(self.created_at).plus(millis));
        match self.status {
            Status::Pending => Some(self.expires_at),
            Status::Applying => self.claim.as_ref().map(|claim| claim.lease_until),
            Status::Failed if self.args.is_some() => after(DAY),
            Status::Applied | Status::Failed if self.unattended => after(UNATTENDED_KEPT),
            _ => None,
        }
    }

    /// Whether it is the outcome of a call that needed no person, and was kept long enough.
    #[must_use]
    pub fn is_spent(&self, now: Timestamp) -> bool {
        let settled = self.status == Status::Applied
            || (self.status == Status::Failed && self.args.is_none());
        self.unattended && settled && self.due_at().is_some_and(|at| at <= now)
    }

    /// Whether a new request for the same may be made now although this one would answer.
    #[must_use]
    pub fn may_be_asked_anew(&self, now: Timestamp) -> bool {
        match self.status {
            Status::Applied | Status::Failed => true,
            Status::Blocked | Status::Expired | Status::Withdrawn => true,
            Status::Applying | Status::Pending | Status::Unknown | Status::Declined => {
                !self.answers(now)
            }
        }
    }
}
