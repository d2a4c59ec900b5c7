//! JSON in and out: canonical bytes (RFC 8785), and a reader for them that gives no key a meaning.

use std::fmt;

use serde::Deserialize;
use serde::Deserializer;
use serde::Serialize;
use serde::de::Error as _;
use serde::de::MapAccess;
use serde::de::SeqAccess;
use serde::de::Visitor;
use serde_json::Map;
use serde_json::Number;
use serde_json::Value;

use crate::EncodeError;

/// The canonical bytes (RFC 8785) of a value.
///
/// An integer beyond ±(2^53 − 1) is refused, since it would be rounded, and so is a value that is
/// nested more than 100 deep, since not every reader would get it back.
///
/// ```
/// use serde_json::json;
///
/// let bytes = toolgate_audit::canonical(&json!({"b": 1.0, "a": [true, "é"]}))?;
/// assert_eq!(bytes, r#"{"a":[true,"é"],"b":1}"#.as_bytes());
/// # Ok::<(), toolgate_audit::EncodeError>(())
/// ```
///
/// # Errors
/// [`EncodeError::Number`] and [`EncodeError::Depth`], for the reasons above.
pub fn canonical(value: &Value) -> Result<Vec<u8>, EncodeError> {
    check(value)?;
    to_bytes(value)
}

/// Refuses what would not come back as it went in.
pub(crate) fn check(value: &Value) -> Result<(), EncodeError> {
    check_below(value, MAX_DEPTH)
}

/// [`check`] for an object whose map is at hand.
pub(crate) fn check_map(map: &Map<String, Value>) -> Result<(), EncodeError> {
    map.values()
        .try_for_each(|value| check_below(value, MAX_DEPTH - 1))
}

fn check_below(value: &Value, depth: u32) -> Result<(), EncodeError> {
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => Ok(()),
        Value::Number(number) if is_exact(number) => Ok(()),
        Value::Number(_) => Err(EncodeError::Number),
        Value::Array(items) => {
            let depth = depth.checked_sub(1).ok_or(EncodeError::Depth)?;
            items.iter().try_for_each(|item| check_below(item, depth))
        }
        Value::Object(map) => {
            let depth = depth.checked_sub(1).ok_or(EncodeError::Depth)?;
            map.values().try_for_each(|item| check_below(item, depth))
        }
    }
}

fn is_exact(number: &Number) -> bool {
    if let Some(integer) = number.as_u64() {
        integer <= MAX_INTEGER
    } else if let Some(integer) = number.as_i64() {
        integer.unsigned_abs() <= MAX_INTEGER
    } else {
        number.as_f64().is_some_and(f64::is_finite)
    }
}

/// The canonical bytes of anything whose numbers are known to be exact.
pub(crate) fn to_bytes(value: &impl Serialize) -> Result<Vec<u8>, EncodeError> {
    serde_json_canonicalizer::to_vec(value).map_err(|_| EncodeError::Json)
}

/// Reads a JSON text, if it is one without a key twice in an object.
pub(crate) fn parse(bytes: &[u8]) -> Option<Value> {
    serde_json::from_slice::<Plain>(bytes)
        .ok()
        .map(|plain| plain.0)
}

/// A value as written.
///
/// `Value` itself, as a target, takes certain keys of `serde_json`'s own for a mark and drops them,
/// so that an agent could bring about an entry that does not read back as written.
struct Plain(Value);

impl<'de> Deserialize<'de> for Plain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PlainVisitor).map(Self)
    }
}

struct PlainVisitor;

impl<'de> Visitor<'de> for PlainVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        let number = Number::from_f64(value).ok_or_else(|| E::custom("not a finite number"))?;
        Ok(Value::Number(number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(Plain(item)) = access.next_element()? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some((key, Plain(item))) = access.next_entry::<String, Plain>()? {
            if map.insert(key, item).is_some() {
                return Err(A::Error::custom("a key occurs twice"));
            }
        }
        Ok(Value::Object(map))
    }
}

/// 2^53 − 1, the greatest integer up to which a double holds every one (RFC 7493, section 2.2).
pub(crate) const MAX_INTEGER: u64 = (1 << 53) - 1;

/// How deep `args` and `detail` may be nested; `serde_json` reads 127 levels, an entry adds one and
/// an export line another.
const MAX_DEPTH: u32 = 100;
