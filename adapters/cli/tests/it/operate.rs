//! The commands of operators, against a running gate.

use std::fs;

use serde_json::Value;
use serde_json::json;

use crate::gate::Gate;
use crate::gate::document;
use crate::gate::folder;
use crate::gate::operate;
use crate::gate::operate_as;

fn ask(gate: &Gate, args: &[&str]) -> Value {
    let mut args = args.to_vec();
    args.push("--json");
    document(&operate(gate, &args))
}

fn say(gate: &Gate, args: &[&str]) -> String {
    let output = operate(gate, args);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{args:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn an_agent_is_added_shown_killed_revived_and_its_key_revoked() {
    let folder = folder();
    let gate = Gate::demo(folder.path());
    let policy = folder.path().join("policy.json");
    fs::write(&policy, r#"{"tools":{"tickets_list":{}}}"#).unwrap();
    let path = policy.to_str().unwrap();
    let made = ask(&gate, &["agent", "add", "one", "--policy", path]);
    let members: Vec<_> = made.as_object().unwrap().keys().collect();
    assert_eq!(members, ["id", "name", "key"]);
    let key = made["key"].as_str().unwrap();
    let works = || gate.call(key, "tickets_list", &json!({}))["isError"] != true;
    assert!(works());

    assert!(say(&gate, &["agent", "list"]).contains("support-bot"));
    say(&gate, &["agent", "kill", "one", "--reason", "a test"]);
    assert!(!works());
    assert!(say(&gate, &["agent", "show", "one"]).contains("killed"));
    say(&gate, &["agent", "revive", "one"]);
    assert!(works());

    let second = ask(&gate, &["agent", "key", "one"]);
    assert_ne!(second["key"], key);
    let shown = ask(&gate, &["agent", "show", "one"]);
    let first = shown["keys"][0]["id"].as_str().unwrap();
    say(&gate, &["agent", "revoke", "one", first]);
    let bearer = format!("Bearer {key}");
    let headers = [
        ("Authorization", bearer.as_str()),
        ("Content-Type", "application/json"),
    ];
    let reply = crate::http::send(gate.address, "POST", "/mcp", &headers, b"{}");
    assert_eq!(reply.status, 401);
    let duplicate = operate(&gate, &["agent", "add", "one"]);
    assert_eq!(duplicate.status.code(), Some(1));
}

#[test]
fn a_request_is_listed_shown_and_decided() {
    let folder = folder();
    let gate = Gate::demo(folder.path());
    let key = gate.key("support-bot");
    let tickets = gate.call(key, "tickets_list", &json!({}));
    let ticket = tickets["structuredContent"]["tickets"][0]["id"]
        .as_str()
        .unwrap();
    let ask_for = |body: &str| {
        let arguments = json!({"id": ticket, "body": body});
        let pending = gate.call(key, "tickets_comment", &arguments);
        pending["structuredContent"]["id"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let first = ask_for("one");
    let second = ask_for("\u{1b}[31mtwo");
    assert!(say(&gate, &["approvals", "list"]).contains(&first));
    let shown = say(&gate, &["approvals", "show", &second]);
    assert!(!shown.contains('\u{1b}'), "{shown}");
    let viewed = ask(&gate, &["approvals", "show", &first])["viewedDigest"].clone();
    let viewed = viewed.as_str().unwrap();
    let approved = ask(&gate, &["approvals", "approve", &first, "--viewed", viewed]);
    assert_eq!(approved["status"], "applied");
    let declined = ask(&gate, &["approvals", "decline", &second, "--reason", "no"]);
    assert_eq!(declined["status"], "declined");
    let again = operate(&gate, &["approvals", "approve", &second]);
    assert_eq!(again.status.code(), Some(1));
    let listed = ask(&gate, &["approvals", "list", "--status", "declined"]);
    assert_eq!(listed["approvals"].as_array().unwrap().len(), 1);
}

#[test]
fn a_call_that_is_approved_but_not_made_fails_with_its_reason() {
    let folder = folder();
    let gate = Gate::demo(folder.path());
    let key = gate.key("support-bot");
    let comment = json!({"id": "T-1", "body": "one"});
    let pending = gate.call(key, "tickets_comment", &comment);
    let id = pending["structuredContent"]["id"].as_str().unwrap();
    let policy = folder.path().join("policy.json");
    fs::write(&policy, r#"{"tools":{"tickets_list":{}}}"#).unwrap();
    let path = policy.to_str().unwrap();
    say(&gate, &["policy", "set", "support-bot", path]);
    let approved = operate(&gate, &["approvals", "approve", id]);
    let said = String::from_utf8(approved.stdout).unwrap();
    assert_eq!(approved.status.code(), Some(1), "{said}");
    let lines: Vec<_> = said.lines().collect();
    assert_eq!(lines[0], format!("{id}: blocked"));
    assert!(lines[1].len() > 5, "{said}");
    assert!(say(&gate, &["approvals", "show", id]).contains(lines[1].trim()));
}

#[test]
fn policies_are_stored_applied_set_and_explained() {
    let folder = folder();
    let gate = Gate::demo(folder.path());
    let file = folder.path().join("policy.json");
    fs::write(&file, r#"{"tools":{"flags_list":{}}}"#).unwrap();
    let path = file.to_str().unwrap();
    ask(&gate, &["agent", "add", "one"]);
    ask(&gate, &["agent", "add", "two"]);
    ask(&gate, &["policy", "store", "flags", path]);
    assert!(say(&gate, &["policy", "list"]).contains("flags"));
    say(&gate, &["policy", "apply", "flags", "one", "two"]);
    let explained = ask(&gate, &["policy", "explain", "two", "flags_list"]);
    assert_eq!(explained["decision"], "run");
    let partly = operate(
        &gate,
        &["policy", "apply", "flags", "one", "nobody", "--json"],
    );
    assert_eq!(partly.status.code(), Some(1));
    assert_eq!(document(&partly)["results"].as_array().unwrap().len(), 2);

    fs::write(&file, r#"{"tools":{"flags_lst":{}}}"#).unwrap();
    let refused = operate(&gate, &["policy", "set", "one", path]);
    assert_eq!(refused.status.code(), Some(1));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("flags_list"), "{said}");
    fs::write(&file, r#"{"tools":{}}"#).unwrap();
    say(&gate, &["policy", "set", "one", path]);
    let explained = ask(&gate, &["policy", "explain", "one", "flags_list"]);
    assert_eq!(explained["decision"], "hidden");
}

#[test]
fn operators_come_and_go() {
    let folder = folder();
    let gate = Gate::demo(folder.path());
    let added = ask(&gate, &["operators", "add", "ana", "--role", "viewer"]);
    let token = added["token"].as_str().unwrap();
    assert!(say(&gate, &["operators", "list"]).contains("ana"));
    let as_ana = |args: &[&str]| operate_as(&gate, token, args).status.code();
    assert_eq!(as_ana(&["agent", "list"]), Some(0));
    assert_eq!(as_ana(&["agent", "kill", "support-bot"]), Some(1));
    say(&gate, &["operators", "remove", "ana"]);
    assert_eq!(as_ana(&["agent", "list"]), Some(1));
}
