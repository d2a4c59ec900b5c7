//! The tools that the runner calls by name, as an `rmcp` server.

use rmcp::ErrorData;
use rmcp::RoleServer;
use rmcp::ServerHandler;
use rmcp::model::CallToolRequestParams;
use rmcp::model::CallToolResponse;
use rmcp::model::CallToolResult;
use rmcp::model::InputRequiredResult;
use rmcp::model::ListToolsResult;
use rmcp::model::PaginatedRequestParams;
use rmcp::model::ServerCapabilities;
use rmcp::model::ServerConfig;
use rmcp::model::Tool;
use rmcp::service::Peer;
use rmcp::service::RequestContext;
use serde_json::Value;
use serde_json::json;

/// A picture of one dot.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==";
/// Sound that lasts no time.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

/// The reference server, as far as it is tools.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reference;

impl ServerHandler for Reference {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(definitions()?))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let result = match request.name.as_ref() {
            "test_streaming_elicitation" => {
                return serde_json::from_value::<InputRequiredResult>(question())
                    .map(CallToolResponse::from)
                    .map_err(unreadable);
            }
            "test_logging_tool" => said(&log(&context.peer).await),
            name => fixed(name).ok_or_else(|| ErrorData::invalid_params("no such tool", None))?,
        };
        let result: CallToolResult = serde_json::from_value(result).map_err(unreadable)?;
        Ok(result.into())
    }
}

/// What a tool answers that says the same each time.
fn fixed(name: &str) -> Option<Value> {
    let image = json!({"type": "image", "data": PNG, "mimeType": "image/png"});
    let content = match name {
        "test_simple_text" => json!([text("a plain text")]),
        "test_image_content" => json!([image]),
        "test_audio_content" => {
            json!([{"type": "audio", "data": WAV, "mimeType": "audio/wav"}])
        }
        "test_embedded_resource" => {
            json!([resource(
                "test://embedded-resource",
                "text/plain",
                "what it holds"
            )])
        }
        "test_multiple_content_types" => {
            let held = resource("test://mixed", "application/json", r#"{"value": 123}"#);
            json!([text("a text, an image and a resource"), image, held])
        }
        "json_schema_2020_12_tool" | "test_mirrored_header" => json!([text("done")]),
        "test_error_handling" => {
            return Some(json!({"content": [text("it failed, as it does each time")],
                "isError": true}));
        }
        _ => return None,
    };
    Some(json!({"content": content}))
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn resource(uri: &str, kind: &str, text: &str) -> Value {
    json!({"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": text}})
}

fn said(what: &str) -> Value {
    json!({"content": [text(what)]})
}

/// What a tool asks of whoever calls it, before it answers.
fn question() -> Value {
    json!({"resultType": "input_required", "inputRequests": {"name": {
        "method": "elicitation/create", "params": {"mode": "form", "message": "a name",
            "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}}}}})
}

/// Says something on the way.
#[expect(
    deprecated,
    reason = "servers still do, and the runner looks whether it gets through"
)]
async fn log(peer: &Peer<RoleServer>) -> String {
    use rmcp::model::LoggingLevel;
    use rmcp::model::LoggingMessageNotificationParam;

    let line = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!("under way"));
    match peer.notify_logging_message(line).await {
        Ok(()) => "said".to_owned(),
        Err(_) => "not said".to_owned(),
    }
}

fn unreadable(_: serde_json::Error) -> ErrorData {
    ErrorData::internal_error("a fixture is not in its form", None)
}

fn definitions() -> Result<Vec<Tool>, ErrorData> {
    let plain = [
        "test_simple_text",
        "test_image_content",
        "test_audio_content",
        "test_embedded_resource",
        "test_multiple_content_types",
        "test_error_handling",
        "test_streaming_elicitation",
        "test_logging_tool",
    ];
    let nothing = json!({"type": "object", "properties": {}});
    let plain = plain.map(|name| definition(name, &nothing));
    let schemas = [
        definition("json_schema_2020_12_tool", &every_keyword()),
        definition("test_mirrored_header", &mirrored()),
    ];
    plain
        .into_iter()
        .chain(schemas)
        .map(|tool| serde_json::from_value(tool).map_err(unreadable))
        .collect()
}

fn definition(name: &str, schema: &Value) -> Value {
    json!({"name": name, "description": "Answers as the runner wants it", "inputSchema": schema,
        "annotations": {"readOnlyHint": true}})
}

/// The keywords of JSON Schema that a list has to keep (SEP-1613, SEP-2106).
fn every_keyword() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {
            "street": {"type": "string"}, "city": {"type": "string"}}}},
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    })
}

/// An argument that a client repeats in a header (SEP-2243).
fn mirrored() -> Value {
    json!({"type": "object", "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"}}, "required": ["region"]})
}
