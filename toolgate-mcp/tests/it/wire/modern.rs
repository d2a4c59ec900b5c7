//! The era in which each request says all that is needed.

use serde_json::Value;
use serde_json::json;
use toolgate_mcp::wire::Decoded;
use toolgate_mcp::wire::Era;
use toolgate_mcp::wire::Face;
use toolgate_mcp::wire::What;

use super::PLAIN;
use super::answer;
use super::ask;
use super::body;
use super::face;
use super::fault;
use super::headers;
use super::legacy;
use super::modern;
use super::modern_meta;
use super::post;
use super::text;

const META: &str = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"v2","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}"#;
const OWN: &str =
    r#""_meta":{"io.modelcontextprotocol/serverInfo":{"name":"toolgate","version":"1.2.3"}}"#;

fn request(id: &str, method: &str, params: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}"_meta":{META}}}}}"#
    )
}

// spec: MT-04
#[test]
fn a_client_discovers_lists_and_calls() {
    let headers = |method| {
        [
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", method),
        ]
    };
    let probe = request(r#""server-discover-probe-1""#, "server/discover", "");
    let reply = answer(post(&headers("server/discover"), &probe));
    assert_eq!(reply.status, 200);
    assert_eq!(
        text(&reply),
        format!(
            r#"{{"jsonrpc":"2.0","id":"server-discover-probe-1","result":{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{{"tools":{{}}}},"ttlMs":0,"cacheScope":"private",{OWN}}}}}"#
        )
    );

    let list = ask(post(
        &headers("tools/list"),
        &request("0", "tools/list", ""),
    ));
    assert_eq!(list.era(), Era::Modern);
    let tool =
        json!({"name": "test_simple_text", "inputSchema": {"type": "object", "properties": {}}});
    assert_eq!(
        text(&list.tools(vec![tool], None)),
        format!(
            r#"{{"jsonrpc":"2.0","id":0,"result":{{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{{"name":"test_simple_text","inputSchema":{{"type":"object","properties":{{}}}}}}],{OWN}}}}}"#
        )
    );

    let call = request(
        "1",
        "tools/call",
        r#""name":"test_simple_text","arguments":{},"#,
    );
    let [version, method] = headers("tools/call");
    let call = ask(post(
        &[version, method, ("mcp-name", "test_simple_text")],
        &call,
    ));
    let What::CallTool {
        name,
        arguments,
        meta,
    } = &call.what
    else {
        panic!("no call: {:?}", call.what);
    };
    assert_eq!(
        (name.as_str(), arguments.as_str()),
        ("test_simple_text", "{}")
    );
    assert_eq!(meta.client.as_deref(), Some("v2"));
    let result = json!({"content": [{"type": "text", "text": "x"}], "isError": false});
    assert_eq!(
        text(&call.result(result)),
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"resultType":"complete","content":[{{"type":"text","text":"x"}}],"isError":false,{OWN}}}}}"#
        )
    );
}

// spec: MT-04 FN-09
#[test]
fn what_an_upstream_says_of_its_own_answer_is_not_passed_on() {
    let call = ask(modern("tools/call", json!({"name": "t"})));
    let result = json!({
        "content": [],
        "resultType": "task",
        "ttlMs": 86_400_000,
        "cacheScope": "public",
        "structuredContent": [1],
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "u", "version": "9"}, "k": 1},
    });
    assert_eq!(
        body(&call.result(result))["result"],
        json!({
            "resultType": "complete",
            "content": [],
            "structuredContent": [1],
            "_meta": {
                "k": 1,
                "io.modelcontextprotocol/serverInfo": {"name": "toolgate", "version": "1.2.3"},
            },
        })
    );
}

