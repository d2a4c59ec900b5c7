//! Definitions and results of built-in tools.

use serde_json::Map;
use serde_json::Value;
use serde_json::json;
use toolgate_core::catalog::Provenance;
use toolgate_core::catalog::Source;
use toolgate_core::catalog::Trust;
use toolgate_core::classify;
use toolgate_core::classify::Mode;
use toolgate_core::id::UpstreamId;
use toolgate_core::verdict::Retry;
use toolgate_mcp::upstream::Dispatched;
use toolgate_mcp::upstream::ToolCall;
use toolgate_mcp::upstream::UpstreamError;

use crate::BackendError;

/// What a tool says of itself; all four annotations are stated.
pub(crate) struct About {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) description: &'static str,
    pub(crate) mode: Mode,
    pub(crate) destructive: bool,
    pub(crate) idempotent: bool,
    pub(crate) open_world: bool,
}

impl About {
    /// A tool that only reads what the gate keeps.
    pub(crate) const fn reads(
        name: &'static str,
        title: &'static str,
        description: &'static str,
    ) -> Self {
        Self {
            name,
            title,
            description,
            mode: Mode::Observation,
            destructive: false,
            idempotent: true,
            open_world: false,
        }
    }

    /// A tool that changes what the gate keeps.
    pub(crate) const fn writes(
        name: &'static str,
        title: &'static str,
        description: &'static str,
        destructive: bool,
        idempotent: bool,
    ) -> Self {
        let mode = Mode::Action;
        Self {
            name,
            title,
            description,
            mode,
            destructive,
            idempotent,
            open_world: false,
        }
    }

    /// The definition, as JSON text.
    pub(crate) fn definition(&self, input: &Value, output: &Value) -> String {
        json!({
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": input,
            "outputSchema": output,
            "annotations": classify::declare(
                self.mode,
                self.destructive,
                self.idempotent,
                self.open_world,
            ),
        })
        .to_string()
    }
}

/// A closed object schema.
pub(crate) fn object(properties: &Value, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// A text of at most so many characters.
pub(crate) fn text(most: u32, description: &str) -> Value {
    json!({"type": "string", "maxLength": most, "description": description})
}

pub(crate) fn source(id: UpstreamId) -> Source {
    Source {
        id,
        provenance: Provenance::Builtin,
        trust: Trust::Vetted,
    }
}

/// A result with its structured form, and the same as text.
pub(crate) fn done(structured: &Value) -> Value {
    let text = serde_json::to_string_pretty(structured).unwrap_or_default();
    json!({
        "content": [{"type": "text", "text": text}],
        "structuredContent": structured,
    })
}

/// A result that says that the tool failed, in its own words.
pub(crate) fn failed(why: &str) -> Value {
    json!({"content": [{"type": "text", "text": why}], "isError": true})
}

/// A text argument; the schema has seen to its presence and type.
pub(crate) fn argument<'a>(arguments: &'a Map<String, Value>, name: &str) -> &'a str {
    arguments
        .get(name)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// A page's offset, in characters.
fn offset(arguments: &Map<String, Value>) -> usize {
    let offset = arguments.get("offset").and_then(Value::as_u64).unwrap_or(0);
    usize::try_from(offset).unwrap_or(usize::MAX)
}

/// The characters of the cleaned text from the call's offset on, at most `most`, and whether there
/// are more.
pub(crate) fn page(call: &ToolCall, text: &str, most: usize) -> (String, bool) {
    let text = call.clean(text);
    let offset = offset(&call.arguments);
    let mut rest = text.chars().skip(offset);
    let page: String = rest.by_ref().take(most).collect();
    (page, rest.next().is_some())
}

/// A store's failure before anything was written.
pub(crate) fn not_read(error: &BackendError) -> UpstreamError {
    refused(UpstreamError::not_made(error.to_string()), error)
}

/// What was refused is refused again; what did not answer may answer later.
fn refused(made: UpstreamError, error: &BackendError) -> UpstreamError {
    match error {
        BackendError::Refused(_) | BackendError::TooLarge => made.with_retry(Retry::Fixed),
        BackendError::Unavailable(_) => made,
    }
}

/// A store's failure while something was written.
pub(crate) fn not_written(error: &BackendError) -> UpstreamError {
    match error {
        BackendError::Refused(_) | BackendError::TooLarge => {
            refused(UpstreamError::not_made(error.to_string()), error)
        }
        BackendError::Unavailable(_) => UpstreamError::unknown(error.to_string()),
    }
}

/// There is no tool of that name here.
pub(crate) fn no_such_tool() -> UpstreamError {
    let error = UpstreamError::not_made("there is no such tool here");
    debug_assert_eq!(error.dispatched(), Dispatched::No);
    error
}
