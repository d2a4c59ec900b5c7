//! What the built-in tools say of themselves, and what they answer when their store fails.

use std::sync::Arc;

use serde_json::Value;
use serde_json::json;
use toolgate_backends::Desk;
use toolgate_backends::Files;
use toolgate_backends::Flags;
use toolgate_core::catalog::Provenance;
use toolgate_core::catalog::Trust;
use toolgate_core::schema::Checker;
use toolgate_mcp::upstream::Dispatched;
use toolgate_mcp::upstream::ToolCall;
use toolgate_mcp::upstream::Upstream;
use toolgate_mcp::upstream::UpstreamError;

use super::host::definitions;
use super::host::sources;
use super::stores::Broken;

/// Name, then read-only, destructive, idempotent, open world.
const HINTS: [(&str, [bool; 4]); 11] = [
    ("tickets_list", [true, false, true, false]),
    ("tickets_get", [true, false, true, false]),
    ("tickets_comment", [false, false, false, false]),
    ("tickets_close", [false, true, true, false]),
    ("flags_list", [true, false, true, false]),
    ("flags_get", [true, false, true, false]),
    ("flags_set", [false, true, true, false]),
    ("files_list", [true, false, true, false]),
    ("files_read", [true, false, true, false]),
    ("files_write", [false, true, true, false]),
    ("web_fetch", [true, false, true, true]),
];

#[tokio::test]
async fn every_tool_states_all_its_annotations() {
    let mut stated = Vec::new();
    for source in sources() {
        assert_eq!(source.source().provenance, Provenance::Builtin);
        assert_eq!(source.source().trust, Trust::Vetted);
        stated.extend(definitions(source.as_ref()).await);
    }
    assert_eq!(stated.len(), HINTS.len());
    for (definition, (name, [reads, destroys, repeats, open])) in stated.iter().zip(HINTS) {
        assert_eq!(definition["name"], name);
        let hints = json!({
            "readOnlyHint": reads, "destructiveHint": destroys,
            "idempotentHint": repeats, "openWorldHint": open,
        });
        assert_eq!(definition["annotations"], hints, "{name}");
        for prose in ["title", "description"] {
            assert!(!definition[prose].as_str().unwrap().is_empty(), "{name}");
        }
    }
}

#[tokio::test]
async fn every_input_is_closed_and_every_text_has_an_end() {
    for source in sources() {
        for definition in definitions(source.as_ref()).await {
            let input = &definition["inputSchema"];
            let name = definition["name"].as_str().unwrap();
            assert_eq!(input["additionalProperties"], false, "{name}");
            let checker = Checker::new(input).unwrap();
            assert!(!checker.is_valid(&json!({"else": 1})), "{name}");
            for required in input["required"].as_array().unwrap() {
                assert!(
                    input["properties"]
                        .get(required.as_str().unwrap())
                        .is_some()
                );
                assert!(!checker.is_valid(&json!({})), "{name}");
            }
            for (argument, schema) in input["properties"].as_object().unwrap() {
                let types = schema["type"].to_string();
                let bounded = schema.get("maxLength").is_some() || schema.get("enum").is_some();
                assert!(!types.contains("string") || bounded, "{name} {argument}");
            }
            let output = &definition["outputSchema"];
            assert_eq!(output["type"], "object", "{name}");
            assert!(!output["required"].as_array().unwrap().is_empty());
            for keyword in ["\"pattern\"", "\"format\"", "\"enum\"", "\"maxLength\""] {
                assert!(!output.to_string().contains(keyword), "{name} {keyword}");
            }
        }
    }
}

async fn fails(upstream: &dyn Upstream, tool: &str, arguments: Value) -> UpstreamError {
    let arguments = arguments.as_object().unwrap().clone();
    let (call, principal) = ("c1".parse().unwrap(), "p1".parse().unwrap());
    let call = ToolCall::new(call, principal, tool.parse().unwrap(), arguments);
    let error = upstream.call(call).await.unwrap_err();
    assert!(!error.to_string().contains("10.0.0.7"), "{error}");
    error
}

#[tokio::test]
async fn only_a_write_that_may_have_happened_is_unknown() {
    let gone = Desk::new(Arc::new(Broken { reads: false })).unwrap();
    let desk = Desk::new(Arc::new(Broken { reads: true })).unwrap();
    let flags = Flags::new(Arc::new(Broken { reads: true })).unwrap();
    let files = Files::new(Arc::new(Broken { reads: true })).unwrap();
    let comment = json!({"id": "T-1", "body": "x"});
    let set = json!({"name": "a", "value": 1});
    let cases: [(&dyn Upstream, &str, Value, Dispatched); 9] = [
        (&gone, "tickets_list", json!({}), Dispatched::No),
        (&gone, "tickets_comment", comment.clone(), Dispatched::No),
        (&desk, "tickets_comment", comment, Dispatched::Maybe),
        (&flags, "flags_set", set, Dispatched::Maybe),
        (&flags, "no_such_tool", json!({}), Dispatched::No),
        (&files, "files_list", json!({}), Dispatched::No),
        (&files, "files_read", json!({"path": "a"}), Dispatched::No),
        (
            &files,
            "files_write",
            json!({"path": "refused", "content": ""}),
            Dispatched::No,
        ),
        (
            &files,
            "files_write",
            json!({"path": "a", "content": ""}),
            Dispatched::Maybe,
        ),
    ];
    for (upstream, tool, arguments, dispatched) in cases {
        let error = fails(upstream, tool, arguments).await;
        assert_eq!(error.dispatched(), dispatched, "{tool}");
    }
}
