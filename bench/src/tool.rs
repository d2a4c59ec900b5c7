//! The tool that is called: it answers with about 1 KB of text at once.

use async_trait::async_trait;
use serde_json::Value;
use serde_json::json;
use toolgate_core::catalog::Provenance;
use toolgate_core::catalog::Source;
use toolgate_core::catalog::Trust;
use toolgate_core::id::IdError;
use toolgate_core::id::UpstreamId;
use toolgate_mcp::upstream::Listing;
use toolgate_mcp::upstream::ToolCall;
use toolgate_mcp::upstream::Upstream;
use toolgate_mcp::upstream::UpstreamError;

/// The message that every client sends.
pub(crate) const MESSAGE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{"title":"the minutes of the last meeting"}}}"#;

/// The one tool, in this process.
#[derive(Debug)]
pub(crate) struct Reader(UpstreamId);

impl Reader {
    pub(crate) fn new() -> Result<Self, IdError> {
        Ok(Self("reader".parse()?))
    }
}

/// What it answers.
pub(crate) fn result() -> Value {
    let line = "The team met on a Tuesday and agreed to move the release by one week. ";
    json!({"content": [{"type": "text", "text": line.repeat(15)}]})
}

#[async_trait]
impl Upstream for Reader {
    fn source(&self) -> Source {
        Source {
            id: self.0.clone(),
            provenance: Provenance::Builtin,
            trust: Trust::Vetted,
        }
    }

    async fn tools(&self) -> Result<Listing, UpstreamError> {
        let definition = json!({
            "name": "read",
            "description": "Reads a text",
            "inputSchema": {
                "type": "object",
                "properties": {"title": {"type": "string"}},
                "required": ["title"],
            },
            "annotations": {"readOnlyHint": true},
        });
        Ok(Listing {
            definitions: vec![definition.to_string()],
            truncated: false,
        })
    }

    async fn call(&self, _: ToolCall) -> Result<Value, UpstreamError> {
        Ok(result())
    }
}
