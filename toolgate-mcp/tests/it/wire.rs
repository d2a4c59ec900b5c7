//! JSON-RPC and both eras: bytes and headers in, bytes out.

mod anything;
mod hosts;
mod legacy;
mod modern;
mod strict;

use http::HeaderMap;
use http::HeaderName;
use http::HeaderValue;
use http::Method;
use serde_json::Value;
use serde_json::json;
use toolgate_mcp::wire::Ask;
use toolgate_mcp::wire::Decoded;
use toolgate_mcp::wire::Face;
use toolgate_mcp::wire::HttpReply;

/// Headers that every client sends.
const PLAIN: [(&str, &str); 2] = [
    ("content-type", "application/json"),
    ("accept", "application/json, text/event-stream"),
];

fn face() -> Face {
    Face::new("toolgate", "1.2.3")
}

fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in pairs {
        map.append(
            HeaderName::try_from(*name).unwrap(),
            HeaderValue::try_from(*value).unwrap(),
        );
    }
    map
}

/// Posts a body with the headers that every client sends and some more.
fn post(more: &[(&str, &str)], body: &str) -> Decoded {
    let pairs: Vec<_> = PLAIN.iter().chain(more).copied().collect();
    face().decode(&Method::POST, &headers(&pairs), body.as_bytes())
}

fn answer(decoded: Decoded) -> HttpReply {
    match decoded {
        Decoded::Answer(reply) => reply,
        Decoded::Ask(ask) => panic!("the gate is asked for {:?}", ask.what),
    }
}

fn ask(decoded: Decoded) -> Ask {
    match decoded {
        Decoded::Ask(ask) => ask,
        Decoded::Answer(reply) => panic!("answered at once: {:?}", text(&reply)),
    }
}

fn text(reply: &HttpReply) -> &str {
    std::str::from_utf8(&reply.body).unwrap()
}

fn body(reply: &HttpReply) -> Value {
    serde_json::from_slice(&reply.body).unwrap()
}

fn header<'r>(reply: &'r HttpReply, name: &str) -> Option<&'r str> {
    let mut values = reply.headers.iter().filter(|(is, _)| is == name);
    let value = values.next().map(|(_, value)| value.to_str().unwrap());
    assert!(values.next().is_none(), "{name} stands twice");
    value
}

/// Status and code of an error, which must carry the id.
fn fault(reply: &HttpReply, id: &Value) -> (u16, i64) {
    let body = body(reply);
    assert_eq!(body["jsonrpc"], "2.0");
    assert_eq!(&body["id"], id, "{body}");
    assert!(body.get("result").is_none(), "{body}");
    assert!(body["error"]["message"].is_string(), "{body}");
    (
        reply.status.as_u16(),
        body["error"]["code"].as_i64().unwrap(),
    )
}

/// The `_meta` of a modern request.
fn modern_meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "v2", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// A modern request with the headers that belong to it.
fn modern(method: &str, mut params: Value) -> Decoded {
    let name = params["name"].as_str().map(str::to_owned);
    params["_meta"] = modern_meta();
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let mut more = vec![
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", method),
    ];
    more.extend(name.as_deref().map(|name| ("mcp-name", name)));
    post(&more, &request.to_string())
}

/// A legacy request.
fn legacy(method: &str, params: &Value) -> Decoded {
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    post(&[], &request.to_string())
}
