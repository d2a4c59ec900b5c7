//! A call against a policy: order, reasons and the lattice.

use proptest::prelude::*;
use serde_json::Value;
use serde_json::json;
use toolgate_core::catalog::Catalog;
use toolgate_core::catalog::Provenance;
use toolgate_core::catalog::Trust;
use toolgate_core::classify::ClassifiedBy;
use toolgate_core::judge::judge;
use toolgate_core::policy;
use toolgate_core::verdict::Decision;
use toolgate_core::verdict::Retry;

use super::support::accept;
use super::support::call;
use super::support::catalog;
use super::support::foreign;
use super::support::outcome;
use super::support::source;

fn everything() -> Value {
    let all = json!({ "allow": "all" });
    json!({ "desk": all, "flags": all, "files": all, "web": all, "gh": all, "crm": all })
}

// spec: AP-01
#[test]
fn writes_wait_and_reads_do_not() {
    let policy = accept(json!({ "upstreams": everything() }));
    for (name, raw, decision, code) in [
        ("tickets_list", "", "run", "observation"),
        ("tickets_get", r#"{"id":1}"#, "run", "observation"),
        (
            "tickets_comment",
            r#"{"id":1,"body":"x"}"#,
            "queue",
            "action",
        ),
        ("tickets_close", r#"{"id":1}"#, "queue", "action"),
        ("flags_list", "{}", "run", "observation"),
        ("flags_get", r#"{"name":"a"}"#, "run", "observation"),
        (
            "flags_set",
            r#"{"name":"a","value":true}"#,
            "queue",
            "action",
        ),
        ("files_list", "{}", "run", "observation"),
        ("files_read", r#"{"path":"a"}"#, "run", "observation"),
        (
            "files_write",
            r#"{"path":"a","content":""}"#,
            "queue",
            "action",
        ),
        (
            "web_fetch",
            r#"{"url":"https://a.example"}"#,
            "run",
            "observation",
        ),
        ("gh__create_issue", "{}", "queue", "action"),
        ("gh__list_issues", "{}", "run", "observation"),
    ] {
        let judged = call(&policy, name, raw);
        assert_eq!(outcome(&judged), (decision, code, None), "{name}");
        let catalog = catalog();
        let tool = catalog.find(name).unwrap();
        assert_eq!(policy.may_ask(tool), decision == "queue", "{name}");
        assert_eq!(judged.verdict.mode, Some(tool.classified().mode));
    }
}

#[test]
fn a_read_under_a_mutating_name_waits_unless_somebody_vouches() {
    let policy = accept(json!({ "upstreams": everything() }));
    assert_eq!(
        call(&policy, "gh__delete_issue", "{}").verdict.decision,
        Decision::Queue
    );
    let definition = json!({
        "name": "delete_issue", "inputSchema": { "type": "object" }, "annotations": { "readOnlyHint": true },
    });
    for (trust, decision) in [
        (Trust::Byo, Decision::Queue),
        (Trust::Vetted, Decision::Run),
    ] {
        let tool = foreign("gh", trust, &definition);
        let catalog = Catalog::new([tool.clone()], false);
        let policy = policy::parse(r#"{"tools":{"gh__delete_issue":{}}}"#, &catalog).unwrap();
        assert_eq!(
            judge(&policy, Some(&tool), "", &|_| None).verdict.decision,
            decision
        );
        assert_eq!(policy.may_ask(&tool), decision == Decision::Queue);
    }
}

#[test]
fn policy_asks_always_or_never() {
    let policy = accept(json!({ "tools": {
        "flags_list": { "approval": "always" },
        "flags_get": { "approval": "never" },
        "flags_set": { "approval": "always" },
        "crm__add_note": { "approval": "never" },
    } }));
    assert_eq!(
        outcome(&call(&policy, "flags_list", "")),
        ("queue", "approval_always", None)
    );
    let set = call(&policy, "flags_set", r#"{"name":"a","value":true}"#);
    assert_eq!(outcome(&set), ("queue", "approval_always", None));
    let note = call(&policy, "crm__add_note", "{}");
    assert_eq!(outcome(&note), ("auto_apply", "never_asks", None));
    assert_eq!(note.verdict.classified_by, Some(ClassifiedBy::Policy));
    let get = call(&policy, "flags_get", r#"{"name":"a"}"#);
    assert_eq!(outcome(&get), ("run", "observation", None));
    assert_eq!(get.verdict.classified_by, Some(ClassifiedBy::Builtin));
}

#[test]
fn stages_refuse_one_at_a_time_in_their_order() {
    let policy = accept(json!({ "tools": { "files_read": {
        "args": { "path": { "prefix": "docs/" } }, "approval": "always",
    } } }));
    let marker = |value: &Value| {
        let text = value.to_string();
        text.contains("REDACTED").then(|| "/path".to_owned())
    };
    let catalog = catalog();
    let tool = catalog.find("files_read").map(AsRef::as_ref);
    let codes = |raw: &str| {
        let judged = judge(&policy, tool, raw, &marker);
        let codes: Vec<_> = judged
            .verdict
            .reasons
            .iter()
            .map(|reason| reason.code.as_str())
            .collect();
        codes.join(" ")
    };
    assert_eq!(
        codes(r#"{"path":"REDACTED","path":1,"x":1}"#),
        "arguments_malformed"
    );
    assert_eq!(codes(r#"{"path":"REDACTED","x":1}"#), "redaction_in_args");
    assert_eq!(codes(r#"{"path":"secrets","x":1}"#), "arguments_invalid");
    assert_eq!(codes(r#"{"path":"secrets"}"#), "argument_refused");
    assert_eq!(codes(r#"{"path":"docs/a"}"#), "approval_always");
    assert_eq!(
        judge(&policy, None, "]", &marker).verdict.decision,
        Decision::Hidden
    );
    let other = catalog.find("files_write").map(AsRef::as_ref);
    let hidden = judge(&policy, other, "]", &marker);
    assert_eq!(hidden.verdict, judge(&policy, None, "{}", &marker).verdict);
    assert!(hidden.arguments.is_none());
}

// spec: AG-07
#[test]
fn arguments_are_read_strictly_and_checked_against_the_schema() {
    let policy = accept(json!({ "upstreams": everything() }));
    for (name, raw, code, path) in [
        (
            "files_read",
            r#"{"path":"docs/a","path":"x"}"#,
            "arguments_malformed",
            Some("/path"),
        ),
        (
            "tickets_get",
            r#"{"id":9007199254740993}"#,
            "arguments_malformed",
            Some("/id"),
        ),
        ("files_read", "[]", "arguments_malformed", None),
        ("files_read", "null", "arguments_malformed", None),
        ("files_read", "{", "arguments_malformed", None),
        ("files_read", "{}", "arguments_invalid", Some("/path")),
        ("files_read", "", "arguments_invalid", Some("/path")),
        (
            "files_read",
            r#"{"path":"a","Path":"b"}"#,
            "arguments_invalid",
            Some("/Path"),
        ),
        (
            "files_read",
            r#"{"path":"a","offset":"x"}"#,
            "arguments_invalid",
            Some("/offset"),
        ),
        ("flags_list", r#"{"x":1}"#, "arguments_invalid", Some("/x")),
    ] {
        let judged = call(&policy, name, raw);
        assert_eq!(outcome(&judged), ("refuse", code, path), "{raw}");
        assert_eq!(judged.verdict.leading().unwrap().retry, Retry::Fixed);
    }
    let large = format!(r#"{{"path":"{}"}}"#, "a".repeat(64 * 1024));
    assert_eq!(
        outcome(&call(&policy, "files_read", &large)),
        ("refuse", "arguments_malformed", None)
    );
    let two = call(&policy, "files_write", r#"{"x":1}"#);
    assert_eq!(two.verdict.reasons.len(), 3, "{:?}", two.verdict.reasons);
    let known = call(&policy, "files_read", r#"{"path":"a","pth":"b"}"#);
    let expected = known.verdict.leading().unwrap().expected.clone();
    let arguments = json!({ "keyword": "unevaluatedProperties", "arguments": ["path", "offset"] });
    assert_eq!(expected, Some(arguments));
}

#[test]
fn a_marker_inside_a_converted_string_is_found() {
    let policy = accept(json!({ "tools": { "gh__create_issue": {} } }));
    let marker = |value: &Value| {
        value
            .to_string()
            .contains("[X]")
            .then(|| "/labels".to_owned())
    };
    let catalog = catalog();
    let tool = catalog.find("gh__create_issue").map(AsRef::as_ref);
    for raw in [r#"{"labels":["[X]"]}"#, r#"{"labels":"[\"\\u005bX]\"]"}"#] {
        let judged = judge(&policy, tool, raw, &marker);
        assert_eq!(
            outcome(&judged),
            ("refuse", "redaction_in_args", Some("/labels")),
            "{raw}"
        );
    }
}

#[test]
fn arguments_are_kept_as_canonical_bytes() {
    let policy = accept(json!({ "upstreams": everything() }));
    let judged = call(&policy, "files_read", r#"{ "path": "a", "offset": "1.0" }"#);
    let arguments = judged.arguments.unwrap();
    assert_eq!(arguments.canonical(), br#"{"offset":1,"path":"a"}"#);
    assert_eq!(arguments.value()["path"], "a");
    assert_eq!(
        call(&policy, "flags_list", "")
            .arguments
            .unwrap()
            .canonical(),
        b"{}"
    );
    assert!(
        call(&policy, "files_read", r#"{"path":1}"#)
            .arguments
            .is_some()
    );
}

#[test]
fn a_schema_that_names_nothing_can_be_called_with_arguments() {
    let policy = accept(json!({ "tools": { "gh__list_issues": {} } }));
    assert_eq!(
        outcome(&call(&policy, "gh__list_issues", r#"{"repo":"a"}"#)).0,
        "run"
    );
    let ruled = accept(
        json!({ "tools": { "gh__list_issues": { "args": { "repo": { "oneOf": ["a"] } } } } }),
    );
    assert_eq!(
        outcome(&call(&ruled, "gh__list_issues", r#"{"repo":"a"}"#)).0,
        "run"
    );
    let other = call(&ruled, "gh__list_issues", r#"{"repo":"a","path":"x"}"#);
    assert_eq!(
        outcome(&other),
        ("refuse", "arguments_invalid", Some("/path"))
    );
    let passing = json!({ "args": { "repo": { "oneOf": ["a"] } }, "unknownArgs": "pass" });
    let passing = accept(json!({ "tools": { "gh__list_issues": passing } }));
    assert_eq!(
        outcome(&call(
            &passing,
            "gh__list_issues",
            r#"{"repo":"a","path":"x"}"#
        ))
        .0,
        "run"
    );
}

#[test]
fn unknown_arguments_are_refused_dropped_or_passed() {
    let raw = r#"{"path":"a","zz":1}"#;
    let with = |words: Value| {
        let judged = call(&accept(words), "files_read", raw);
        let bytes = judged.arguments.as_ref().unwrap().canonical().to_vec();
        (judged.verdict.decision, String::from_utf8(bytes).unwrap())
    };
    let tools = json!({ "files_read": {} });
    assert_eq!(with(json!({ "tools": tools })).0, Decision::Refuse);
    let dropped = with(json!({ "tools": tools, "unknownArgs": "drop" }));
    assert_eq!(dropped, (Decision::Run, r#"{"path":"a"}"#.to_owned()));
    let passed = with(json!({ "tools": tools, "unknownArgs": "pass" }));
    assert_eq!(passed, (Decision::Run, raw.to_owned()));
    let own =
        json!({ "tools": { "files_read": { "unknownArgs": "refuse" } }, "unknownArgs": "pass" });
    assert_eq!(with(own).0, Decision::Refuse);
    let ruled = accept(json!({ "tools": { "gh__list_issues": {
        "args": { "repo": {} }, "unknownArgs": "drop",
    } } }));
    let judged = call(&ruled, "gh__list_issues", r#"{"repo":"a","x":1}"#);
    assert_eq!(judged.arguments.unwrap().canonical(), br#"{"repo":"a"}"#);
}

// spec: AG-08
#[test]
fn a_refusal_names_tool_argument_and_rule_and_no_value() {
    let policy = accept(json!({ "tools": {
        "files_write": { "args": {
            "path": { "prefix": "docs/", "maxLength": 20 },
            "content": { "pattern": "[a-z]*" },
        } },
        "flags_set": { "args": { "name": { "oneOf": ["secret_flag"] } } },
    } }));
    let judged = call(
        &policy,
        "files_write",
        r#"{"path":"hunter2","content":"HUNTER2"}"#,
    );
    let text = serde_json::to_string(&judged.verdict).unwrap();
    assert!(
        !text.to_lowercase().contains("hunter2") && !text.contains("secret_flag"),
        "{text}"
    );
    let reasons = &judged.verdict.reasons;
    assert_eq!(reasons.len(), 2);
    let content = reasons
        .iter()
        .find(|reason| reason.path.as_deref() == Some("/content"))
        .unwrap();
    assert_eq!(content.expected, Some(json!({ "pattern": "[a-z]*" })));
    let path = reasons
        .iter()
        .find(|reason| reason.path.as_deref() == Some("/path"))
        .unwrap();
    assert_eq!(
        path.expected,
        Some(json!({ "prefix": "docs/", "maxLength": 20 }))
    );
    let message =
        "argument `/path` of tool `files_write` does not hold the rule `prefix` of policy";
    assert_eq!(path.message, message);
    for raw in [
        r#"{"path":7,"content":"hunter2"}"#,
        r#"{"path":"hunter2","x":"hunter2"}"#,
        r#"{"path":hunter2}"#,
    ] {
        let text = serde_json::to_string(&call(&policy, "files_write", raw).verdict).unwrap();
        assert!(!text.contains("hunter2"), "{text}");
    }
}

// spec: AG-06 FN-03
#[test]
fn a_constrained_argument_that_is_absent_is_refused() {
    let rule = json!({ "prefix": "docs/" });
    let policy = accept(json!({ "tools": { "files_list": { "args": { "prefix": rule } } } }));
    assert_eq!(
        outcome(&call(&policy, "files_list", "{}")),
        ("refuse", "argument_refused", Some("/prefix"))
    );
    let optional = json!({ "prefix": "docs/", "optional": true });
    let policy = accept(json!({ "tools": {
        "files_list": { "args": { "prefix": optional } },
        "files_read": { "args": { "path": optional } },
    } }));
    assert_eq!(outcome(&call(&policy, "files_list", "{}")).0, "run");
    assert_eq!(
        outcome(&call(&policy, "files_read", "{}")),
        ("refuse", "arguments_invalid", Some("/path"))
    );
}

// spec: XA-05
#[test]
fn two_agents_with_opposite_policies_do_not_touch_each_other() {
    let catalog = catalog();
    let reader = accept(
        json!({ "tools": { "files_read": { "args": { "path": { "prefix": "docs/" } } }, "flags_set": { "approval": "always", "perMinute": 1 } } }),
    );
    let writer = accept(
        json!({ "tools": { "files_write": {}, "flags_set": { "approval": "never", "perMinute": 9 } }, "perDay": 1 }),
    );
    let set = r#"{"name":"a","value":true}"#;
    let calls = [
        ("files_read", r#"{"path":"docs/a"}"#, "run", "hidden"),
        ("files_read", r#"{"path":"etc/a"}"#, "refuse", "hidden"),
        (
            "files_write",
            r#"{"path":"a","content":"b"}"#,
            "hidden",
            "queue",
        ),
        ("flags_set", set, "queue", "auto_apply"),
        ("tickets_list", "{}", "hidden", "hidden"),
    ];
    for round in 0..1_000 {
        let (name, raw, first, second) = calls[round % calls.len()];
        let tool = catalog.find(name).map(AsRef::as_ref);
        let pair = if round % 2 == 0 {
            (&reader, first)
        } else {
            (&writer, second)
        };
        assert_eq!(
            judge(pair.0, tool, raw, &|_| None)
                .verdict
                .decision
                .as_str(),
            pair.1,
            "{name}"
        );
        let limits = [
            reader.limits(&"flags_set".parse().unwrap()),
            writer.limits(&"flags_set".parse().unwrap()),
        ];
        assert_eq!(
            (limits[0].tool_per_minute, limits[1].tool_per_minute),
            (Some(1), Some(9))
        );
        assert_eq!((limits[0].per_day, limits[1].per_day), (2_000, 1));
    }
}

/// One tool of the model: where it comes from and what it says of itself.
#[derive(Debug, Clone, Copy)]
struct Shape {
    provenance: Provenance,
    trust: Trust,
    hint: Option<bool>,
    name: &'static str,
}

fn shape() -> impl Strategy<Value = Shape> {
    (
        prop::sample::select(vec![
            Provenance::Builtin,
            Provenance::Deployment,
            Provenance::User,
        ]),
        prop::sample::select(vec![Trust::Byo, Trust::Vetted]),
        prop::option::of(any::<bool>()),
        prop::sample::select(vec!["lookup", "delete_row"]),
    )
        .prop_map(|(provenance, trust, hint, name)| Shape {
            provenance,
            trust,
            hint,
            name,
        })
}

/// The lattice, spelt out case by case.
fn reference(shape: Shape, said: &str, grant: &str, fits: bool, under: bool) -> &'static str {
    let reads = shape.hint == Some(true);
    let vouched = shape.provenance == Provenance::Builtin || shape.trust == Trust::Vetted;
    let visible = match grant {
        "exact" | "all" => true,
        "reads" => reads,
        _ => false,
    };
    let said = if grant == "exact" { said } else { "auto" };
    if !visible {
        return "hidden";
    }
    if !fits || (grant == "exact" && !under) {
        return "refuse";
    }
    match (said, reads) {
        ("always", _) => "queue",
        ("never", false) if vouched => "auto_apply",
        (_, false) => "queue",
        (_, true) if shape.name == "delete_row" && !vouched => "queue",
        (_, true) => "run",
    }
}

proptest! {
    #[test]
    fn the_decision_is_the_highest_of_the_lattice(
        shape in shape(),
        said in prop::sample::select(vec!["auto", "always", "never"]),
        grant in prop::sample::select(vec!["exact", "all", "reads", "none", "absent"]),
        fits in any::<bool>(),
        under in any::<bool>(),
    ) {
        let mut definition = json!({
            "name": shape.name,
            "inputSchema": { "type": "object", "properties": { "path": { "type": "string" } } },
        });
        if let Some(hint) = shape.hint {
            definition["annotations"] = json!({ "readOnlyHint": hint });
        }
        let source = source("up", shape.provenance, shape.trust);
        let tool = toolgate_core::catalog::Tool::new(&source, &definition.to_string()).unwrap();
        let tool = std::sync::Arc::new(tool);
        let catalog = Catalog::new([tool.clone()], false);
        let shown = tool.shown().to_string();
        let document = match grant {
            "exact" => json!({ "tools": { shown: { "approval": said, "args": { "path": { "prefix": "docs/" } } } } }),
            "absent" => json!({}),
            word => json!({ "upstreams": { "up": { "allow": word } } }),
        };
        // Only a policy from before may still say `never` of a tool that nobody vouches for.
        let policy = policy::compile_stored(&document.to_string(), &catalog);
        prop_assert_eq!(policy.stale(), []);
        let mut args = json!({ "path": if under { "docs/a" } else { "etc/a" } });
        if !fits {
            args["other"] = json!(1);
        }
        let judged = judge(&policy, Some(&tool), &args.to_string(), &|_| None);
        let expected = reference(shape, said, grant, fits, under);
        prop_assert_eq!(judged.verdict.decision.as_str(), expected);
        if expected == "queue" {
            prop_assert!(policy.may_ask(&tool));
        }
        prop_assert!(!judged.verdict.reasons.is_empty());
    }
}

proptest! {
    #[test]
    fn any_text_gets_a_verdict(raw in r#"(\{"path":)?[\[\]{}",:0-9eE.+\-\\u a-z/*~%．]{0,40}\}?"#, rule in r#"[\[\]{}",:0-9a-z*/~ ]{0,20}"#) {
        let catalog = catalog();
        let text = format!(r#"{{"tools":{{"files_read":{{"args":{{"path":{{"pattern":"{rule}"}}}}}}}}}}"#);
        let policy = policy::parse(&text, &catalog).unwrap_or_else(|_| accept(json!({ "upstreams": everything() })));
        for tool in catalog.iter() {
            let judged = judge(&policy, Some(tool), &raw, &|_| None);
            let verdict = &judged.verdict;
            prop_assert!(verdict.leading().is_some());
            prop_assert_eq!(judged.arguments.is_none(), matches!(verdict.leading().unwrap().code.as_str(), "hidden" | "arguments_malformed"));
        }
    }
}

#[test]
fn the_vectors_are_decided_as_written() {
    let text = include_str!("../../../vectors/decisions.json");
    let cases: Vec<Value> = serde_json::from_str(text).unwrap();
    assert!(cases.len() >= 25);
    for case in cases {
        let name = case["name"].as_str().unwrap();
        let word = |key: &str| case["source"][key].clone();
        let source = source(
            word("id").as_str().unwrap(),
            serde_json::from_value(word("provenance")).unwrap(),
            serde_json::from_value(word("trust")).unwrap(),
        );
        let tool = toolgate_core::catalog::Tool::new(&source, &case["tool"].to_string()).unwrap();
        let tool = std::sync::Arc::new(tool);
        let catalog = Catalog::new([tool.clone()], false);
        let policy = policy::parse(&case["policy"].to_string(), &catalog).unwrap();
        let judged = judge(
            &policy,
            Some(&tool),
            case["arguments"].as_str().unwrap(),
            &|_| None,
        );
        let (decision, code, path) = outcome(&judged);
        let found = json!({ "decision": decision, "code": code, "path": path });
        assert_eq!(found, case["expect"], "{name}");
    }
}
