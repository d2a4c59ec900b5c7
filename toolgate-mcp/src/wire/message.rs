//! One message, read strictly once.

use std::fmt;
use std::ops::Range;

use serde::Deserialize;
use serde::Deserializer;
use serde::de::IgnoredAny;
use serde::de::MapAccess;
use serde::de::Visitor;
use serde_json::Map;
use serde_json::Value;
use serde_json::value::RawValue;
use toolgate_core::json::JsonErrorKind;
use toolgate_core::json::parse_strict;

use super::reply::Fault;

/// A message whose envelope every reader takes alike.
#[derive(Debug)]
pub(super) struct Message {
    /// What it is.
    pub(super) kind: Kind,
    /// Its parameters without the arguments of a tool.
    pub(super) params: Map<String, Value>,
    /// The text of `params.arguments` as it was sent; empty if there are none.
    pub(super) arguments: String,
}

/// What a message is.
#[derive(Debug)]
pub(super) enum Kind {
    /// It wants no answer.
    Notification { method: String },
    /// It wants one.
    Request { id: Box<RawValue>, method: String },
    /// It is itself an answer.
    Response,
}

/// Why a body is no message, and its id if that could be told.
#[derive(Debug)]
pub(super) struct Malformed {
    pub(super) fault: Fault,
    pub(super) id: Option<Box<RawValue>>,
}

impl From<Fault> for Malformed {
    fn from(fault: Fault) -> Self {
        Self { fault, id: None }
    }
}

/// Reads a message. The arguments of a tool are left as text: the gate judges them.
pub(super) fn read(body: &[u8]) -> Result<Message, Malformed> {
    let text = std::str::from_utf8(body).map_err(|_| Fault::parse("the body is not UTF-8"))?;
    let spans = Spans::of(text);
    let whole = parse_strict(&spans.blanked(text)).map_err(|error| fault(error.kind))?;
    let mut members = match whole {
        Value::Object(members) => members,
        Value::Array(_) => return Err(Fault::request("batches are not served").into()),
        _ => return Err(Fault::request("the message is not an object").into()),
    };
    let token = spans.id.clone().and_then(|span| text.get(span));
    let id = token.and_then(id_of);
    let fail = |fault| {
        let id = id.clone();
        Err(Malformed { fault, id })
    };
    if members.get("jsonrpc") != Some(&Value::from("2.0")) {
        return fail(Fault::request("`jsonrpc` is not 2.0"));
    }
    let is_response = members.contains_key("result") || members.contains_key("error");
    let method = match members.remove("method") {
        None if is_response => None,
        Some(Value::String(method)) if !is_response => Some(method),
        Some(_) if is_response => return fail(Fault::request("a response has no `method`")),
        _ => return fail(Fault::request("`method` is not a string")),
    };
    let mut params = match members.remove("params") {
        None => Map::new(),
        Some(Value::Object(params)) => params,
        Some(_) => return fail(Fault::request("`params` is not an object")),
    };
    // INVARIANT: what is handed on as text is what the strict reader took for it.
    let arguments = spans.arguments.and_then(|span| text.get(span));
    if arguments.is_some() != params.remove("arguments").is_some() {
        return fail(Fault::parse("the body is not JSON"));
    }
    let arguments = arguments.unwrap_or_default().to_owned();
    let kind = match (method, id, members.contains_key("id")) {
        (None, _, _) => Kind::Response,
        (Some(method), Some(id), true) => Kind::Request { id, method },
        (Some(method), None, false) => Kind::Notification { method },
        (Some(_), _, _) => {
            return Err(Fault::request("`id` is neither a string nor an integer").into());
        }
    };
    Ok(Message {
        kind,
        params,
        arguments,
    })
}

/// An id exactly as it was sent: a string or an integer.
fn id_of(token: &str) -> Option<Box<RawValue>> {
    let is_integer = {
        let digits = token.strip_prefix('-').unwrap_or(token);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    let is_string = || matches!(parse_strict(token), Ok(Value::String(_)));
    (is_integer || is_string())
        .then(|| RawValue::from_string(token.to_owned()).ok())
        .flatten()
}

fn fault(kind: JsonErrorKind) -> Fault {
    match kind {
        JsonErrorKind::ByteOrderMark => Fault::parse("the body starts with a byte order mark"),
        JsonErrorKind::Depth => Fault::request("the message is nested too deeply"),
        JsonErrorKind::DuplicateKey => Fault::request("an object of the message holds a key twice"),
        JsonErrorKind::Integer => {
            Fault::request("the message holds an integer beyond 2^53-1, send it as a string")
        }
        JsonErrorKind::NulInKey => Fault::request("the message holds a key with a NUL"),
        JsonErrorKind::Number => {
            Fault::request("the message holds a number beyond the range of a double")
        }
        JsonErrorKind::Surrogate => Fault::parse("the message holds half of a surrogate pair"),
        JsonErrorKind::Trailing => Fault::parse("the message is followed by more text"),
        _ => Fault::parse("the body is not JSON"),
    }
}

/// Where the two values stand that are kept as they were sent.
///
/// They are found by one reader and taken out of what the strict one reads. A second value under
/// the same key stays in, so that the strict reader refuses it.
#[derive(Debug, Default)]
struct Spans {
    id: Option<Range<usize>>,
    arguments: Option<Range<usize>>,
}

impl Spans {
    fn of(text: &str) -> Self {
        let within = |part: &RawValue| {
            let start = part
                .get()
                .as_ptr()
                .addr()
                .checked_sub(text.as_ptr().addr())?;
            let span = start..start.checked_add(part.get().len())?;
            text.get(span.clone()).map(|_| span)
        };
        let whole: Picked<'_> = serde_json::from_str(text).unwrap_or_default();
        let params: Picked<'_> = whole
            .params
            .and_then(|params| serde_json::from_str(params.get()).ok())
            .unwrap_or_default();
        Self {
            id: whole.id.and_then(within),
            arguments: params.arguments.and_then(within),
        }
    }

    /// The text with a zero in place of both.
    fn blanked(&self, text: &str) -> String {
        let mut spans: Vec<&Range<usize>> = self.id.iter().chain(&self.arguments).collect();
        spans.sort_by_key(|span| span.start);
        let mut out = String::with_capacity(text.len());
        let mut from = 0;
        for span in spans {
            out.push_str(text.get(from..span.start).unwrap_or_default());
            out.push('0');
            from = span.end;
        }
        out.push_str(text.get(from..).unwrap_or_default());
        out
    }
}

/// The members of an object that are wanted as text.
#[derive(Debug, Default)]
struct Picked<'t> {
    id: Option<&'t RawValue>,
    params: Option<&'t RawValue>,
    arguments: Option<&'t RawValue>,
}

impl<'t> Deserialize<'t> for Picked<'t> {
    fn deserialize<D: Deserializer<'t>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Pick)
    }
}

struct Pick;

impl<'t> Visitor<'t> for Pick {
    type Value = Picked<'t>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'t>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut picked = Picked::default();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "id" => picked.id = Some(map.next_value()?),
                "params" => picked.params = Some(map.next_value()?),
                "arguments" => picked.arguments = Some(map.next_value()?),
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(picked)
    }
}
