//! From bytes and headers to a decision.

use std::sync::Arc;

use http::HeaderMap;
use http::HeaderName;
use http::Method;
use http::StatusCode;
use http::header;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;
use serde_json::value::RawValue;

use super::ask::Ask;
use super::ask::Meta;
use super::ask::What;
use super::era::CLIENT_CAPABILITIES;
use super::era::Era;
use super::era::LegacyVersion;
use super::era::MODERN_VERSION;
use super::era::PROTOCOL_VERSION;
use super::era::SERVER_INFO;
use super::headers;
use super::headers::Accepts;
use super::headers::Once;
use super::headers::once;
use super::message;
use super::message::Kind;
use super::message::Message;
use super::reply::Fault;
use super::reply::HttpReply;

/// The largest body unless it is said otherwise: 1 MiB.
pub const MOST_BODY: usize = 1 << 20;

/// What becomes of a request.
#[derive(Debug, Clone)]
#[expect(clippy::exhaustive_enums, reason = "a host must go on with each")]
pub enum Decoded {
    /// It is answered.
    Answer(HttpReply),
    /// The gate must answer it.
    Ask(Ask),
}

/// How the gate shows itself to clients. Made once.
#[derive(Debug, Clone)]
pub struct Face {
    server: Arc<Value>,
    instructions: String,
    most_body: usize,
}

impl Face {
    /// A server of that name and version.
    #[must_use]
    pub fn new(name: &str, version: &str) -> Self {
        Self {
            server: Arc::new(json!({"name": name, "version": version})),
            instructions: String::new(),
            most_body: MOST_BODY,
        }
    }

    /// What clients are to tell their models about the tools.
    #[must_use]
    pub fn instructions(mut self, text: &str) -> Self {
        text.clone_into(&mut self.instructions);
        self
    }

    /// The largest body that is read, in bytes.
    #[must_use]
    pub fn most_body(mut self, bytes: usize) -> Self {
        self.most_body = bytes;
        self
    }

    /// Decides on a request whose key, host and origin are good.
    ///
    /// Nothing from the request ever stands in the message of an error.
    #[must_use]
    pub fn decode(&self, method: &Method, headers: &HeaderMap, body: &[u8]) -> Decoded {
        self.decided(method, headers, body)
            .unwrap_or_else(Decoded::Answer)
    }

    /// Decides on one line of a client that speaks over standard input and output.
    ///
    /// Such a client has no headers: a modern request names its version in `_meta`, every other is
    /// legacy. The body of the reply is the line to answer with; nothing is said if it is empty.
    #[must_use]
    pub fn line(&self, line: &[u8]) -> Decoded {
        self.decided_line(line).unwrap_or_else(Decoded::Answer)
    }

    fn decided_line(&self, line: &[u8]) -> Result<Decoded, HttpReply> {
        if line.len() > self.most_body {
            let fault = Fault::request("the line is too long");
            return Err(fault.nameless(StatusCode::PAYLOAD_TOO_LARGE));
        }
        let message = message::read(line).map_err(|malformed| {
            let id = malformed.id.as_deref().unwrap_or(RawValue::NULL);
            malformed.fault.reply(StatusCode::BAD_REQUEST, id)
        })?;
        let Kind::Request { id, method } = &message.kind else {
            return Ok(Decoded::Answer(HttpReply::accepted()));
        };
        let (id, method) = (id.clone(), method.clone());
        let request = Request {
            id,
            method,
            message,
        };
        match era(Once::Absent, &request.message.params, &request.id)? {
            Era::Modern if !capabilities(&request.message.params) => Err(request.fail(
                StatusCode::BAD_REQUEST,
                Fault::params("`_meta` names no client capabilities"),
            )),
            Era::Modern => self.modern(request),
            Era::Legacy(version) => self.legacy(request, version),
        }
    }

