//! What is asked of the gate, and how its answer is put into the words of an era.

use std::fmt;
use std::sync::Arc;

use http::HeaderMap;
use http::StatusCode;
use serde::Deserialize;
use serde::Serialize;
use serde_json::Map;
use serde_json::Value;
use serde_json::value::RawValue;
use serde_json::value::to_raw_value;

use super::era::CLIENT_INFO;
use super::era::Era;
use super::era::SERVER_INFO;
use super::mirror;
use super::reply::Fault;
use super::reply::HttpReply;

/// A request that only the gate can answer.
///
/// Every way to answer consumes it.
#[derive(Debug, Clone)]
pub struct Ask {
    /// What is asked.
    pub what: What,
    id: Box<RawValue>,
    era: Era,
    server: Arc<Value>,
}

/// What can be asked.
#[derive(Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a host must answer each of them")]
pub enum What {
    /// A call of a tool.
    CallTool {
        /// The tool's shown name; no more is known of it than that it is a string.
        name: String,
        /// The JSON text of its arguments as it was sent, of whatever kind; empty if there are none.
        arguments: String,
        /// What else the call says of itself.
        meta: Meta,
    },
    /// The tools there are.
    ListTools {
        /// Where to go on.
        cursor: Option<String>,
    },
}

impl fmt::Debug for What {
    /// Tells the size of the arguments, not what is in them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CallTool {
                name,
                arguments,
                meta,
            } => f
                .debug_struct("CallTool")
                .field("name", name)
                .field("arguments", &format_args!("{} bytes", arguments.len()))
                .field("meta", meta)
                .finish(),
            Self::ListTools { cursor } => {
                f.debug_struct("ListTools").field("cursor", cursor).finish()
            }
        }
    }
}

/// What a call says of itself in `_meta`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Meta {
    /// `toolgate/new-request`: an earlier request of the same call is not to answer.
    pub new_request: bool,
    /// `toolgate/execution`: the run of agent code that makes the call, 1 to 128 characters.
    pub execution: Option<String>,
    /// `toolgate/occurrence`: the how-manieth identical call of that run.
    pub occurrence: u32,
    /// `progressToken`: a string or an integer, if the client wants to hear of progress.
    pub progress_token: Option<Value>,
    /// What a modern client calls itself, at most 128 characters. It is not verified.
    pub client: Option<String>,
}

impl Meta {
    /// Reads `_meta`. A wish that is not understood is refused, since to drop it would change what
    /// is asked.
    pub(super) fn read(params: &Map<String, Value>) -> Result<Self, Fault> {
        let mut read = Self::default();
        let Some(Value::Object(meta)) = params.get("_meta") else {
            return Ok(read);
        };
        match meta.get("toolgate/new-request") {
            None => {}
            Some(Value::Bool(wish)) => read.new_request = *wish,
            Some(_) => return Err(Fault::params("`toolgate/new-request` is not a boolean")),
        }
        match meta.get("toolgate/execution") {
            None => {}
            Some(Value::String(id)) if (1..=MOST_NAME).contains(&id.chars().count()) => {
                read.execution = Some(id.clone());
            }
            Some(_) => {
                let message = "`toolgate/execution` is not a string of 1 to 128 characters";
                return Err(Fault::params(message));
            }
        }
        if let Some(count) = meta.get("toolgate/occurrence") {
            let count = count.as_u64().and_then(|count| u32::try_from(count).ok());
            let message = "`toolgate/occurrence` is not an integer from 0 to 2^32-1";
            read.occurrence = count.ok_or_else(|| Fault::params(message))?;
        }
        match meta.get("progressToken") {
            None => {}
            Some(token) if token.is_string() || token.is_i64() || token.is_u64() => {
                read.progress_token = Some(token.clone());
            }
            Some(_) => {
                let message = "`progressToken` is neither a string nor an integer";
                return Err(Fault::params(message));
            }
        }
        read.client = meta
            .get(CLIENT_INFO)
            .and_then(|client| client.get("name"))
            .and_then(Value::as_str)
            .map(|name| name.chars().take(MOST_NAME).collect());
        Ok(read)
    }
}

impl Ask {
    pub(super) fn new(what: What, id: Box<RawValue>, era: Era, server: Arc<Value>) -> Self {
        Self {
            what,
            id,
            era,
            server,
        }
    }

    /// The era of the request and of its answer.
    #[must_use]
    pub fn era(&self) -> Era {
        self.era
    }

