//! Whatever comes in, what goes out is well formed.

use http::HeaderMap;
use http::HeaderName;
use http::HeaderValue;
use http::Method;
use http::Uri;
use proptest::prelude::*;
use serde_json::Value;
use serde_json::json;
use toolgate_mcp::wire::Decoded;
use toolgate_mcp::wire::HostRules;
use toolgate_mcp::wire::HttpReply;
use toolgate_mcp::wire::bearer;

use super::face;

/// A reply is empty, or one JSON-RPC answer that says so in its headers.
fn well_formed(reply: &HttpReply) -> Result<(), TestCaseError> {
    if reply.body.is_empty() {
        prop_assert_eq!(reply.status.as_u16(), 202);
        return Ok(());
    }
    let body: Value = serde_json::from_slice(&reply.body).unwrap();
    prop_assert_eq!(&body["jsonrpc"], "2.0");
    let id = &body["id"];
    prop_assert!(id.is_string() || id.is_number() || id.is_null());
    match (body.get("result"), body.get("error")) {
        (Some(result), None) => {
            prop_assert!(result.is_object());
            prop_assert!(!id.is_null());
            prop_assert_eq!(reply.status.as_u16(), 200);
        }
        (None, Some(error)) => {
            prop_assert!(error["code"].is_i64());
            prop_assert!(error["message"].is_string());
        }
        _ => prop_assert!(false, "{}", body),
    }
    prop_assert_eq!(
        super::header(reply, "content-type"),
        Some("application/json")
    );
    Ok(())
}

fn any_headers() -> impl Strategy<Value = HeaderMap> {
    let name = prop::sample::select(vec![
        "content-type",
        "accept",
        "mcp-protocol-version",
        "mcp-method",
        "mcp-name",
        "mcp-param-x",
        "authorization",
        "host",
        "origin",
    ]);
    let value = prop_oneof![
        prop::sample::select(vec![
            "application/json",
            "*/*",
            "2026-07-28",
            "2025-11-25",
            "tools/call",
            "tools/list",
            "=?base64?dA==?=",
            "t",
            "localhost",
            "http://localhost",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 0..20),
    ];
    prop::collection::vec((name, value), 0..8).prop_map(|pairs| {
        let mut map = HeaderMap::new();
        map.insert("content-type", HeaderValue::from_static("application/json"));
        for (name, value) in pairs {
            if let Ok(value) = HeaderValue::from_bytes(&value) {
                map.append(HeaderName::from_static(name), value);
            }
        }
        map
    })
}

/// Bytes, JSON, and things that come close to a message.
fn any_body() -> impl Strategy<Value = Vec<u8>> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("1".to_owned()),
        Just("1e400".to_owned()),
        Just("{}".to_owned()),
        Just(r#""2.0""#.to_owned()),
        Just(r#""t""#.to_owned()),
        Just(r#""tools/call""#.to_owned()),
        Just(r#""tools/list""#.to_owned()),
        Just(r#""initialize""#.to_owned()),
        Just(r#""server/discover""#.to_owned()),
        Just(r#""2026-07-28""#.to_owned()),
        Just(r#""\ud800""#.to_owned()),
        any::<String>().prop_map(|text| json!(text).to_string()),
    ];
    let key = prop::sample::select(vec![
        r#""jsonrpc""#,
        r#""id""#,
        r#""method""#,
        r#""params""#,
        r#""arguments""#,
        r#""name""#,
        r#""_meta""#,
        r#""result""#,
        r#""io.modelcontextprotocol/protocolVersion""#,
        r#""io.modelcontextprotocol/clientCapabilities""#,
        r#""x\u0000""#,
    ]);
    let near = leaf.prop_recursive(4, 40, 6, move |inner| {
        prop::collection::vec((key.clone(), inner), 0..6).prop_map(|members| {
            let members: Vec<_> = members.iter().map(|(k, v)| format!("{k}:{v}")).collect();
            format!("{{{}}}", members.join(","))
        })
    });
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..60),
        near.clone().prop_map(String::into_bytes),
        near.prop_map(|params| {
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#)
                .into_bytes()
        }),
    ]
}

proptest! {
    // spec: F27
    #[test]
    fn every_reply_is_well_formed(headers in any_headers(), body in any_body()) {
        match face().decode(&Method::POST, &headers, &body) {
            Decoded::Answer(reply) => well_formed(&reply)?,
            Decoded::Ask(ask) => {
                well_formed(&ask.clone().tools(vec![json!({"name": "t"})], None))?;
                well_formed(&ask.clone().result(json!({"content": []})))?;
                well_formed(&ask.clone().unknown_tool())?;
                let schema = json!({"properties": {"x": {"x-mcp-header": "X"}}});
                if let Err(reply) = ask.mirrored(&schema, &headers) {
                    well_formed(&reply)?;
                }
            }
        }
    }

    // spec: F27
    #[test]
    fn cut_and_changed_messages_are_answered(cut in 0_usize..300, at in 0_usize..300, byte in any::<u8>()) {
        let mut body = json!({
            "jsonrpc": "2.0", "id": "é", "method": "tools/call",
            "params": {"name": "t", "arguments": {"a": ["é", 1.5]}, "_meta": super::modern_meta()},
        }).to_string().into_bytes();
        if let Some(old) = body.get_mut(at) {
            *old = byte;
        }
        body.truncate(cut);
        let headers = super::headers(&super::PLAIN);
        if let Decoded::Answer(reply) = face().decode(&Method::POST, &headers, &body) {
            well_formed(&reply)?;
        }
    }

    // spec: F30
    #[test]
    fn any_headers_are_judged(headers in any_headers()) {
        if let Err(reply) = HostRules::loopback().check(&Uri::default(), &headers) {
            prop_assert_eq!(reply.status.as_u16(), 403);
            well_formed(&reply)?;
        }
        if let Err(reply) = bearer(&headers) {
            prop_assert_eq!(reply.status.as_u16(), 401);
        }
    }
}
