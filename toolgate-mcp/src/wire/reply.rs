//! What goes back over HTTP.

use bytes::Bytes;
use http::HeaderName;
use http::HeaderValue;
use http::Response;
use http::StatusCode;
use http::header;
use serde::Serialize;
use serde_json::Value;
use serde_json::json;
use serde_json::value::RawValue;

/// A finished reply.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "written out whole by every host")]
pub struct HttpReply {
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Its body; empty for an accepted notification.
    pub body: Vec<u8>,
}

impl HttpReply {
    /// An accepted notification: nothing is said.
    pub(super) fn accepted() -> Self {
        Self {
            status: StatusCode::ACCEPTED,
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    /// The result of a request.
    pub(super) fn result<T: Serialize>(id: &RawValue, result: T) -> Self {
        serde_json::to_vec(&Answer {
            jsonrpc: "2.0",
            id,
            result,
        })
        .map_or_else(
            |_| Fault::INTERNAL.reply(StatusCode::OK, id),
            |body| Self::json(StatusCode::OK, body),
        )
    }

    fn json(status: StatusCode, body: Vec<u8>) -> Self {
        let json = HeaderValue::from_static("application/json");
        Self {
            status,
            headers: vec![(header::CONTENT_TYPE, json)],
            body,
        }
    }

    pub(super) fn with(mut self, name: HeaderName, value: &'static str) -> Self {
        self.headers.push((name, HeaderValue::from_static(value)));
        self
    }
}

impl From<HttpReply> for Response<Bytes> {
    fn from(reply: HttpReply) -> Self {
        let mut response = Self::new(reply.body.into());
        *response.status_mut() = reply.status;
        response.headers_mut().extend(
            reply
                .headers
                .into_iter()
                .map(|(name, value)| (Some(name), value)),
        );
        response
    }
}

/// The reply to a request without a good key.
///
/// `presented` tells a key that is not good from none at all.
///
/// ```
/// let reply = toolgate_mcp::wire::unauthorised(true);
/// assert_eq!(reply.status, 401);
/// assert!(reply.headers.iter().any(|(name, value)| name == "www-authenticate"
///     && value == "Bearer realm=\"toolgate\", error=\"invalid_token\""));
/// ```
#[must_use]
pub fn unauthorised(presented: bool) -> HttpReply {
    let (challenge, error, description) = if presented {
        (
            r#"Bearer realm="toolgate", error="invalid_token""#,
            "invalid_token",
            "the key is not good",
        )
    } else {
        (
            r#"Bearer realm="toolgate""#,
            "unauthorized",
            "a key is needed: Authorization: Bearer",
        )
    };
    let body = json!({"error": error, "error_description": description});
    HttpReply::json(StatusCode::UNAUTHORIZED, body.to_string().into_bytes())
        .with(header::WWW_AUTHENTICATE, challenge)
}

/// An error in the words of JSON-RPC. Its message is one of ours and holds nothing from the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fault {
    code: i32,
    message: &'static str,
}

impl Fault {
    pub(super) const INTERNAL: Self = Self::new(-32603, "internal error");
    pub(super) const METHOD_NOT_FOUND: Self = Self::new(-32601, "method not found");
    pub(super) const UNKNOWN_CURSOR: Self = Self::new(-32602, "unknown cursor");
    pub(super) const UNKNOWN_TOOL: Self = Self::new(-32602, "unknown tool");
    pub(super) const UNSUPPORTED_VERSION: Self = Self::new(-32022, "unsupported protocol version");

    const fn new(code: i32, message: &'static str) -> Self {
        Self { code, message }
    }

    pub(super) const fn parse(message: &'static str) -> Self {
        Self::new(-32700, message)
    }

    pub(super) const fn request(message: &'static str) -> Self {
        Self::new(-32600, message)
    }

    pub(super) const fn params(message: &'static str) -> Self {
        Self::new(-32602, message)
    }

    pub(super) const fn internal(message: &'static str) -> Self {
        Self::new(-32603, message)
    }

    pub(super) const fn header(message: &'static str) -> Self {
        Self::new(-32020, message)
    }

    pub(super) fn reply(self, status: StatusCode, id: &RawValue) -> HttpReply {
        self.reply_with(status, id, None)
    }

    pub(super) fn reply_with(
        self,
        status: StatusCode,
        id: &RawValue,
        data: Option<Value>,
    ) -> HttpReply {
        let failure = Failure {
            jsonrpc: "2.0",
            id,
            error: Error {
                code: self.code,
                message: self.message,
                data,
            },
        };
        let body = serde_json::to_vec(&failure).unwrap_or_else(|_| LAST_WORDS.to_vec());
        HttpReply::json(status, body)
    }

    /// The reply to what has no id that could be told.
    pub(super) fn nameless(self, status: StatusCode) -> HttpReply {
        self.reply(status, RawValue::NULL)
    }
}

#[derive(Serialize)]
struct Answer<'a, T> {
    jsonrpc: &'static str,
    id: &'a RawValue,
    result: T,
}

#[derive(Serialize)]
struct Failure<'a> {
    jsonrpc: &'static str,
    id: &'a RawValue,
    error: Error,
}

#[derive(Serialize)]
struct Error {
    code: i32,
    message: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Value>,
}

const LAST_WORDS: &[u8] =
    br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"internal error"}}"#;
