//! The walk through the demo.

use serde_json::Value;
use serde_json::json;

use crate::gate::Gate;
use crate::gate::folder;
use crate::gate::toolgate;

fn names(answer: &Value) -> Vec<&str> {
    let tools = answer["result"]["tools"].as_array().unwrap();
    tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect()
}

#[test]
fn an_agent_lists_calls_is_refused_waits_and_gets_the_outcome() {
    let folder = folder();
    let gate = Gate::demo(folder.path());
    let key = gate.key("support-bot");

    let listed = gate.mcp(key, "tools/list", &json!({}));
    let names = names(&listed);
    assert!(names.contains(&"tickets_comment") && names.contains(&"approval_outcome"));
    assert!(!names.contains(&"flags_set"));
    let hidden = gate.call(
        key,
        "flags_set",
        &json!({"name": "beta_banner", "value": true}),
    );
    let never = gate.call(key, "no_such_tool", &json!({}));
    assert_eq!(hidden["code"], -32602);
    assert_eq!(hidden, never);

    let tickets = gate.call(key, "tickets_list", &json!({}));
    let text = tickets["content"][0]["text"].as_str().unwrap();
    assert!(
        text.contains("<tool_output trust=\"untrusted\" id=\""),
        "{text}"
    );
    assert!(!tickets.to_string().contains("AKIAIOSFODNN7EXAMPLE"));
    let ticket = tickets["structuredContent"]["tickets"][0]["id"]
        .as_str()
        .unwrap();

    let refused = gate.call(
        key,
        "files_read",
        &json!({"path": "docs/%2e%2e/secrets/deploy.env"}),
    );
    assert_eq!(refused["isError"], true);
    assert_eq!(refused["_meta"]["toolgate/outcome"]["path"], "/path");

    let comment = json!({"id": ticket, "body": "We are on it."});
    let pending = gate.call(key, "tickets_comment", &comment);
    assert_eq!(pending["structuredContent"]["status"], "pending_approval");
    let id = pending["structuredContent"]["id"].as_str().unwrap();
    let open = gate
        .api("GET", "/api/approvals?status=pending", None)
        .json();
    assert_eq!(open["approvals"][0]["id"], id);

    let path = format!("/api/approvals/{id}");
    let approved = gate.api("POST", &path, Some(&json!({"approved": true})));
    assert_eq!(
        (approved.status, &approved.json()["status"]),
        (200, &json!("applied"))
    );
    let outcome = gate.call(key, "approval_outcome", &json!({"id": id}));
    assert!(outcome.to_string().contains("We are on it."), "{outcome}");
    let again = gate.call(key, "tickets_comment", &comment);
    assert!(again.to_string().contains("We are on it."), "{again}");
    let ticket = gate.call(key, "tickets_get", &json!({"id": ticket}));
    let comments = ticket["structuredContent"]["comments"].to_string();
    assert_eq!(comments.matches("We are on it.").count(), 1);

    let audit = gate.api("GET", "/api/audit?limit=20", None).json();
    assert!(!audit["entries"].as_array().unwrap().is_empty());
    let verified = gate.api("GET", "/api/audit/verify", None).json();
    assert_eq!(
        (&verified["ok"], &verified["complete"]),
        (&json!(true), &json!(true))
    );

    let kill = format!(
        "/api/principals/{}/kill",
        gate.agent("support-bot")["id"].as_str().unwrap()
    );
    let killed = gate.api("POST", &kill, Some(&json!({"reason": "looks wrong"})));
    assert_eq!(killed.status, 200);
    let listed = gate.mcp(key, "tools/list", &json!({}));
    assert_eq!(listed["result"]["tools"], json!([]));
}

// spec: DE-01
#[test]
fn one_command_serves_with_a_token_of_the_demo_alone() {
    let folder = folder();
    let gate = Gate::demo(folder.path());
    assert_eq!(gate.token(), "local-admin");
    assert!(gate.address.ip().is_loopback());
    assert_eq!(gate.api("GET", "/api/overview", None).status, 200);
    let help = toolgate().args(["demo", "--help"]).output().unwrap();
    assert!(
        String::from_utf8(help.stdout)
            .unwrap()
            .contains("127.0.0.1:8787")
    );
}

// spec: DE-02
#[test]
fn the_printed_client_configuration_works_as_it_is() {
    let folder = folder();
    let gate = Gate::demo(folder.path());
    for client in ["claude-code", "cursor", "vscode"] {
        let name = format!("agent-of-{client}");
        let output = crate::gate::operate(
            &gate,
            &["agent", "add", &name, "--client", client, "--json"],
        );
        let answer = crate::gate::document(&output);
        let servers = ["mcpServers", "servers"];
        let entry = servers
            .iter()
            .find_map(|member| answer["client"].get(*member))
            .map(|servers| &servers["toolgate"])
            .unwrap();
        let variable = answer["variable"].as_str().unwrap();
        let header = entry["headers"]["Authorization"].as_str().unwrap();
        let (before, rest) = header.split_once("${").unwrap();
        let (named, after) = rest.split_once('}').unwrap();
        assert_eq!(named.trim_start_matches("env:"), variable);
        let header = format!("{before}{}{after}", answer["key"].as_str().unwrap());
        let url = entry["url"].as_str().unwrap();
        let path = url
            .strip_prefix(&format!("http://{}", gate.address))
            .unwrap();
        let reply = crate::http::send(
            gate.address,
            "POST",
            path,
            &[
                ("Authorization", &header),
                ("Content-Type", "application/json"),
                ("Accept", "application/json, text/event-stream"),
            ],
            br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
        );
        assert_eq!(reply.status, 200, "{}", reply.body);
        assert_eq!(names(&reply.json()), Vec::<&str>::new());
    }
}
