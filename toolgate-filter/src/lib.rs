#![doc = include_str!("../README.md")]

mod binary;
mod clean;
mod detect;
pub mod fence;
mod field;
pub mod marker;
mod pointer;
mod report;
mod rules;
mod strip;
mod text;
mod trace;
mod walk;

use std::borrow::Cow;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use report::{OnInjection, injection_flags, notes};
pub use rules::{Rule, rules};

/// What a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "a new kind must break every match")]
pub enum Kind {
    /// Text that gives orders to the agent. It stays where it is.
    Injection,
    /// Characters that show nothing, and terminal control sequences. They are removed.
    Invisible,
    /// Personal data. It is replaced by a marker unless the settings allow it.
    Pii,
    /// A credential. It is always replaced by a marker.
    Secret,
}

/// Something that was found: which rule, and where. Never the found text itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(
    clippy::exhaustive_structs,
    reason = "plain data, made and matched whole"
)]
pub struct Finding {
    /// The id of the rule, which is also the word in the marker.
    pub rule: Cow<'static, str>,
    /// What the rule finds.
    pub kind: Kind,
    /// Bytes of the original string.
    pub span: Range<usize>,
    /// JSON Pointer of the string, with keys as they are after cleaning; empty for a plain text.
    /// A finding inside a key has the member's pointer and `#key`.
    pub at: String,
}

/// What happens to personal data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(
    clippy::exhaustive_enums,
    reason = "a new choice must break every match"
)]
pub enum Pii {
    /// It passes.
    Allow,
    /// Markers take its place.
    #[default]
    Redact,
}

/// How to clean.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// What happens to personal data.
    pub pii: Pii,
}

impl Settings {
    /// Settings with this choice for personal data.
    #[must_use]
    pub const fn new(pii: Pii) -> Self {
        Self { pii }
    }

    /// Everything that can be removed is removed, as for what is kept in an audit.
    #[must_use]
    pub const fn strict() -> Self {
        Self::new(Pii::Redact)
    }
}

/// A cleaned value and what was found in it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "plain data, made and matched whole"
)]
pub struct Cleaned<T> {
    /// The value after cleaning.
    pub value: T,
    /// What was found, string by string.
    pub findings: Vec<Finding>,
}

/// Cleans a text.
///
/// ```
/// use toolgate_filter::{Kind, Settings, clean_text};
///
/// let cleaned = clean_text("mail ana@example.org", &Settings::strict());
/// assert_eq!(cleaned.value, "mail [redacted:email]");
/// assert_eq!(cleaned.findings[0].kind, Kind::Pii);
/// assert_eq!(cleaned.findings[0].span, 5..20);
/// ```
#[must_use]
pub fn clean_text(text: &str, settings: &Settings) -> Cleaned<String> {
    let mut findings = Vec::new();
    let mut value = String::new();
    for clean in clean::clean(vec![text.to_owned()], settings) {
        walk::report(&mut findings, &clean, "");
        value = clean.text;
    }
    Cleaned { value, findings }
}

/// Cleans every string of a value, keys included. Numbers, booleans and null stay.
///
/// The name of a field governs its value, and neighbours in an array are also read as one text.
///
/// ```
/// use serde_json::json;
/// use toolgate_filter::{Settings, clean_value};
///
/// let cleaned = clean_value(json!({"id": 4111111111111111_u64, "password": "x y"}), &Settings::strict());
/// assert_eq!(cleaned.value, json!({"id": 4111111111111111_u64, "password": "[redacted:password]"}));
/// assert_eq!(cleaned.findings[0].at, "/password");
/// ```
#[must_use]
pub fn clean_value(value: Value, settings: &Settings) -> Cleaned<Value> {
    walk::value(value, settings)
}

/// Cleans the result of a tool call.
///
/// It is the walk of [`clean_value`] but for two things. The texts of all blocks are also read as
/// one text, whatever stands between them. The base64 of images, sounds and binary resources stays
/// as it is, but for base64 that holds a text: that is cleaned as a text, and one that nobody can
/// read is removed.
///
/// ```
/// use serde_json::json;
/// use toolgate_filter::{Settings, clean_result};
///
/// let result = json!({"content": [
///     {"type": "text", "text": "the key is AKIAIOSF"},
///     {"type": "text", "text": "ODNN7EXAMPLE."},
/// ]});
/// let cleaned = clean_result(result, &Settings::strict());
/// assert_eq!(cleaned.value["content"][0]["text"], "the key is [redacted:aws-key-id]");
/// assert_eq!(cleaned.findings[1].at, "/content/1/text");
/// ```
#[must_use]
pub fn clean_result(result: Value, settings: &Settings) -> Cleaned<Value> {
    walk::result(result, settings)
}