    /// Holds the `Mcp-Param-…` headers of a modern call against its arguments, for a tool that the
    /// caller has been shown under this input schema.
    ///
    /// What else is wrong with the arguments is not looked at: the gate judges them.
    ///
    /// # Errors
    /// The finished reply, if a header is missing, malformed or says something else.
    pub fn mirrored(self, input_schema: &Value, headers: &HeaderMap) -> Result<Self, HttpReply> {
        match &self.what {
            What::CallTool { arguments, .. }
                if self.era == Era::Modern && !mirror::agrees(input_schema, headers, arguments) =>
            {
                let fault = Fault::header("an Mcp-Param header does not match the arguments");
                Err(fault.reply(StatusCode::BAD_REQUEST, &self.id))
            }
            _ => Ok(self),
        }
    }

    /// Lists tools, each as it is given.
    ///
    /// Legacy clients reject a whole list for one output schema that is not of type `object`, so
    /// such a schema is left out for them.
    #[must_use]
    pub fn tools<T: Serialize>(self, tools: Vec<T>, next_cursor: Option<String>) -> HttpReply {
        let is_legacy = self.era != Era::Modern;
        let listed: Result<Vec<Box<RawValue>>, _> = tools
            .into_iter()
            .map(|tool| {
                let tool = to_raw_value(&tool)?;
                if is_legacy {
                    for_legacy(tool)
                } else {
                    Ok(tool)
                }
            })
            .collect();
        let Ok(tools) = listed else {
            return self.failed("the list of tools cannot be written");
        };
        let modern = (!is_legacy).then(|| self.own_meta(Map::new()));
        let list = ToolList {
            result_type: modern.is_some().then_some("complete"),
            ttl_ms: modern.is_some().then_some(0),
            cache_scope: modern.is_some().then_some("private"),
            tools,
            next_cursor,
            meta: modern,
        };
        HttpReply::result(&self.id, list)
    }

    /// Answers a call with its `CallToolResult`.
    ///
    /// What an upstream said of its own answer to the gate (kind, caching, server) is not said to
    /// the agent: the gate says it of its own.
    #[must_use]
    pub fn result(self, result: Value) -> HttpReply {
        let Value::Object(mut members) = result else {
            return self.failed("the result of the tool is not an object");
        };
        for of_that_hop in ["resultType", "ttlMs", "cacheScope"] {
            members.shift_remove(of_that_hop);
        }
        let mut meta = match members.shift_remove("_meta") {
            Some(Value::Object(meta)) => meta,
            _ => Map::new(),
        };
        meta.shift_remove(SERVER_INFO);
        if !members.get("content").is_some_and(Value::is_array) {
            members.insert("content".to_owned(), Value::Array(Vec::new()));
        }
        if self.era == Era::Modern {
            meta = self.own_meta(meta);
            members.shift_insert(0, "resultType".to_owned(), "complete".into());
        } else if !members
            .get("structuredContent")
            .is_none_or(Value::is_object)
        {
            members.shift_remove("structuredContent");
        }
        if !meta.is_empty() {
            members.insert("_meta".to_owned(), Value::Object(meta));
        }
        HttpReply::result(&self.id, members)
    }

    /// There is no such tool for this caller. Whether one exists is not told: the reply depends on
    /// the id alone.
    #[must_use]
    pub fn unknown_tool(self) -> HttpReply {
        Fault::UNKNOWN_TOOL.reply(StatusCode::OK, &self.id)
    }

    /// There is no such page (MCP, pagination).
    #[must_use]
    pub fn unknown_cursor(self) -> HttpReply {
        Fault::UNKNOWN_CURSOR.reply(StatusCode::OK, &self.id)
    }

    /// The gate failed. The message is the host's own and holds nothing of the request.
    #[must_use]
    pub fn failed(self, message: &'static str) -> HttpReply {
        Fault::internal(message).reply(StatusCode::OK, &self.id)
    }

    fn own_meta(&self, mut meta: Map<String, Value>) -> Map<String, Value> {
        meta.insert(SERVER_INFO.to_owned(), Value::clone(&self.server));
        meta
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolList {
    #[serde(skip_serializing_if = "Option::is_none")]
    result_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_scope: Option<&'static str>,
    tools: Vec<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Map<String, Value>>,
}

/// A tool without an output schema that legacy clients do not take. All others stay byte for byte.
fn for_legacy(tool: Box<RawValue>) -> serde_json::Result<Box<RawValue>> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Output {
        output_schema: Option<Value>,
    }

    let output: Output = serde_json::from_str(tool.get())?;
    let is_taken = output
        .output_schema
        .is_none_or(|schema| schema.get("type") == Some(&Value::from("object")));
    if is_taken {
        return Ok(tool);
    }
    let mut members: Map<String, Value> = serde_json::from_str(tool.get())?;
    members.shift_remove("outputSchema");
    to_raw_value(&members)
}

/// The longest name that a client gives itself or a run, in characters.
const MOST_NAME: usize = 128;
