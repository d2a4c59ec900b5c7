use std::sync::OnceLock;

use http::HeaderMap;
use http::HeaderValue;
use http::Method;
use serde::Deserialize;
use serde_json::Value;
use serde_json::json;
use serde_json::value::RawValue;
use toolgate_mcp::wire::Ask;
use toolgate_mcp::wire::Decoded;
use toolgate_mcp::wire::Era;
use toolgate_mcp::wire::Face;
use toolgate_mcp::wire::HttpReply;
use toolgate_mcp::wire::MODERN_VERSION;
use toolgate_mcp::wire::What;

use crate::support;

/// Requests: headers up to an empty line if there is one, then a body. The gate is asked for what
/// any reader finds in the body, under the same id; everything else gets a finished reply.
///
/// The body is also tried with the headers that each era wants, and as a line without headers.
pub fn decode(data: &[u8]) {
    let gap = data.windows(2).position(|pair| pair == b"\n\n");
    let (block, body) = match gap {
        Some(at) => (&data[..at], &data[at + 2..]),
        None => (&b""[..], data),
    };
    let sent = support::header_map(block);
    let given = face().decode(&Method::POST, &sent, body);
    judged(given, body, Some(&sent));
    let legacy = wanted(None);
    judged(
        face().decode(&Method::POST, &legacy, body),
        body,
        Some(&legacy),
    );
    if let Some(read) = Read::of(body) {
        let modern = wanted(Some(&read));
        judged(
            face().decode(&Method::POST, &modern, body),
            body,
            Some(&modern),
        );
    }
    judged(face().line(body), body, None);
    if let Decoded::Ask(_) = face().decode(&Method::GET, &sent, body) {
        panic!("only POST is served");
    }
}

fn face() -> &'static Face {
    static FACE: OnceLock<Face> = OnceLock::new();
    FACE.get_or_init(|| Face::new("toolgate", "0").instructions("A gate."))
}

/// What a request of the modern era is held against, or a plain one.
fn wanted(modern: Option<&Read<'_>>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let mut set = |name: &'static str, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    };
    set("content-type", "application/json");
    set("accept", "application/json, text/event-stream");
    if let Some(read) = modern {
        set("mcp-protocol-version", MODERN_VERSION);
        set("mcp-method", &read.method);
        set("mcp-name", read.name().unwrap_or_default());
    }
    headers
}

fn judged(decoded: Decoded, body: &[u8], headers: Option<&HeaderMap>) {
    match decoded {
        Decoded::Answer(reply) => finished(&reply, None),
        Decoded::Ask(ask) => asked(ask, body, headers),
    }
}

fn asked(ask: Ask, body: &[u8], headers: Option<&HeaderMap>) {
    let read = Read::of(body).expect("what is asked is a message");
    let id = read.id.expect("what is asked has an id").get();
    match &ask.what {
        What::CallTool {
            name, arguments, ..
        } => {
            assert_eq!(read.method, "tools/call");
            assert_eq!(Some(name.as_str()), read.name());
            let raw = read.params.as_ref().and_then(|params| params.arguments);
            assert_eq!(
                arguments,
                raw.map_or("", RawValue::get),
                "they stay as they were sent"
            );
        }
        What::ListTools { cursor } => {
            assert_eq!(read.method, "tools/list");
            let raw = read
                .params
                .as_ref()
                .and_then(|params| params.cursor.as_ref());
            assert_eq!(
                cursor.as_ref().map(|it| Value::from(it.as_str())).as_ref(),
                raw
            );
        }
    }
    if let (Era::Modern, Some(headers)) = (ask.era(), headers) {
        let said = |name| support::single(headers, name);
        assert_eq!(said("mcp-protocol-version"), Some(MODERN_VERSION));
        assert_eq!(said("mcp-method"), Some(read.method.as_str()));
        if read.method == "tools/call" {
            let name = said("mcp-name").expect("a call names its tool");
            assert!(name.starts_with("=?base64?") || Some(name) == read.name());
        }
    }
    finished(&ask.clone().result(json!({"content": []})), Some(id));
    finished(&ask.clone().unknown_tool(), Some(id));
    finished(
        &ask.clone().tools(vec![json!({"name": "t"})], None),
        Some(id),
    );
    let schema = json!({"properties": {"a": {"x-mcp-header": "A"}}});
    if let Err(reply) = ask.mirrored(&schema, headers.unwrap_or(&HeaderMap::new())) {
        finished(&reply, Some(id));
    }
}

/// A reply is one message of JSON-RPC under the id of the request.
fn finished(reply: &HttpReply, id: Option<&str>) {
    assert!(!reply.status.is_server_error(), "{}", reply.status);
    if reply.body.is_empty() {
        assert!(id.is_none() && reply.status == 202);
        return;
    }
    let text = std::str::from_utf8(&reply.body).expect("a reply is text");
    let whole: Reply<'_> = serde_json::from_str(text).expect("a reply is JSON");
    assert_eq!(whole.jsonrpc, "2.0");
    assert!(whole.result.is_some() != whole.error.is_some());
    assert_eq!(id.unwrap_or(whole.id.get()), whole.id.get());
    let is_short = whole.error.is_none_or(|error| error.get().len() < 512 * 4);
    assert!(is_short, "an error repeats little");
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reply<'t> {
    jsonrpc: &'t str,
    #[serde(borrow)]
    id: &'t RawValue,
    #[serde(borrow)]
    result: Option<&'t RawValue>,
    #[serde(borrow)]
    error: Option<&'t RawValue>,
}

/// A message as another reader takes it.
#[derive(Deserialize)]
struct Read<'t> {
    #[serde(borrow)]
    id: Option<&'t RawValue>,
    method: String,
    #[serde(borrow)]
    params: Option<Params<'t>>,
}

#[derive(Deserialize)]
struct Params<'t> {
    name: Option<Value>,
    cursor: Option<Value>,
    #[serde(borrow)]
    arguments: Option<&'t RawValue>,
}

impl<'t> Read<'t> {
    fn of(body: &'t [u8]) -> Option<Self> {
        let text = std::str::from_utf8(body).ok()?;
        serde_json::from_str(text).ok()
    }

    fn name(&self) -> Option<&str> {
        self.params.as_ref()?.name.as_ref()?.as_str()
    }
}
