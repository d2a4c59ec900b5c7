//! Entries: what a row says, and its one encoding.

use std::borrow::Cow;
use std::fmt;

use jiff::Timestamp;
use serde::Serialize;
use serde::Serializer;
use serde_json::Map;
use serde_json::Value;

use crate::ChainId;
use crate::Hash;
use crate::json;

/// What happened, in one snake-case word.
///
/// The words are open: a reader shows one that it does not know. Those that toolgate writes are
/// constants here.
///
/// ```
/// use toolgate_audit::EntryKind;
///
/// assert_eq!(EntryKind::new("call"), Ok(EntryKind::CALL));
/// assert!(EntryKind::new("Not A Word").is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct EntryKind(Cow<'static, str>);

macro_rules! kinds {
    ($($(#[$doc:meta])+ $name:ident = $word:literal,)+) => {
        impl EntryKind {
            $($(#[$doc])+ pub const $name: Self = Self(Cow::Borrowed($word));)+
        }
    };
}

kinds! {
    /// An observation was made, or a call ended in one entry.
    CALL = "call",
    /// The stored result of an action was handed over.
    COLLECTED = "collected",
    /// A person decided on an open request.
    DECIDED = "decided",
    /// A call was checked without being made.
    DRY_RUN = "dry_run",
    /// A request was not decided in time.
    EXPIRED = "expired",
    /// An action is about to be sent.
    INTENT = "intent",
    /// A key was made.
    KEY_CREATED = "key_created",
    /// A key was taken back.
    KEY_REVOKED = "key_revoked",
    /// The kill switch was thrown.
    KILLED = "killed",
    /// An operator was added.
    OPERATOR_ADDED = "operator_added",
    /// An action came to an end.
    OUTCOME = "outcome",
    /// A call waits for a person.
    PENDING = "pending",
    /// A principal got a policy.
    POLICY_SET = "policy_set",
    /// A named policy was stored.
    POLICY_STORED = "policy_stored",
    /// A principal was made.
    PRINCIPAL_CREATED = "principal_created",
    /// A call was refused.
    REFUSED = "refused",
    /// The kill switch was released.
    REVIVED = "revived",
    /// It cannot be known whether an action was done.
    UNKNOWN = "unknown",
}

impl EntryKind {
    /// A word of 1 to 32 of `a–z 0–9 _` that begins with a letter.
    ///
    /// # Errors
    /// If it is not such a word.
    pub fn new(word: &str) -> Result<Self, KindError> {
        let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        let begins = word
            .bytes()
            .next()
            .is_some_and(|byte| byte.is_ascii_lowercase());
        if begins && word.len() <= 32 && word.bytes().all(allowed) {
            Ok(Self(Cow::Owned(word.to_owned())))
        } else {
            Err(KindError)
        }
    }

    /// The word.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EntryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A text that cannot be the kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KindError;

impl fmt::Display for KindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a kind is a word of 1 to 32 of a-z, 0-9 and `_`")
    }
}

impl std::error::Error for KindError {}

/// What a caller has to say; the chain adds the rest.
///
/// ```
/// use serde_json::json;
/// use toolgate_audit::{Body, EntryKind};
///
/// let body = Body::new(1_767_225_600_000, EntryKind::REFUSED)
///     .principal("support-bot")
///     .tool("tickets_close")
///     .args(json!({"id": "T-1"}))
///     .detail("code", json!("rate_limited"));
/// assert_eq!(body.detail.len(), 1);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Body {
    /// When, in milliseconds since 1970-01-01T00:00:00Z.
    pub at: i64,
    /// The principal that it is about, if it is about one.
    pub principal: Option<String>,
    /// What happened.
    pub kind: EntryKind,
    /// The tool as the agent sees it, if there is one.
    pub tool: Option<String>,
    /// The arguments, redacted already.
    pub args: Option<Value>,
    /// Everything else, redacted already. Left out of the bytes if empty.
    pub detail: Map<String, Value>,
}

impl Body {
    /// A body without anything optional.
    #[must_use]
    pub fn new(at: i64, kind: EntryKind) -> Self {
        Self {
            at,
            principal: None,
            kind,
            tool: None,
            args: None,
            detail: Map::new(),
        }
    }

    /// Names the principal.
    #[must_use]
    pub fn principal(mut self, id: impl Into<String>) -> Self {
        self.principal = Some(id.into());
        self
    }

    /// Names the tool.
    #[must_use]
    pub fn tool(mut self, name: impl Into<String>) -> Self {
        self.tool = Some(name.into());
        self
    }

    /// Sets the redacted arguments.
    #[must_use]
    pub fn args(mut self, redacted: Value) -> Self {
        self.args = Some(redacted);
        self
    }

    /// Adds one field of detail, in place of one by the same name.
    #[must_use]
    pub fn detail(mut self, name: impl Into<String>, value: Value) -> Self {
        self.detail.insert(name.into(), value);
        self
    }
}

/// One entry, read back from the bytes of a row.
///
/// It serialises as an entry of the admin API, `at` in RFC 3339; [`Entry::with_hash`] adds the hash.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Entry {
    /// The chain.
    pub chain: ChainId,
    /// The number in the chain, from 1.
    pub seq: u64,
    /// When, in milliseconds since 1970-01-01T00:00:00Z.
    #[serde(serialize_with = "serialize_at")]
    pub at: i64,
    /// The principal that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// What happened.
    pub kind: EntryKind,
    /// The tool as the agent sees it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The redacted arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<Value>,
    /// Everything else.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub detail: Map<String, Value>,
    /// The hash of the row before it, or [`Hash::ZERO`].
    pub prev: Hash,
}

impl Entry {
    /// The entry beside the hash of its row, as the admin API shows it.
    #[must_use]
    pub const fn with_hash(self, hash: Hash) -> HashedEntry {
        HashedEntry { entry: self, hash }
    }

    /// The bytes of the row, for a reader who has nothing but the fields.
    ///
    /// # Errors
    /// If a field was set to what cannot be written exactly.
    pub fn to_bytes(&self) -> Result<Vec<u8>, EncodeError> {
        self.wire(&at_text(self.at)?)
    }

    fn wire(&self, at: &str) -> Result<Vec<u8>, EncodeError> {
        json::to_bytes(&Wire {
            v: VERSION,
            chain: &self.chain,
            seq: self.seq,
            prev: self.prev,
            at,
            principal: self.principal.as_deref(),
            kind: &self.kind,
            tool: self.tool.as_deref(),
            args: self.args.as_ref(),
            detail: &self.detail,
        })
    }
}

/// An [`Entry`] beside the hash of its row.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct HashedEntry {
    /// The entry.
    #[serde(flatten)]
    pub entry: Entry,
    /// The hash of its row.
    pub hash: Hash,
}

