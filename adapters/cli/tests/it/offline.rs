//! Commands that need no gate.

use std::fs;

use serde_json::Value;

use crate::gate::document;
use crate::gate::folder;
use crate::gate::run;
use crate::gate::toolgate;

// spec: DE-01
#[test]
fn a_gate_without_an_admin_token_does_not_start() {
    let folder = folder();
    let file = folder.path().join("toolgate.toml");
    fs::write(&file, format!("data = {:?}\n", folder.path().join("data"))).unwrap();
    for token in [
        None,
        Some(""),
        Some("local-admin"),
        Some("twenty-three-characters"),
    ] {
        let mut command = toolgate();
        command
            .args(["serve", "--listen", "127.0.0.1:0", "-c"])
            .arg(&file);
        if let Some(token) = token {
            command.env("TOOLGATE_ADMIN_TOKEN", token);
        }
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(64), "{token:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("TOOLGATE_ADMIN_TOKEN"), "{said}");
    }
    assert!(!folder.path().join("data").exists());
}

#[test]
fn a_wrong_configuration_is_told_all_at_once_with_lines() {
    let folder = folder();
    let file = folder.path().join("toolgate.toml");
    fs::write(
        &file,
        "listn = \"a\"\nconnectors = [\"disk\"]\n\n[[upstream]]\nid = \"git\"\n",
    )
    .unwrap();
    let output = toolgate()
        .args(["serve", "-c"])
        .arg(&file)
        .env("TOOLGATE_ADMIN_TOKEN", "a-token-of-twenty-four-characters")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(64));
    let said = String::from_utf8(output.stderr).unwrap();
    for line in ["toolgate.toml:1:", "toolgate.toml:2:", "toolgate.toml:4:"] {
        assert!(said.contains(line), "{said}");
    }
    assert!(said.contains("built-in connectors only"), "{said}");
}

// spec: DE-01
#[test]
fn a_demo_listens_on_this_machine_only() {
    let output = run(&["demo", "--listen", "0.0.0.0:0"]);
    assert_eq!(output.status.code(), Some(64));
}

#[test]
fn init_writes_a_file_once() {
    let folder = folder();
    let file = folder.path().join("toolgate.toml");
    let path = file.to_str().unwrap();
    assert!(run(&["init", path]).status.success());
    assert!(
        fs::read_to_string(&file)
            .unwrap()
            .contains("connectors = []")
    );
    fs::write(&file, "data = \"mine\"\n").unwrap();
    assert_eq!(run(&["init", path]).status.code(), Some(3));
    assert_eq!(fs::read_to_string(&file).unwrap(), "data = \"mine\"\n");
    let schema = document(&run(&["init", "--schema"]));
    assert_eq!(schema["additionalProperties"], Value::Bool(false));
}

#[test]
fn a_policy_file_is_checked_without_a_gate() {
    let folder = folder();
    let file = folder.path().join("policy.json");
    let path = file.to_str().unwrap();
    fs::write(
        &file,
        r#"{"tools":{"tickets_list":{},"files_read":{"args":{"path":{"prefix":"docs/"}}}}}"#,
    )
    .unwrap();
    let accepted = document(&run(&["policy", "check", path, "--json"]));
    assert_eq!(accepted["tools"].as_array().unwrap().len(), 2);

    fs::write(&file, r#"{"tools":{"tickets_lst":{}},"perMinut":5}"#).unwrap();
    let refused = run(&["policy", "check", path, "--json"]);
    assert_eq!(refused.status.code(), Some(1));
    let details = document(&refused)["error"]["details"].clone();
    assert_eq!(details.as_array().unwrap().len(), 2, "{details}");
    assert!(details.to_string().contains("tickets_list"), "{details}");
}

#[test]
fn a_template_is_a_policy_that_is_accepted() {
    let folder = folder();
    let file = folder.path().join("policy.json");
    for template in ["read-only", "ask-for-writes", "coding-agent", "support"] {
        let printed = run(&["policy", "init", "--template", template, "desk", "files"]);
        assert!(printed.status.success());
        fs::write(&file, printed.stdout).unwrap();
        let checked = run(&["policy", "check", file.to_str().unwrap(), "--json"]);
        let tools = document(&checked)["tools"].to_string();
        assert!(tools.contains("tickets_list"), "{template}: {tools}");
        assert_eq!(
            tools.contains("tickets_close"),
            template != "read-only",
            "{template}"
        );
    }
    let schema = document(&run(&["policy", "schema"]));
    assert!(schema["properties"]["perMinute"].is_object());
}

#[test]
fn wrong_usage_has_its_exit_code() {
    assert_eq!(run(&["agnt"]).status.code(), Some(64));
    assert_eq!(run(&["--help"]).status.code(), Some(0));
    assert_eq!(run(&["agent", "list"]).status.code(), Some(64));
    for (url, code) in [("http://gate.example.com", 64), ("http://127.0.0.1:9", 3)] {
        let mut command = toolgate();
        command.args(["agent", "list", "--url", url]);
        let output = command.env("TOOLGATE_TOKEN", "t").output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{url}");
    }
}

#[test]
fn the_doctor_tells_what_is_wrong() {
    let folder = folder();
    let file = folder.path().join("toolgate.toml");
    let path = file.to_str().unwrap();
    let data = folder.path().join("data");
    fs::write(&file, format!("data = {data:?}\nconnectors = [\"desk\"]\n")).unwrap();
    let well = run(&["doctor", "-c", path, "--json"]);
    assert_eq!(well.status.code(), Some(0));
    let said = document(&well).to_string();
    assert!(
        said.contains("is accepted") && said.contains("desk"),
        "{said}"
    );
    fs::write(&file, "data = 5\n").unwrap();
    let ill = run(&["doctor", "-c", path, "--json"]);
    assert_eq!(ill.status.code(), Some(1));
    assert_eq!(document(&ill)["ok"], false);
}