// spec: MT-04
#[test]
fn instructions_are_told_in_both_eras() {
    let face = Face::new("n", "1").instructions("read this");
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#;
    let probe = request("1", "server/discover", "");
    let version = ("mcp-protocol-version", "2026-07-28");
    let method = ("mcp-method", "server/discover");
    for (more, request) in [(vec![], hello), (vec![version, method], probe.as_str())] {
        let pairs: Vec<_> = PLAIN.into_iter().chain(more).collect();
        let decoded = face.decode(&http::Method::POST, &headers(&pairs), request.as_bytes());
        assert_eq!(
            body(&answer(decoded))["result"]["instructions"],
            "read this"
        );
    }
}

// spec: MT-04
#[test]
fn the_headers_must_say_what_the_body_says() {
    const VERSION: (&str, &str) = ("mcp-protocol-version", "2026-07-28");
    const LIST: (&str, &str) = ("mcp-method", "tools/list");
    const CALL: (&str, &str) = ("mcp-method", "tools/call");
    let list = request("7", "tools/list", "");
    let call = request("7", "tools/call", r#""name":"gruß","#);
    let odd = request("7", "tools/call", r#""name":"=?base64?eA==?=","#);
    let plain = request("7", "tools/call", r#""name":"t","#);
    let sealed = ("mcp-name", "=?base64?Z3J1w58=?=");
    let good: &[(&[(&str, &str)], &str)] = &[
        (&[VERSION, LIST], &list),
        (
            &[
                ("MCP-PROTOCOL-VERSION", "2026-07-28"),
                ("MCP-METHOD", " tools/list\t"),
            ],
            &list,
        ),
        (
            &[
                VERSION,
                LIST,
                ("mcp-session-id", "x"),
                ("last-event-id", "1"),
            ],
            &list,
        ),
        (&[VERSION, CALL, ("mcp-name", "  t  ")], &plain),
        (&[VERSION, CALL, ("mcp-name", "=?base64?dA==?=")], &plain),
        (&[VERSION, CALL, sealed], &call),
        (
            &[
                VERSION,
                CALL,
                ("mcp-name", "=?base64?PT9iYXNlNjQ/ZUE9PT89?="),
            ],
            &odd,
        ),
    ];
    for (more, request) in good {
        let decoded = post(more, request);
        assert!(matches!(decoded, Decoded::Ask(_)), "{more:?}: {decoded:?}");
    }
    let bad: &[(&[(&str, &str)], &str)] = &[
        (&[LIST], &list),
        (&[("mcp-protocol-version", "2025-11-25"), LIST], &list),
        (
            &[("mcp-protocol-version", "2026-07-28, 2026-07-28"), LIST],
            &list,
        ),
        (&[VERSION, VERSION, LIST], &list),
        (&[VERSION], &list),
        (&[VERSION, CALL], &list),
        (&[VERSION, ("mcp-method", "TOOLS/LIST")], &list),
        (&[VERSION, LIST, LIST], &list),
        (&[VERSION, CALL], &plain),
        (&[VERSION, CALL, ("mcp-name", "T")], &plain),
        (&[VERSION, CALL, ("mcp-name", "")], &plain),
        (
            &[VERSION, CALL, ("mcp-name", "t"), ("mcp-name", "t")],
            &plain,
        ),
        (&[VERSION, CALL, ("mcp-name", "=?base64?dA?=")], &plain),
        (&[VERSION, CALL, ("mcp-name", "=?base64?!!!!?=")], &plain),
        (&[VERSION, CALL, ("mcp-name", "=?BASE64?dA==?=")], &plain),
        (&[VERSION, CALL, ("mcp-name", "=?base64?/w==?=")], &plain),
        (&[VERSION, CALL, ("mcp-name", "gruß")], &call),
        (&[VERSION, CALL, ("mcp-name", "=?base64?eA==?=")], &odd),
    ];
    for (more, request) in bad {
        let reply = answer(post(more, request));
        assert_eq!(fault(&reply, &json!(7)), (400, -32020), "{more:?}");
    }
}

// spec: MT-04
#[test]
fn a_request_without_its_metadata_is_refused() {
    let more = [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/list"),
    ];
    let without = |name: &str| {
        let mut meta = modern_meta();
        meta.as_object_mut().unwrap().remove(name);
        json!({"_meta": meta})
    };
    let with = |name: &str, value: Value| {
        let mut meta = modern_meta();
        meta[name] = value;
        json!({"_meta": meta})
    };
    let cases = [
        json!({}),
        json!({"_meta": {}}),
        json!({"_meta": null}),
        json!({"_meta": []}),
        without("io.modelcontextprotocol/protocolVersion"),
        without("io.modelcontextprotocol/clientCapabilities"),
        with("io.modelcontextprotocol/protocolVersion", json!(20_260_728)),
        with("io.modelcontextprotocol/clientCapabilities", json!(true)),
    ];
    for params in cases {
        let request =
            json!({"jsonrpc": "2.0", "id": "a", "method": "tools/list", "params": params});
        let reply = answer(post(&more, &request.to_string()));
        assert_eq!(fault(&reply, &json!("a")), (400, -32602), "{params}");
    }
    let anonymous = without("io.modelcontextprotocol/clientInfo");
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": anonymous});
    ask(post(&more, &request.to_string()));
}

// spec: MT-04
#[test]
fn a_version_that_is_not_served_is_answered_with_those_that_are() {
    for version in ["1900-01-01", "v999.0.0", "2025-11-25", "2027-01-01"] {
        let mut meta = modern_meta();
        meta["io.modelcontextprotocol/protocolVersion"] = json!(version);
        let request = json!({
            "jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": meta},
        });
        let more = [
            ("mcp-protocol-version", version),
            ("mcp-method", "server/discover"),
        ];
        let reply = answer(post(&more, &request.to_string()));
        assert_eq!(fault(&reply, &json!(1)), (400, -32022), "{version}");
        let data = &body(&reply)["error"]["data"];
        assert_eq!(
            *data,
            json!({"requested": version, "supported": ["2026-07-28"]})
        );
    }
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let long = "9".repeat(8000);
    let reply = answer(post(&[("mcp-protocol-version", &long)], list));
    assert_eq!(fault(&reply, &json!(1)), (400, -32022));
    assert!(
        reply.body.len() < 300,
        "a reply does not grow with the header"
    );
}

// spec: MT-04
#[test]
fn what_the_era_does_not_have_is_refused() {
    for method in [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/list",
        "prompts/list",
        "subscriptions/listen",
        "tasks/get",
        "nope",
    ] {
        let reply = answer(modern(method, json!({})));
        assert_eq!(fault(&reply, &json!(1)), (404, -32601), "{method}");
    }
    let bad = [
        ("tools/list", json!({"cursor": {}})),
        ("tools/call", json!({"arguments": {}})),
    ];
    for (method, params) in bad {
        let reply = answer(modern(method, params.clone()));
        assert_eq!(fault(&reply, &json!(1)), (400, -32602), "{method} {params}");
    }
    let version = [("mcp-protocol-version", "2026-07-28")];
    let posted = answer(post(&version, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#));
    assert_eq!(fault(&posted, &Value::Null), (400, -32600));
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#;
    assert_eq!(
        fault(&answer(post(&version, hello)), &json!(1)),
        (400, -32020)
    );
}

// spec: MT-04
#[test]
fn notifications_are_accepted_unless_the_headers_belie_them() {
    let version = ("mcp-protocol-version", "2026-07-28");
    let note = format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"_meta":{META}}}}}"#
    );
    let good: &[&[(&str, &str)]] = &[
        &[version],
        &[version, ("mcp-method", "notifications/cancelled")],
        &[],
    ];
    for more in good {
        let reply = answer(post(more, &note));
        assert_eq!((reply.status.as_u16(), text(&reply)), (202, ""), "{more:?}");
    }
    // The header means nothing in the other era.
    let old = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_eq!(answer(post(&[("mcp-method", "x")], old)).status, 202);
    let bad: &[&[(&str, &str)]] = &[
        &[version, ("mcp-method", "tools/call")],
        &[("mcp-protocol-version", "2025-11-25")],
    ];
    for more in bad {
        let reply = answer(post(more, &note));
        assert_eq!(fault(&reply, &Value::Null), (400, -32020), "{more:?}");
    }
}