    fn decided(
        &self,
        method: &Method,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<Decoded, HttpReply> {
        if method != Method::POST {
            let fault = Fault::request("only POST is served");
            let reply = fault.nameless(StatusCode::METHOD_NOT_ALLOWED);
            return Err(reply.with(header::ALLOW, "POST"));
        }
        if body.len() > self.most_body {
            let fault = Fault::request("the body is too large");
            return Err(fault.nameless(StatusCode::PAYLOAD_TOO_LARGE));
        }
        headers::content_type(headers)?;
        let accepts = headers::accepts(headers);
        if accepts == Accepts::Other {
            return Err(not_acceptable(RawValue::NULL));
        }
        let message = message::read(body).map_err(|malformed| {
            let id = malformed.id.as_deref().unwrap_or(RawValue::NULL);
            malformed.fault.reply(StatusCode::BAD_REQUEST, id)
        })?;
        let (id, method) = match &message.kind {
            Kind::Request { id, method } => (id.clone(), method.clone()),
            Kind::Notification { method } => {
                announced(headers, method, &message.params)?;
                return Ok(Decoded::Answer(HttpReply::accepted()));
            }
            Kind::Response => {
                answered(headers)?;
                return Ok(Decoded::Answer(HttpReply::accepted()));
            }
        };
        let request = Request {
            id,
            method,
            message,
        };
        match request.era(headers)? {
            Era::Modern if accepts == Accepts::Unsaid => Err(not_acceptable(&request.id)),
            Era::Modern => {
                request.check_mirrors(headers)?;
                self.modern(request)
            }
            Era::Legacy(version) => self.legacy(request, version),
        }
    }

    fn modern(&self, request: Request) -> Result<Decoded, HttpReply> {
        match request.method.as_str() {
            "server/discover" => {
                let mut result = Map::new();
                result.insert("resultType".to_owned(), "complete".into());
                result.insert("supportedVersions".to_owned(), json!([MODERN_VERSION]));
                result.insert("capabilities".to_owned(), json!({"tools": {}}));
                self.instruct(&mut result);
                result.insert("ttlMs".to_owned(), 0.into());
                result.insert("cacheScope".to_owned(), "private".into());
                let meta = json!({SERVER_INFO: *self.server});
                result.insert("_meta".to_owned(), meta);
                Ok(Decoded::Answer(HttpReply::result(&request.id, result)))
            }
            "tools/list" | "tools/call" => self.ask(request, Era::Modern),
            _ => Err(request.fail(StatusCode::NOT_FOUND, Fault::METHOD_NOT_FOUND)),
        }
    }

    fn legacy(&self, request: Request, version: LegacyVersion) -> Result<Decoded, HttpReply> {
        match request.method.as_str() {
            "initialize" => {
                let Some(Value::String(asked)) = request.message.params.get("protocolVersion")
                else {
                    let fault = Fault::params("`protocolVersion` is not a string");
                    return Err(request.fail(StatusCode::OK, fault));
                };
                let agreed = LegacyVersion::named(asked).unwrap_or(LegacyVersion::NEWEST);
                let mut result = Map::new();
                result.insert("protocolVersion".to_owned(), agreed.as_str().into());
                result.insert("capabilities".to_owned(), json!({"tools": {}}));
                result.insert("serverInfo".to_owned(), Value::clone(&self.server));
                self.instruct(&mut result);
                Ok(Decoded::Answer(HttpReply::result(&request.id, result)))
            }
            "ping" => Ok(Decoded::Answer(HttpReply::result(&request.id, json!({})))),
            "tools/list" | "tools/call" => self.ask(request, Era::Legacy(version)),
            _ => Err(request.fail(StatusCode::OK, Fault::METHOD_NOT_FOUND)),
        }
    }

    fn instruct(&self, result: &mut Map<String, Value>) {
        if !self.instructions.is_empty() {
            result.insert("instructions".to_owned(), self.instructions.clone().into());
        }
    }

    fn ask(&self, request: Request, era: Era) -> Result<Decoded, HttpReply> {
        let status = match era {
            Era::Legacy(_) => StatusCode::OK,
            Era::Modern => StatusCode::BAD_REQUEST,
        };
        match what(&request) {
            Err(fault) => Err(request.fail(status, fault)),
            Ok(what) => {
                let ask = Ask::new(what, request.id, era, Arc::clone(&self.server));
                Ok(Decoded::Ask(ask))
            }
        }
    }
}

fn what(request: &Request) -> Result<What, Fault> {
    let params = &request.message.params;
    if request.method == "tools/list" {
        return match params.get("cursor") {
            None => Ok(What::ListTools { cursor: None }),
            Some(Value::String(cursor)) => Ok(What::ListTools {
                cursor: Some(cursor.clone()),
            }),
            Some(_) => Err(Fault::params("`cursor` is not a string")),
        };
    }
    let Some(Value::String(name)) = params.get("name") else {
        return Err(Fault::params("`name` is not a string"));
    };
    Ok(What::CallTool {
        name: name.clone(),
        arguments: request.message.arguments.clone(),
        meta: Meta::read(params)?,
    })
}

/// A message that wants an answer.
struct Request {
    id: Box<RawValue>,
    method: String,
    message: Message,
}

impl Request {
    fn fail(&self, status: StatusCode, fault: Fault) -> HttpReply {
        fault.reply(status, &self.id)
    }

    /// The era that it names for itself.
    fn era(&self, headers: &HeaderMap) -> Result<Era, HttpReply> {
        let params = &self.message.params;
        let said = once(headers, &VERSION_HEADER);
        let era = era(said, params, &self.id)?;
        let bad = |fault| Err(self.fail(StatusCode::BAD_REQUEST, fault));
        match (era, claimed(params)) {
            (Era::Legacy(_), _) => Ok(era),
            (Era::Modern, None) if self.method == "initialize" => bad(Fault::header(
                "`initialize` is not of the version in MCP-Protocol-Version",
            )),
            (Era::Modern, None) => bad(Fault::params("`_meta` names no protocol version")),
            (Era::Modern, Some(_)) if !capabilities(params) => {
                bad(Fault::params("`_meta` names no client capabilities"))
            }
            (Era::Modern, Some(_)) if said == Once::Absent => {
                bad(Fault::header("the MCP-Protocol-Version header is missing"))
            }
            (Era::Modern, Some(_)) => Ok(era),
        }
    }

