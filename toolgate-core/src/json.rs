//! JSON read strictly once, and the two ways in which it is written for hashing.

mod parse;

use std::fmt;

use serde_json::Map;
use serde_json::Number;
use serde_json::Value;

use parse::Limits;
use parse::Node;

/// The most arrays and objects within one another in arguments and policies.
pub const MOST_DEPTH: usize = 64;
/// The same for tool definitions.
const MOST_DEFINITION_DEPTH: usize = 128;
/// The longest place that an error names, in characters.
const MOST_PLACE: usize = 200;

/// What is wrong with a JSON text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum JsonErrorKind {
    /// It starts with a byte order mark.
    ByteOrderMark,
    /// Arrays and objects are nested too deeply.
    Depth,
    /// An object holds a key twice.
    DuplicateKey,
    /// An integer is beyond ±(2^53 − 1), so that readers disagree about it.
    Integer,
    /// A key holds a NUL.
    NulInKey,
    /// A number is beyond what a double holds.
    Number,
    /// A key means something of its own to a reader of ours, so that it would see another value.
    ReservedKey,
    /// Half of a surrogate pair stands alone.
    Surrogate,
    /// It breaks the grammar of JSON.
    Syntax,
    /// Something follows the value.
    Trailing,
}

impl fmt::Display for JsonErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ByteOrderMark => "starts with a byte order mark",
            Self::Depth => "is nested too deeply",
            Self::DuplicateKey => "holds this key twice",
            Self::Integer => "is an integer beyond 2^53-1, send it as a string",
            Self::NulInKey => "is a key with a NUL in it",
            Self::Number => "is a number beyond the range of a double",
            Self::ReservedKey => "is a key that readers give another meaning",
            Self::Surrogate => "holds half of a surrogate pair",
            Self::Syntax => "is not JSON",
            Self::Trailing => "is followed by more text",
        })
    }
}

/// Why a JSON text is refused, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct JsonError {
    /// What is wrong.
    pub kind: JsonErrorKind,
    /// JSON Pointer of the place; empty for the whole text.
    pub path: String,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            write!(f, "the text {}", self.kind)
        } else {
            write!(f, "`{}` {}", place(&self.path), self.kind)
        }
    }
}

impl std::error::Error for JsonError {}

/// Reads JSON as every reader would: what two readers could take differently is refused.
///
/// Refused are keys twice in an object, integers beyond ±(2^53 − 1), numbers that no double holds,
/// lone surrogates, NUL in keys, keys that `serde_json` gives a meaning, more than [`MOST_DEPTH`]
/// levels, a byte order mark and text after the value.
///
/// ```
/// use toolgate_core::json::{JsonErrorKind, parse_strict};
///
/// assert!(parse_strict(r#"{"n": 6.02e23}"#).is_ok());
/// let error = parse_strict(r#"{"a": {"id": 9007199254740993}}"#).unwrap_err();
/// assert_eq!((error.kind, error.path.as_str()), (JsonErrorKind::Integer, "/a/id"));
/// ```
///
/// # Errors
/// [`JsonError`] names the kind and the place, never a value.
pub fn parse_strict(text: &str) -> Result<Value, JsonError> {
    parse_within(text, MOST_DEPTH)
}

/// [`parse_strict`] with fewer levels.
pub(crate) fn parse_within(text: &str, depth: usize) -> Result<Value, JsonError> {
    value_of(parse::parse(
        text,
        Limits {
            depth,
            strict: true,
        },
    )?)
}

/// The canonical bytes of RFC 8785.
///
/// ```
/// use serde_json::json;
/// use toolgate_core::json::canonical;
///
/// assert_eq!(canonical(&json!({"b": 1.0, "a": "x"})), br#"{"a":"x","b":1}"#);
/// ```
#[must_use]
pub fn canonical(value: &Value) -> Vec<u8> {
    serde_json_canonicalizer::to_vec(value).unwrap_or_else(|_| value.to_string().into_bytes())
}

/// An object with keys sorted by code point and white space removed; numbers stay as they were
/// sent, strings are written in one way.
///
/// Nothing for what is not an object, holds a key twice or a reserved one, or nests too deeply.
#[must_use]
pub fn sorted(text: &str) -> Option<Vec<u8>> {
    let limits = Limits {
        depth: MOST_DEFINITION_DEPTH,
        strict: false,
    };
    let node = parse::parse(text, limits).ok()?;
    if !matches!(node, Node::Object(_)) {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    write_sorted(node, &mut out);
    Some(out.into_bytes())
}

/// A segment of a JSON Pointer, `~` and `/` escaped.
#[must_use]
pub fn pointer_escape(segment: &str) -> String {
    segment.replace('~', "~0").replace('/', "~1")
}

/// A place as it may be shown: short, and without characters that deceive.
pub(crate) fn place(path: &str) -> String {
    let mut shown: String = path
        .chars()
        .take(MOST_PLACE)
        .map(|c| {
            if crate::id::is_deceptive(c) || c == '`' {
                '\u{fffd}'
            } else {
                c
            }
        })
        .collect();
    if path.chars().nth(MOST_PLACE).is_some() {
        shown.push('…');
    }
    shown
}

fn value_of(node: Node<'_>) -> Result<Value, JsonError> {
    Ok(match node {
        Node::Null => Value::Null,
        Node::Bool(is) => Value::Bool(is),
        Node::String(text) => Value::String(text),
        Node::Number(token) => Value::Number(serde_json::from_str::<Number>(token).map_err(
            |_| JsonError {
                kind: JsonErrorKind::Number,
                path: String::new(),
            },
        )?),
        Node::Array(items) => {
            Value::Array(items.into_iter().map(value_of).collect::<Result<_, _>>()?)
        }
        Node::Object(members) => {
            let mut map = Map::new();
            for (key, member) in members {
                map.insert(key, value_of(member)?);
            }
            Value::Object(map)
        }
    })
}

fn write_sorted(node: Node<'_>, out: &mut String) {
    match node {
        Node::Null => out.push_str("null"),
        Node::Bool(is) => out.push_str(if is { "true" } else { "false" }),
        Node::Number(token) => out.push_str(token),
        Node::String(text) => out.push_str(&Value::String(text).to_string()),
        Node::Array(items) => {
            out.push('[');
            for (at, item) in items.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write_sorted(item, out);
            }
            out.push(']');
        }
        Node::Object(mut members) => {
            members.sort_by(|(a, _), (b, _)| a.cmp(b));
            out.push('{');
            for (at, (key, member)) in members.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                out.push_str(&Value::String(key).to_string());
                out.push(':');
                write_sorted(member, out);
            }
            out.push('}');
        }
    }
}