/// The fields in the bytes; the canonical form puts them in order.
#[derive(Serialize)]
struct Wire<'a> {
    v: u64,
    chain: &'a ChainId,
    seq: u64,
    prev: Hash,
    at: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    principal: Option<&'a str>,
    kind: &'a EntryKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<&'a Value>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    detail: &'a Map<String, Value>,
}

/// The bytes of a row.
pub(crate) fn encode(
    chain: &ChainId,
    seq: u64,
    prev: Hash,
    body: &Body,
) -> Result<Vec<u8>, EncodeError> {
    body.args.as_ref().map_or(Ok(()), json::check)?;
    json::check_map(&body.detail)?;
    json::to_bytes(&Wire {
        v: VERSION,
        chain,
        seq,
        prev,
        at: &at_text(body.at)?,
        principal: body.principal.as_deref(),
        kind: &body.kind,
        tool: body.tool.as_deref(),
        args: body.args.as_ref(),
        detail: &body.detail,
    })
}

/// Reads the bytes of a row, if they are the one encoding of an entry.
///
/// # Errors
/// If they are anything else: there is one sequence of bytes for an entry, and no other reads.
pub fn decode(bytes: &[u8]) -> Result<Entry, DecodeError> {
    let Some(Value::Object(mut map)) = json::parse(bytes) else {
        return Err(DecodeError::Json);
    };
    if map.remove("v").as_ref().and_then(Value::as_u64) != Some(VERSION) {
        return Err(DecodeError::Version);
    }
    let at = required(&mut map, "at")?;
    let entry = Entry {
        chain: word(&mut map, "chain", |name| ChainId::new(name).ok())?,
        seq: map
            .remove("seq")
            .as_ref()
            .and_then(Value::as_u64)
            .filter(|seq| (1..=json::MAX_INTEGER).contains(seq))
            .ok_or(DecodeError::Field("seq"))?,
        at: at_millis(&at).ok_or(DecodeError::Field("at"))?,
        principal: optional(&mut map, "principal")?,
        kind: word(&mut map, "kind", |word| EntryKind::new(word).ok())?,
        tool: optional(&mut map, "tool")?,
        args: map.remove("args"),
        detail: match map.remove("detail") {
            None => Map::new(),
            Some(Value::Object(detail)) => detail,
            Some(_) => return Err(DecodeError::Field("detail")),
        },
        prev: word(&mut map, "prev", |hash| hash.parse().ok())?,
    };
    if !map.is_empty() {
        return Err(DecodeError::Unknown);
    }
    if entry.wire(&at).is_ok_and(|canonical| canonical == bytes) {
        Ok(entry)
    } else {
        Err(DecodeError::Canonical)
    }
}