    /// Holds the headers that mirror a modern request against it.
    fn check_mirrors(&self, headers: &HeaderMap) -> Result<(), HttpReply> {
        let bad = |message| Err(self.fail(StatusCode::BAD_REQUEST, Fault::header(message)));
        match once(headers, &METHOD_HEADER) {
            Once::Is(method) if method == self.method => {}
            Once::Is(_) => return bad("the Mcp-Method header does not match the method"),
            Once::Absent => return bad("the Mcp-Method header is missing"),
            Once::Malformed => return bad("the Mcp-Method header is malformed"),
        }
        let (true, Some(Value::String(name))) =
            (self.method == "tools/call", self.message.params.get("name"))
        else {
            return Ok(());
        };
        match once(headers, &NAME_HEADER) {
            Once::Is(value) => match headers::mirrored(value) {
                Some(said) if said == *name => Ok(()),
                Some(_) => bad("the Mcp-Name header does not match the name"),
                None => bad("the Mcp-Name header is malformed"),
            },
            Once::Absent => bad("the Mcp-Name header is missing"),
            Once::Malformed => bad("the Mcp-Name header is malformed"),
        }
    }
}

/// The era that header and `_meta` name together. What a request needs beyond that is its own check.
fn era(said: Once<'_>, params: &Map<String, Value>, id: &RawValue) -> Result<Era, HttpReply> {
    let bad = |fault: Fault| Err(fault.reply(StatusCode::BAD_REQUEST, id));
    if !params.get("_meta").is_none_or(Value::is_object) {
        return bad(Fault::params("`_meta` is not an object"));
    }
    if said == Once::Malformed {
        return bad(Fault::header(
            "the MCP-Protocol-Version header is malformed",
        ));
    }
    match (claimed(params), said) {
        (Some(Value::String(claimed)), Once::Is(said)) if claimed != said => {
            let message = "the MCP-Protocol-Version header does not match `_meta`";
            bad(Fault::header(message))
        }
        (Some(Value::String(claimed)), _) if claimed == MODERN_VERSION => Ok(Era::Modern),
        (Some(Value::String(claimed)), _) => Err(unsupported(claimed, id)),
        (Some(_), _) => bad(Fault::params(
            "the protocol version in `_meta` is not a string",
        )),
        (None, Once::Is(MODERN_VERSION)) => Ok(Era::Modern),
        (None, Once::Is(said)) => LegacyVersion::named(said)
            .map(Era::Legacy)
            .ok_or_else(|| unsupported(said, id)),
        (None, _) => Ok(Era::Legacy(LegacyVersion::UNSAID)),
    }
}

/// Refuses a notification whose headers say something else. All others are accepted and do nothing.
fn announced(
    headers: &HeaderMap,
    method: &str,
    params: &Map<String, Value>,
) -> Result<(), HttpReply> {
    let era = era(once(headers, &VERSION_HEADER), params, RawValue::NULL)?;
    match once(headers, &METHOD_HEADER) {
        Once::Is(said) if said == method => Ok(()),
        Once::Absent => Ok(()),
        _ if era != Era::Modern => Ok(()),
        _ => Err(
            Fault::header("the Mcp-Method header does not match the method")
                .nameless(StatusCode::BAD_REQUEST),
        ),
    }
}

/// Refuses a posted response where there is none to send.
fn answered(headers: &HeaderMap) -> Result<(), HttpReply> {
    match era(once(headers, &VERSION_HEADER), &Map::new(), RawValue::NULL)? {
        Era::Legacy(_) => Ok(()),
        Era::Modern => {
            Err(Fault::request("responses are not posted").nameless(StatusCode::BAD_REQUEST))
        }
    }
}

fn claimed(params: &Map<String, Value>) -> Option<&Value> {
    params.get("_meta")?.get(PROTOCOL_VERSION)
}

fn capabilities(params: &Map<String, Value>) -> bool {
    params
        .get("_meta")
        .and_then(|meta| meta.get(CLIENT_CAPABILITIES))
        .is_some_and(Value::is_object)
}

fn unsupported(requested: &str, id: &RawValue) -> HttpReply {
    let requested: String = requested.chars().take(MOST_VERSION).collect();
    let data = json!({"requested": requested, "supported": [MODERN_VERSION]});
    Fault::UNSUPPORTED_VERSION.reply_with(StatusCode::BAD_REQUEST, id, Some(data))
}

fn not_acceptable(id: &RawValue) -> HttpReply {
    let message = "the client must accept application/json";
    Fault::request(message).reply(StatusCode::NOT_ACCEPTABLE, id)
}

/// The longest version that is told back, in characters.
const MOST_VERSION: usize = 64;

const VERSION_HEADER: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD_HEADER: HeaderName = HeaderName::from_static("mcp-method");
const NAME_HEADER: HeaderName = HeaderName::from_static("mcp-name");
