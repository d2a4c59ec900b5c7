//! The era that opens with `initialize`.

use http::Method;
use serde_json::Value;
use serde_json::json;
use serde_json::value::RawValue;
use toolgate_mcp::wire::Era;
use toolgate_mcp::wire::LegacyVersion;
use toolgate_mcp::wire::Meta;
use toolgate_mcp::wire::What;

use super::PLAIN;
use super::answer;
use super::ask;
use super::body;
use super::face;
use super::fault;
use super::header;
use super::headers;
use super::legacy;
use super::post;
use super::text;

// spec: MT-03
#[test]
fn a_session_of_a_client_is_served_without_a_session() {
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
    let reply = answer(post(&[], hello));
    assert_eq!(reply.status, 200);
    assert_eq!(header(&reply, "content-type"), Some("application/json"));
    assert_eq!(header(&reply, "mcp-session-id"), None);
    assert_eq!(
        text(&reply),
        r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"toolgate","version":"1.2.3"}}}"#
    );

    let version = [("mcp-protocol-version", "2025-11-25")];
    let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let reply = answer(post(&version, ready));
    assert_eq!((reply.status.as_u16(), text(&reply)), (202, ""));

    let list = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
    let list = ask(post(&version, list));
    assert_eq!(list.era(), Era::Legacy(LegacyVersion::V2025_11_25));
    assert_eq!(list.what, What::ListTools { cursor: None });
    let tool = json!({"name": "t", "inputSchema": {"type": "object"}});
    assert_eq!(
        text(&list.tools(vec![tool], Some("next".to_owned()))),
        r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}],"nextCursor":"next"}}"#
    );

    let call = r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"test_simple_text","arguments":{}}}"#;
    let call = ask(post(&version, call));
    let asked = What::CallTool {
        name: "test_simple_text".to_owned(),
        arguments: "{}".to_owned(),
        meta: Meta::default(),
    };
    assert_eq!(call.what, asked);
    let result = json!({"content": [{"type": "text", "text": "x"}], "isError": false});
    assert_eq!(
        text(&call.result(result)),
        r#"{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"x"}],"isError":false}}"#
    );
}

// spec: MT-03
#[test]
fn the_version_that_a_client_asks_for_is_agreed_or_the_newest() {
    let cases = [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1900-01-01", "2025-11-25"),
    ];
    for (asked, agreed) in cases {
        let reply = answer(legacy("initialize", &json!({"protocolVersion": asked})));
        assert_eq!(body(&reply)["result"]["protocolVersion"], agreed, "{asked}");
    }
}

// spec: MT-03
#[test]
fn every_legacy_request_is_answered_by_its_method() {
    assert_eq!(
        text(&answer(legacy("ping", &json!({})))),
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#
    );
    let faults = [
        ("initialize", json!({}), -32602),
        ("initialize", json!({"protocolVersion": 1}), -32602),
        ("tools/list", json!({"cursor": 1}), -32602),
        ("tools/call", json!({}), -32602),
        ("tools/call", json!({"name": null}), -32602),
        ("tools/call", json!({"Name": "t"}), -32602),
        ("server/discover", json!({}), -32601),
        ("resources/list", json!({}), -32601),
        ("logging/setLevel", json!({}), -32601),
        ("notifications/initialized", json!({}), -32601),
        ("TOOLS/LIST", json!({}), -32601),
        ("", json!({}), -32601),
    ];
    for (method, params, code) in faults {
        let reply = answer(legacy(method, &params));
        assert_eq!(fault(&reply, &json!(1)), (200, code), "{method} {params}");
    }
}

// spec: MT-03
#[test]
fn the_version_header_must_be_known_if_it_is_there() {
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    assert_eq!(
        ask(post(&[], list)).era(),
        Era::Legacy(LegacyVersion::UNSAID)
    );
    for (name, version) in [
        ("2024-11-05", LegacyVersion::V2024_11_05),
        ("2025-06-18", LegacyVersion::V2025_06_18),
    ] {
        let ask = ask(post(&[("mcp-protocol-version", name)], list));
        assert_eq!(ask.era(), Era::Legacy(version));
    }
    let unknown = [("mcp-protocol-version", "2025-12-01")];
    let reply = answer(post(&unknown, list));
    assert_eq!(fault(&reply, &json!(1)), (400, -32022));
    let twice = [
        ("mcp-protocol-version", "2025-11-25"),
        ("mcp-protocol-version", "2025-11-25"),
    ];
    assert_eq!(fault(&answer(post(&twice, list)), &json!(1)), (400, -32020));
    let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let reply = answer(post(&unknown, ready));
    assert_eq!(fault(&reply, &Value::Null), (400, -32022));
}

