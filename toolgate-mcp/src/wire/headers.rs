//! What the headers of a request say.

use data_encoding::BASE64;
use http::HeaderMap;
use http::HeaderName;
use http::HeaderValue;
use http::StatusCode;
use http::header;

use super::reply::Fault;
use super::reply::HttpReply;
use super::reply::unauthorised;

/// A header that may stand once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Once<'h> {
    /// It is not there.
    Absent,
    /// It is there twice, or holds what no such header may.
    Malformed,
    /// Its value without white space around it.
    Is(&'h str),
}

/// Reads a header that may stand once.
pub(super) fn once<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Once<'h> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Once::Absent,
        (Some(value), None) => text(value).map_or(Once::Malformed, Once::Is),
        (Some(_), Some(_)) => Once::Malformed,
    }
}

fn text(value: &HeaderValue) -> Option<&str> {
    value.to_str().ok().map(|text| text.trim_matches(WHITE))
}

/// A mirrored value, taken out of its sentinel if it has one; nothing if the sentinel holds no
/// base64 of UTF-8.
pub(super) fn mirrored(value: &str) -> Option<String> {
    let sealed = value
        .strip_prefix("=?base64?")
        .and_then(|rest| rest.strip_suffix("?="));
    match sealed {
        None => Some(value.to_owned()),
        Some(base64) => String::from_utf8(BASE64.decode(base64.as_bytes()).ok()?).ok(),
    }
}

/// The bearer token of a request.
///
/// There must be one `Authorization` header, and it must hold one token and nothing else.
///
/// ```
/// use http::{HeaderMap, HeaderValue};
/// use toolgate_mcp::wire::bearer;
///
/// let mut headers = HeaderMap::new();
/// assert_eq!(bearer(&headers).unwrap_err().status, 401);
/// headers.insert("authorization", HeaderValue::from_static("Bearer tg_example"));
/// assert_eq!(bearer(&headers).unwrap(), "tg_example");
/// ```
///
/// # Errors
/// The finished reply of [`unauthorised`].
pub fn bearer(headers: &HeaderMap) -> Result<&str, HttpReply> {
    let value = match once(headers, &header::AUTHORIZATION) {
        Once::Absent => return Err(unauthorised(false)),
        Once::Malformed => return Err(unauthorised(true)),
        Once::Is(value) => value,
    };
    let Some((scheme, token)) = value.split_once(' ') else {
        return Err(unauthorised(false));
    };
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(unauthorised(false));
    }
    let token = token.trim_start_matches(' ');
    if !token.is_empty() && token.bytes().all(is_token) {
        Ok(token)
    } else {
        Err(unauthorised(true))
    }
}

/// A character of a token in a header (RFC 6750, section 2.1).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte)
}

/// Refuses a body that is not said to be plain JSON.
pub(super) fn content_type(headers: &HeaderMap) -> Result<(), HttpReply> {
    let refused = || {
        Err(Fault::request("the content type must be application/json")
            .nameless(StatusCode::UNSUPPORTED_MEDIA_TYPE))
    };
    let Once::Is(value) = once(headers, &header::CONTENT_TYPE) else {
        return refused();
    };
    let mut parts = value.split(';').map(|part| part.trim_matches(WHITE));
    let essence = parts.next().unwrap_or_default();
    let is_utf8 = parts
        .filter_map(|part| part.split_once('='))
        .filter(|(name, _)| name.eq_ignore_ascii_case("charset"))
        .all(|(_, charset)| charset.trim_matches('"').eq_ignore_ascii_case("utf-8"));
    let is_plain = match once(headers, &header::CONTENT_ENCODING) {
        Once::Absent => true,
        Once::Malformed => false,
        Once::Is(coding) => coding.eq_ignore_ascii_case("identity"),
    };
    if essence.eq_ignore_ascii_case("application/json") && is_utf8 && is_plain {
        Ok(())
    } else {
        refused()
    }
}

/// Whether a client takes JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Accepts {
    /// It does not say.
    Unsaid,
    /// It does.
    Json,
    /// It takes something else only.
    Other,
}

/// Reads what a client takes; of several ranges that hold JSON, the narrowest counts.
pub(super) fn accepts(headers: &HeaderMap) -> Accepts {
    if !headers.contains_key(header::ACCEPT) {
        return Accepts::Unsaid;
    }
    let narrowest = headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(text)
        .flat_map(|value| value.split(','))
        .filter_map(range)
        .max();
    match narrowest {
        Some((_, true)) => Accepts::Json,
        Some((_, false)) | None => Accepts::Other,
    }
}

/// How narrow a media range is that holds JSON, and whether it is taken at all.
fn range(text: &str) -> Option<(u8, bool)> {
    let mut parts = text.split(';').map(|part| part.trim_matches(WHITE));
    let essence = parts.next()?.to_ascii_lowercase();
    let narrow = match essence.as_str() {
        "application/json" => 2,
        "application/*" => 1,
        "*/*" => 0,
        _ => return None,
    };
    let is_taken = !parts
        .filter_map(|part| part.split_once('='))
        .filter(|(name, _)| name.eq_ignore_ascii_case("q"))
        .any(|(_, weight)| weight.parse().is_ok_and(|weight: f32| weight <= 0.0));
    Some((narrow, is_taken))
}

/// White space that may stand around a value (RFC 9110, section 5.6.3).
const WHITE: [char; 2] = [' ', '\t'];
