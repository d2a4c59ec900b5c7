//! The reserved form that stands where something was removed: `[redacted:<word>]`.
//!
//! ```
//! use toolgate_filter::marker;
//!
//! assert!(marker::is_marker("[redacted:email]"));
//! assert!(marker::contains("write to [redacted:email] today"));
//! assert!(!marker::contains("[redacted: email]"));
//!
//! let args = serde_json::json!({"files": [{"text": "key = [redacted:aws-key-id]"}]});
//! assert_eq!(marker::find(&args).as_deref(), Some("/files/0/text"));
//! ```

use serde_json::Value;

use crate::pointer::Pointer;
use crate::text::{byte, run, slice};

/// Whether a marker occurs anywhere in `text`.
#[must_use]
pub fn contains(text: &str) -> bool {
    text.match_indices(OPEN)
        .any(|(at, _)| end(text, at).is_some())
}

/// Whether `text` is a marker and nothing else.
#[must_use]
pub fn is_marker(text: &str) -> bool {
    end(text, 0) == Some(text.len())
}

/// The JSON Pointer of the first string in `value` that contains a marker.
///
/// A marker in an object's key is named by the member's pointer and `#key`.
#[must_use]
pub fn find(value: &Value) -> Option<String> {
    find_in(value, &mut Pointer::default())
}

/// The marker with `word` in it.
pub(crate) fn of(word: &str) -> String {
    let mut marker = String::new();
    push(&mut marker, word);
    marker
}

/// The length of the marker with `word` in it, in bytes.
pub(crate) const fn length(word: &str) -> usize {
    OPEN.len() + word.len() + 1
}

/// Writes the marker with `word` in it.
pub(crate) fn push(out: &mut String, word: &str) {
    out.push_str(OPEN);
    out.push_str(word);
    out.push(']');
}

/// `text` without the markers at its start.
pub(crate) fn skip(text: &str) -> &str {
    let mut rest = text;
    while let Some(after) = end(rest, 0) {
        rest = slice(rest, after..rest.len());
    }
    rest
}

/// Where the marker ends that starts at `at`.
pub(crate) fn end(text: &str, at: usize) -> Option<usize> {
    if !text.get(at..)?.starts_with(OPEN) {
        return None;
    }
    let word = at + OPEN.len();
    let close = word + run(text, word, LONGEST + 1, is_word);
    ((word + 1..=word + LONGEST).contains(&close) && byte(text, close) == b']').then_some(close + 1)
}

/// Whether the word that starts at `at` is that of a whole marker.
pub(crate) fn is_word_of_one(text: &str, at: usize) -> bool {
    at.checked_sub(OPEN.len())
        .is_some_and(|open| end(text, open).is_some())
}

fn is_word(b: u8) -> bool {
    b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-'
}

fn find_in(value: &Value, at: &mut Pointer) -> Option<String> {
    match value {
        Value::String(text) => contains(text).then(|| at.to_string()),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(i, item)| at.within(&i.to_string(), |at| find_in(item, at))),
        Value::Object(members) => members.iter().find_map(|(key, member)| {
            at.within(key, |at| {
                if contains(key) {
                    Some(at.of_key())
                } else {
                    find_in(member, at)
                }
            })
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

const OPEN: &str = "[redacted:";
const LONGEST: usize = 40;