// spec: MT-04
#[test]
fn clients_must_take_json() {
    let list = request("1", "tools/list", "");
    let decode = |accept: Option<&str>, body: &str, more: &[(&str, &str)]| {
        let mut pairs = vec![("content-type", "application/json")];
        pairs.extend(accept.map(|accept| ("accept", accept)));
        pairs.extend(more);
        face().decode(&http::Method::POST, &headers(&pairs), body.as_bytes())
    };
    let modern = [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/list"),
    ];
    let cases = [
        (Some("application/json, text/event-stream"), true),
        (Some("*/*"), true),
        (Some("text/html, Application/*;q=0.2"), true),
        (Some("text/event-stream"), false),
        (Some("application/json;q=0, */*"), false),
        (Some(""), false),
        (None, false),
    ];
    for (accept, good) in cases {
        match decode(accept, &list, &modern) {
            Decoded::Ask(_) => assert!(good, "{accept:?}"),
            Decoded::Answer(reply) => {
                assert_eq!((reply.status.as_u16(), good), (406, false), "{accept:?}");
            }
        }
    }
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    assert!(matches!(decode(None, list, &[]), Decoded::Ask(_)));
}

// spec: MT-04
#[test]
fn a_call_says_of_itself_what_is_understood_or_nothing() {
    let call = |key: &str, value: Value| {
        legacy("tools/call", &json!({"name": "t", "_meta": {key: value}}))
    };
    let meta = |decoded| match ask(decoded).what {
        What::CallTool { meta, .. } => meta,
        What::ListTools { .. } => panic!("no call"),
    };
    assert!(meta(call("toolgate/new-request", json!(true))).new_request);
    assert!(!meta(call("toolgate/New-Request", json!(true))).new_request);
    assert_eq!(
        meta(call("toolgate/execution", json!("ex_1")))
            .execution
            .as_deref(),
        Some("ex_1")
    );
    assert_eq!(meta(call("toolgate/occurrence", json!(3))).occurrence, 3);
    assert_eq!(
        meta(call("progressToken", json!("p"))).progress_token,
        Some(json!("p"))
    );
    let long = json!({"name": "é".repeat(200)});
    let client = meta(call("io.modelcontextprotocol/clientInfo", long)).client;
    assert_eq!(client.map(|name| name.chars().count()), Some(128));
    let bad = [
        ("toolgate/new-request", json!("true")),
        ("toolgate/execution", json!("é".repeat(129))),
        ("toolgate/execution", json!("")),
        ("toolgate/execution", json!(1)),
        ("toolgate/occurrence", json!(-1)),
        ("toolgate/occurrence", json!(4_294_967_296_u64)),
        ("toolgate/occurrence", json!(1.5)),
        ("progressToken", json!({})),
        ("progressToken", json!(0.5)),
    ];
    for (key, value) in bad {
        let reply = answer(call(key, value.clone()));
        assert_eq!(fault(&reply, &json!(1)), (200, -32602), "{key}: {value}");
        let mut params = json!({"name": "t", "arguments": {}});
        params["_meta"] = modern_meta();
        params["_meta"][key] = value;
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let more = [
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", "t"),
        ];
        let reply = answer(post(&more, &request.to_string()));
        assert_eq!(fault(&reply, &json!(1)), (400, -32602), "{key}");
    }
}

