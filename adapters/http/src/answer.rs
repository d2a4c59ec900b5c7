//! Answers of the admin API.

use bytes::Bytes;
use http::HeaderValue;
use http::Response;
use http::StatusCode;
use http::header;
use serde::Serialize;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;
use toolgate_mcp::gateway::OperateError;
use toolgate_mcp::store::StoreError;

use crate::Answered;

/// An answer that is not a success: a status, a stable word and a sentence.
#[derive(Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    code: &'static str,
    message: String,
    details: Option<Value>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
            details: None,
        }
    }

    pub(crate) fn details(mut self, details: impl Serialize) -> Self {
        self.details = serde_json::to_value(details).ok();
        self
    }

    /// Nothing answers at that path.
    pub(crate) fn missing() -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", "there is no such route")
    }

    /// There is none of that kind.
    pub(crate) fn no(kind: &str) -> Self {
        let message = format!("there is no such {kind}");
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    pub(crate) fn invalid(path: &str, message: impl Into<String>) -> Self {
        let message = message.into();
        let details = json!([{"path": path, "message": message}]);
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid", message).details(details)
    }

    pub(crate) fn conflict(message: &str) -> Self {
        Self::new(StatusCode::CONFLICT, "conflict", message)
    }

    pub(crate) fn unavailable() -> Self {
        let message = "the store does not answer, so nothing is done";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message)
    }

    /// The problem as a caller reads it.
    pub(crate) fn shown(self) -> Value {
        let mut error = Map::new();
        error.insert("code".to_owned(), self.code.into());
        error.insert("message".to_owned(), self.message.into());
        if let Some(details) = self.details {
            error.insert("details".to_owned(), details);
        }
        Value::Object(error)
    }

    pub(crate) fn into_response(self) -> Answered {
        let status = self.status;
        json_response(status, &json!({ "error": self.shown() }))
    }
}

impl From<StoreError> for Problem {
    fn from(_: StoreError) -> Self {
        Self::unavailable()
    }
}

impl From<OperateError> for Problem {
    fn from(error: OperateError) -> Self {
        match error {
            OperateError::Conflict => {
                Self::conflict("there is one of that name, or another change came first")
            }
            OperateError::Invalid(errors) => Self::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "invalid_policy",
                "the policy is not accepted; the one in force stays",
            )
            .details(errors),
            OperateError::Missing => Self::no("agent or key"),
            OperateError::Unavailable => Self::unavailable(),
        }
    }
}

/// A success.
pub(crate) struct Done(StatusCode, Value);

impl Done {
    pub(crate) const fn ok(body: Value) -> Self {
        Self(StatusCode::OK, body)
    }

    pub(crate) const fn created(body: Value) -> Self {
        Self(StatusCode::CREATED, body)
    }

    pub(crate) const fn with(status: StatusCode, body: Value) -> Self {
        Self(status, body)
    }

    pub(crate) fn into_response(self) -> Answered {
        json_response(self.0, &self.1)
    }
}

pub(crate) fn json_response(status: StatusCode, body: &Value) -> Answered {
    let mut response = Response::new(Bytes::from(body.to_string()));
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    guard(response)
}

/// What every answer carries: it is for this caller alone, and is what it says it is.
pub(crate) fn guard(mut response: Answered) -> Answered {
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let nosniff = HeaderValue::from_static("nosniff");
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
    response
}