fn optional(
    map: &mut Map<String, Value>,
    name: &'static str,
) -> Result<Option<String>, DecodeError> {
    match map.remove(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(DecodeError::Field(name)),
    }
}

fn required(map: &mut Map<String, Value>, name: &'static str) -> Result<String, DecodeError> {
    optional(map, name)?.ok_or(DecodeError::Field(name))
}

fn word<T>(
    map: &mut Map<String, Value>,
    name: &'static str,
    read: impl FnOnce(&str) -> Option<T>,
) -> Result<T, DecodeError> {
    read(&required(map, name)?).ok_or(DecodeError::Field(name))
}

/// RFC 3339 in UTC, always with milliseconds, always with `Z`.
fn at_text(at: i64) -> Result<String, EncodeError> {
    if at < YEAR_ZERO {
        return Err(EncodeError::Time);
    }
    let stamp = Timestamp::from_millisecond(at).map_err(|_| EncodeError::Time)?;
    Ok(format!("{stamp:.3}"))
}

/// The inverse of [`at_text`], which no other spelling of an instant passes.
fn at_millis(text: &str) -> Option<i64> {
    let at = text.parse::<Timestamp>().ok()?.as_millisecond();
    at_text(at)
        .is_ok_and(|canonical| canonical == text)
        .then_some(at)
}

fn serialize_at<S: Serializer>(at: &i64, serializer: S) -> Result<S::Ok, S::Error> {
    let text = at_text(*at).map_err(serde::ser::Error::custom)?;
    serializer.serialize_str(&text)
}

/// Why a body cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeError {
    /// `args` or `detail` is nested too deep.
    Depth,
    /// The chain has as many rows as there are numbers.
    Full,
    /// The value could not be written as JSON.
    Json,
    /// `args` or `detail` holds an integer beyond ±(2^53 − 1).
    Number,
    /// `at` is before the year 0 or after 9999.
    Time,
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Depth => "an entry cannot hold a value that is nested so deep",
            Self::Full => "the chain is full",
            Self::Json => "the entry cannot be written as JSON",
            Self::Number => "an entry cannot hold an integer beyond 2^53 - 1 exactly",
            Self::Time => "the time of an entry is not within the years 0 to 9999",
        })
    }
}

impl std::error::Error for EncodeError {}

/// Why bytes are not an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// An entry, but not written in the one way.
    Canonical,
    /// The named field is missing or not what it should be.
    Field(&'static str),
    /// Not a JSON object, or a key occurs twice.
    Json,
    /// A field that this version does not have.
    Unknown,
    /// `v` is missing or not 1.
    Version,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Canonical => f.write_str("the entry is not in canonical form"),
            Self::Field(name) => write!(f, "the entry has no valid `{name}`"),
            Self::Json => f.write_str("the entry is not a JSON object"),
            Self::Unknown => f.write_str("the entry has a field of another version"),
            Self::Version => f.write_str("the entry is not of version 1"),
        }
    }
}

impl std::error::Error for DecodeError {}

const VERSION: u64 = 1;

/// 0000-01-01T00:00:00Z; a year before it is not written in four digits.
const YEAR_ZERO: i64 = -62_167_219_200_000;