// spec: MT-04
#[test]
fn mirrored_arguments_must_match_their_headers() {
    let schema = json!({
        "type": "object",
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "count": {"type": "integer", "x-mcp-header": "Count"},
            "dry": {"type": "boolean", "x-mcp-header": "Dry"},
            "deep": {"properties": {"er": {"type": "string", "x-mcp-header": "Deeper"}}},
            "list": {"items": {"properties": {"no": {"x-mcp-header": "Not-Reached"}}}},
        },
    });
    let check = |arguments: Value, more: &[(&str, &str)]| {
        let call = ask(modern(
            "tools/call",
            json!({"name": "t", "arguments": arguments}),
        ));
        call.mirrored(&schema, &headers(more))
    };
    let good: &[(Value, &[(&str, &str)])] = &[
        (json!({}), &[]),
        (json!({"region": null}), &[]),
        (
            json!({"region": "us-west1"}),
            &[("Mcp-Param-Region", "us-west1")],
        ),
        (
            json!({"region": "Hello"}),
            &[("mcp-param-region", "=?base64?SGVsbG8=?=")],
        ),
        (
            json!({"region": "SGVsbG8="}),
            &[("mcp-param-region", "SGVsbG8=")],
        ),
        (
            json!({"region": "=?base64?SGVs"}),
            &[("mcp-param-region", "=?base64?SGVs")],
        ),
        (json!({"region": ""}), &[("mcp-param-region", "")]),
        (json!({"count": 42}), &[("mcp-param-count", "42.0")]),
        (json!({"count": -7}), &[("mcp-param-count", "-7")]),
        (json!({"dry": false}), &[("mcp-param-dry", "false")]),
        (json!({"deep": {"er": "x"}}), &[("mcp-param-deeper", "x")]),
        (json!({"list": [{"no": "x"}]}), &[("mcp-param-other", "y")]),
    ];
    for (arguments, more) in good {
        assert!(
            check(arguments.clone(), more).is_ok(),
            "{arguments} {more:?}"
        );
    }
    let bad: &[(Value, &[(&str, &str)])] = &[
        (json!({"region": "us-west1"}), &[]),
        (
            json!({"region": "us-west1"}),
            &[("mcp-param-region", "US-WEST1")],
        ),
        (
            json!({"region": "Hello"}),
            &[("mcp-param-region", "=?base64?SGVsbG8?=")],
        ),
        (
            json!({"region": "Hello"}),
            &[("mcp-param-region", "=?base64?SGVs!!!bG8=?=")],
        ),
        (
            json!({"region": "a"}),
            &[("mcp-param-region", "a"), ("mcp-param-region", "a")],
        ),
        (json!({}), &[("mcp-param-region", "us-west1")]),
        (json!({"region": {}}), &[("mcp-param-region", "{}")]),
        (json!({"count": 42}), &[("mcp-param-count", "43")]),
        (json!({"count": 42}), &[("mcp-param-count", "inf")]),
        (json!({"dry": true}), &[("mcp-param-dry", "True")]),
        (json!({"deep": {"er": "x"}}), &[]),
    ];
    for (arguments, more) in bad {
        let reply = check(arguments.clone(), more).unwrap_err();
        assert_eq!(
            fault(&reply, &json!(1)),
            (400, -32020),
            "{arguments} {more:?}"
        );
    }
    let old = ask(legacy(
        "tools/call",
        &json!({"name": "t", "arguments": {"region": "x"}}),
    ));
    assert!(old.mirrored(&schema, &headers(&[])).is_ok());
}

// spec: MT-04
#[test]
fn an_unknown_tool_is_answered_alike_whatever_it_is_called() {
    let replies = |name: &str| {
        let params = json!({"name": name, "arguments": {"x": name}});
        [
            ask(modern("tools/call", params.clone())).unknown_tool(),
            ask(legacy("tools/call", &params)).unknown_tool(),
        ]
    };
    assert_eq!(replies("hidden_tool"), replies("constructor"));
    for reply in replies("t") {
        assert_eq!(
            text(&reply),
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"unknown tool"}}"#
        );
        assert_eq!(reply.status, 200);
    }
}