// spec: MT-03
#[test]
fn what_wants_no_answer_gets_none() {
    let silent = [
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
        // A call without an id is a notification, and none that means anything.
        r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"t","arguments":{}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}"#,
    ];
    for message in silent {
        let reply = answer(post(&[], message));
        assert_eq!(
            (reply.status.as_u16(), text(&reply)),
            (202, ""),
            "{message}"
        );
        assert!(reply.headers.is_empty());
    }
}

// spec: MT-03
#[test]
fn only_post_is_served() {
    for method in [Method::GET, Method::DELETE, Method::PUT, Method::OPTIONS] {
        let reply = answer(face().decode(&method, &headers(&PLAIN), b""));
        assert_eq!(reply.status, 405, "{method}");
        assert_eq!(header(&reply, "allow"), Some("POST"));
    }
}

// spec: MT-03
#[test]
fn results_hold_what_legacy_clients_take() {
    let call = || ask(legacy("tools/call", &json!({"name": "t"})));
    let cases = [
        // Nothing of the modern era, and nothing that another hop said of itself.
        (
            json!({"resultType": "complete", "content": [], "ttlMs": 5, "cacheScope": "public",
                   "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "u"}}}),
            r#"{"content":[]}"#,
        ),
        // Fields that are not known pass, in their order.
        (
            json!({"z": 1, "content": [{"type": "x", "b": 1, "a": 2}], "_meta": {"k": 1}}),
            r#"{"z":1,"content":[{"type":"x","b":1,"a":2}],"_meta":{"k":1}}"#,
        ),
        (
            json!({"content": [], "structuredContent": {"n": 1}}),
            r#"{"content":[],"structuredContent":{"n":1}}"#,
        ),
        (
            json!({"content": [], "structuredContent": [1]}),
            r#"{"content":[]}"#,
        ),
        (
            json!({"content": [], "structuredContent": null}),
            r#"{"content":[]}"#,
        ),
        (json!({"isError": true}), r#"{"isError":true,"content":[]}"#),
    ];
    for (result, want) in cases {
        let reply = call().result(result);
        assert_eq!(
            text(&reply),
            format!(r#"{{"jsonrpc":"2.0","id":1,"result":{want}}}"#)
        );
    }
    let reply = call().result(json!("text"));
    assert_eq!(fault(&reply, &json!(1)), (200, -32603));
    let reply = call().failed("the store does not answer");
    assert_eq!(fault(&reply, &json!(1)), (200, -32603));
}

// spec: MT-03
#[test]
fn tools_are_listed_byte_for_byte() {
    let odd = r#"{ "name":"t", "inputSchema":{"maximum":1e400,"minimum":1.0}, "z":123456789012345678901234567890 }"#;
    let tools = || vec![RawValue::from_string(odd.to_owned()).unwrap()];
    let list = ask(legacy("tools/list", &json!({})));
    assert_eq!(
        text(&list.tools(tools(), None)),
        format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{odd}]}}}}"#)
    );
}

// spec: MT-03
#[test]
fn an_output_schema_that_would_spoil_the_list_is_left_out() {
    let schemas = [
        (json!({"type": "object", "anyOf": [{}]}), true),
        (json!({"type": "array"}), false),
        (json!({"type": ["object", "null"]}), false),
        (json!({}), false),
        (json!(true), false),
    ];
    for (schema, stays) in schemas {
        let tool = json!({"name": "t", "outputSchema": schema, "title": "T"});
        let list = ask(legacy("tools/list", &json!({})));
        let reply = body(&list.tools(vec![&tool], None));
        let listed = &reply["result"]["tools"][0];
        assert_eq!(listed.get("outputSchema").is_some(), stays, "{schema}");
        assert_eq!(listed["title"], "T");

        let list = ask(super::modern("tools/list", json!({})));
        let reply = body(&list.tools(vec![&tool], None));
        assert_eq!(reply["result"]["tools"][0], tool);
    }
}
