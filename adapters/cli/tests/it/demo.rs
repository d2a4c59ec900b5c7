//! What a demo keeps apart from gates that are none.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::json;

use crate::gate::ADMIN;
use crate::gate::Gate;
use crate::gate::document;
use crate::gate::folder;
use crate::gate::operate;
use crate::gate::toolgate;

fn demo(data: &Path) -> Output {
    toolgate()
        .args(["demo", "--listen", "127.0.0.1:0", "--data"])
        .arg(data)
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_demo_takes_no_folder_of_a_gate_that_is_none() {
    let folder = folder();
    let gate = Gate::configured(folder.path(), &[]);
    let data = folder.path().join("toolgate-data");
    assert_eq!(demo(&data).status.code(), Some(3));
    assert!(gate.end().success());
    let before = fs::read(data.join("toolgate.sqlite3")).unwrap();
    let refused = demo(&data);
    assert_eq!(refused.status.code(), Some(64));
    assert!(
        said(&refused).contains("a gate that is no demo"),
        "{}",
        said(&refused)
    );
    assert_eq!(fs::read(data.join("toolgate.sqlite3")).unwrap(), before);
    assert!(Gate::configured(folder.path(), &[]).end().success());
}

#[test]
fn a_gate_that_is_no_demo_takes_no_folder_of_one() {
    let folder = folder();
    assert!(Gate::demo(folder.path()).end().success());
    let file = folder.path().join("toolgate.toml");
    fs::write(&file, "data = \"data\"\n").unwrap();
    let mut serve = toolgate();
    serve
        .args(["serve", "--listen", "127.0.0.1:0", "-c"])
        .arg(&file);
    let refused = serve.env("TOOLGATE_ADMIN_TOKEN", ADMIN).output().unwrap();
    assert_eq!(refused.status.code(), Some(64));
    assert!(
        said(&refused).contains("this is the data of a demo"),
        "{}",
        said(&refused)
    );
    assert!(Gate::demo(folder.path()).end().success());
}

#[test]
fn keys_of_the_demo_s_agents_last_until_it_starts_again_and_others_longer() {
    let folder = folder();
    let gate = Gate::demo(folder.path());
    let id = gate.agent("support-bot")["id"].clone();
    let mut old = vec![
        gate.key("support-bot").to_owned(),
        gate.key("ops-bot").to_owned(),
    ];
    let by_hand = document(&operate(&gate, &["agent", "key", "ops-bot", "--json"]));
    old.push(by_hand["key"].as_str().unwrap().to_owned());
    let added = document(&operate(&gate, &["agent", "add", "mine", "--json"]));
    let mine = added["key"].as_str().unwrap();
    assert!(gate.end().success());

    let gate = Gate::demo(folder.path());
    assert_eq!(gate.agent("support-bot")["id"], id);
    let status = |key: &str| {
        let bearer = format!("Bearer {key}");
        let headers = [
            ("Authorization", bearer.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
        crate::http::send(gate.address, "POST", "/mcp", &headers, body.as_bytes()).status
    };
    for key in &old {
        assert_eq!(status(key), 401);
    }
    for key in [mine, gate.key("support-bot"), gate.key("ops-bot")] {
        assert_eq!(status(key), 200);
    }
}
