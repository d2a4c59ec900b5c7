//! Messages that two readers could take differently.

use http::Method;
use serde_json::Value;
use serde_json::json;
use toolgate_mcp::wire::Decoded;
use toolgate_mcp::wire::Face;
use toolgate_mcp::wire::MOST_BODY;
use toolgate_mcp::wire::What;

use super::PLAIN;
use super::answer;
use super::ask;
use super::face;
use super::fault;
use super::headers;
use super::post;
use super::text;

fn raw(body: &[u8]) -> Decoded {
    face().decode(&Method::POST, &headers(&PLAIN), body)
}

// spec: F27
#[test]
fn a_message_that_readers_take_differently_is_refused() {
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"x":{}1{}}}}}"#,
        "[".repeat(63),
        "]".repeat(63)
    );
    let abyss = "[".repeat(100_000);
    let params = |params: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"t",{params}}}}}"#
        )
    };
    let cases: &[(&str, i64)] = &[
        // Keys twice, at every level and in every spelling.
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"ping"}"#,
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"id":1,"method":"tools/list"}"#,
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{},"params":{}}"#,
            -32600,
        ),
        (&params(r#""name":"u""#), -32600),
        (&params(r#""n\u0061me":"u""#), -32600),
        (&params(r#""arguments":{},"arguments":{"a":1}"#), -32600),
        (
            &params(r#""arguments":{},"argument\u0073":{"a":1}"#),
            -32600,
        ),
        (&params(r#""_meta":{"a":1,"a":2}"#), -32600),
        (&params(r#""_meta":{"a":{"b":[{"c":1,"c":2}]}}"#), -32600),
        // NUL in keys.
        (&params(r#""x\u0000":1"#), -32600),
        // Numbers.
        (&params(r#""_meta":{"n":1e400}"#), -32600),
        (&params(r#""_meta":{"n":9007199254740993}"#), -32600),
        // Depth.
        (&deep, -32600),
        (&abyss, -32600),
        // Half of a surrogate pair.
        (
            r#"{"jsonrpc":"2.0","id":"\ud800","method":"tools/list"}"#,
            -32600,
        ),
        (r#"{"jsonrpc":"2.0","id":1,"method":"\udc00"}"#, -32700),
        (&params(r#""_meta":{"\ud800x":1}"#), -32700),
        // What is no JSON text.
        (
            "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
            -32700,
        ),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping"} {}"#, -32700),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping",}"#, -32700),
        (r#"{"jsonrpc":"2.0","id":01,"method":"ping"}"#, -32700),
        (r#"{'jsonrpc':'2.0'}"#, -32700),
        (&params(r#""arguments":{"a":}"#), -32700),
        (&params(r#""arguments":NaN"#), -32700),
        ("", -32700),
        ("\0", -32700),
        // What is no message.
        ("[]", -32600),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600),
        ("null", -32600),
        (r#""ping""#, -32600),
    ];
    for (body, code) in cases {
        let shown: String = body.chars().take(120).collect();
        assert_eq!(
            fault(&answer(raw(body.as_bytes())), &Value::Null),
            (400, *code),
            "{shown}"
        );
    }
    for bytes in [
        &b"\xff"[..],
        b"{\"jsonrpc\":\"2.0\",\"id\":\"\xc0\x80\"}",
        b"\xfe\xff\0{",
    ] {
        assert_eq!(fault(&answer(raw(bytes)), &Value::Null), (400, -32700));
    }
}

// spec: F27
#[test]
fn an_envelope_that_is_wrong_is_refused_under_its_id() {
    let cases = [
        r#"{"id":"x","method":"ping"}"#,
        r#"{"jsonrpc":"1.0","id":"x","method":"ping"}"#,
        r#"{"jsonrpc":2.0,"id":"x","method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":"x"}"#,
        r#"{"jsonrpc":"2.0","id":"x","method":null}"#,
        r#"{"jsonrpc":"2.0","id":"x","method":["ping"]}"#,
        r#"{"jsonrpc":"2.0","id":"x","method":"ping","params":[]}"#,
        r#"{"jsonrpc":"2.0","id":"x","method":"ping","params":null}"#,
        r#"{"jsonrpc":"2.0","id":"x","method":"ping","result":{}}"#,
        // Keys in another case are other keys.
        r#"{"jsonrpc":"2.0","id":"x","Method":"ping"}"#,
        r#"{"JSONRPC":"2.0","id":"x","method":"ping"}"#,
    ];
    for body in cases {
        assert_eq!(
            fault(&answer(post(&[], body)), &json!("x")),
            (400, -32600),
            "{body}"
        );
    }
}

// spec: F27
#[test]
fn keys_in_another_case_are_never_honoured() {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","METHOD":"tools/list","Params":{"name":"a"},
        "params":{"name":"t","Name":"u","ARGUMENTS":{"x":1},"_META":{"toolgate/new-request":true}}}"#;
    let What::CallTool {
        name,
        arguments,
        meta,
    } = ask(post(&[], body)).what
    else {
        panic!("no call");
    };
    assert_eq!((name.as_str(), arguments.as_str()), ("t", ""));
    assert!(!meta.new_request);
    // Without a key in its own case there is no id, so nothing to answer and nothing to do.
    let silent = r#"{"jsonrpc":"2.0","Id":1,"method":"tools/call","params":{"name":"t"}}"#;
    assert_eq!(answer(post(&[], silent)).status, 202);
}

// spec: F27
#[test]
fn an_id_is_a_string_or_an_integer_and_comes_back_as_it_was() {
    let long = "9".repeat(400);
    let good = [
        "0",
        "-1",
        "9007199254740993",
        &long,
        r#""""#,
        r#""a\u0062\/""#,
        r#""é\n""#,
        r#""\ud83d\ude00""#,
    ];
    for id in good {
        let body = format!(r#"{{"method":"ping","id" : {id} ,"jsonrpc":"2.0"}}"#);
        let want = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
        assert_eq!(text(&answer(post(&[], &body))), want);
    }
    for id in [
        "null",
        "1.0",
        "1e3",
        "0.5",
        "true",
        "[1]",
        "{}",
        r#""\ud800""#,
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        assert_eq!(
            fault(&answer(post(&[], &body)), &Value::Null),
            (400, -32600),
            "{id}"
        );
    }
}

// spec: F27
#[test]
fn arguments_stay_as_they_were_sent() {
    let abyss = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    let texts = [
        r#"{ "b":1,  "a":[ 1.0, 1e400, 9007199254740993, "\ud800" ] }"#,
        r#"{"a":1,"a":2}"#,
        r#"{"id":5,"params":{},"arguments":{"arguments":0}}"#,
        r#""{\"a\":1}""#,
        "null",
        "[]",
        "-0.0",
        &abyss,
    ];
    for sent in texts {
        let orders = [
            format!(
                r#"{{"jsonrpc":"2.0","id":"i","method":"tools/call","params":{{"name":"t","arguments": {sent} }}}}"#
            ),
            format!(
                r#"{{"params":{{"arguments":{sent},"name":"t"}},"method":"tools/call","id":"i","jsonrpc":"2.0"}}"#
            ),
        ];
        for body in orders {
            match ask(post(&[], &body)).what {
                What::CallTool { arguments, .. } => assert_eq!(arguments, sent),
                What::ListTools { .. } => panic!("no call"),
            }
        }
    }
    // The same key elsewhere means nothing.
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","arguments":{"a":1},"params":{"name":"t","id":9}}"#;
    let call = ask(post(&[], body));
    assert!(matches!(&call.what, What::CallTool { arguments, .. } if arguments.is_empty()));
    assert!(text(&call.unknown_tool()).contains(r#""id":1,"#));
}

// spec: F27
#[test]
fn no_error_repeats_what_the_client_sent() {
    let bodies = [
        r#"{"jsonrpc":"2.0","id":1,"method":"<canary>"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"<canary>":1,"<canary>":2}}"#,
        r#"{"jsonrpc":"<canary>","id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":["<canary>"]}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}<canary>"#,
    ];
    for body in bodies {
        let reply = answer(post(&[], body));
        assert!(!text(&reply).contains("canary"), "{}", text(&reply));
    }
    let mirrors = [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "<canary>"),
    ];
    let list = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": super::modern_meta()},
    });
    let reply = answer(post(&mirrors, &list.to_string()));
    assert!(!text(&reply).contains("canary"), "{}", text(&reply));
}

// spec: F27
#[test]
fn a_body_beyond_the_limit_is_not_read() {
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let padded = |size: usize| format!("{ping}{}", " ".repeat(size - ping.len()));
    assert_eq!(answer(post(&[], &padded(MOST_BODY))).status, 200);
    let reply = answer(post(&[], &padded(MOST_BODY + 1)));
    assert_eq!(fault(&reply, &Value::Null), (413, -32600));
    let small = Face::new("n", "1").most_body(ping.len());
    for (size, status) in [(ping.len(), 200), (ping.len() + 1, 413)] {
        let body = padded(size);
        let decoded = small.decode(&Method::POST, &headers(&PLAIN), body.as_bytes());
        assert_eq!(answer(decoded).status, status);
    }
}

// spec: F27
#[test]
fn a_printed_call_does_not_show_its_arguments() {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"k":"canary"}}}"#;
    assert!(!format!("{:?}", ask(post(&[], body))).contains("canary"));
}
