//! What outlives a process, and what a second one may do.

use std::fs;
use std::time::Duration;
use std::time::Instant;

use serde_json::json;

use crate::gate::Gate;
use crate::gate::document;
use crate::gate::folder;
use crate::gate::operate;
use crate::gate::run;

#[test]
fn a_crash_gives_no_fresh_burst_and_breaks_no_chain() {
    let folder = folder();
    let gate = Gate::demo(folder.path());
    let policy = folder.path().join("policy.json");
    fs::write(
        &policy,
        r#"{"tools":{"tickets_list":{}},"perMinute":3,"perDay":5}"#,
    )
    .unwrap();
    let path = policy.to_str().unwrap();
    let made = document(&operate(
        &gate,
        &["agent", "add", "few", "--policy", path, "--json"],
    ));
    let key = made["key"].as_str().unwrap();
    for _ in 0..3 {
        let result = gate.call(key, "tickets_list", &json!({}));
        assert_ne!(result["isError"], true, "{result}");
    }
    gate.crash();

    let gate = Gate::demo(folder.path());
    let result = gate.call(key, "tickets_list", &json!({}));
    assert_eq!(
        result["_meta"]["toolgate/outcome"]["code"], "rate_limited",
        "{result}"
    );
    let shown = document(&operate(&gate, &["agent", "show", "few", "--json"]));
    assert_eq!(shown["usage"]["usedToday"], 3);
    let verified = operate(&gate, &["audit", "verify", "--json"]);
    assert_eq!(verified.status.code(), Some(0));
    assert_eq!(document(&verified)["complete"], true);
}

#[test]
fn a_second_gate_on_the_same_folder_is_refused() {
    let folder = folder();
    let _gate = Gate::demo(folder.path());
    let data = folder.path().join("data");
    let second = run(&[
        "demo",
        "--listen",
        "127.0.0.1:0",
        "--data",
        data.to_str().unwrap(),
    ]);
    assert_eq!(second.status.code(), Some(3));
    let said = String::from_utf8(second.stderr).unwrap();
    assert!(said.contains("another process"), "{said}");
}

// spec: AU-08
#[test]
fn the_audit_is_verified_offline_beside_a_running_gate_and_tells_tampering() {
    let folder = folder();
    let gate = Gate::demo(folder.path());
    gate.call(gate.key("support-bot"), "tickets_list", &json!({}));
    let data = folder.path().join("data");
    let data = data.to_str().unwrap();
    let sound = run(&["audit", "verify", "--data", data, "--json"]);
    assert_eq!(sound.status.code(), Some(0));
    let report = document(&sound);
    assert_eq!(
        (&report["ok"], &report["complete"]),
        (&json!(true), &json!(true))
    );

    let export = run(&["audit", "export", "--data", data]);
    assert_eq!(export.status.code(), Some(0));
    let file = folder.path().join("export.jsonl");
    fs::write(&file, &export.stdout).unwrap();
    let path = file.to_str().unwrap();
    assert_eq!(
        run(&["audit", "verify", "--file", path]).status.code(),
        Some(0)
    );
    let text = String::from_utf8(export.stdout).unwrap();
    let cut: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("\"entry\""))
        .collect();
    fs::write(&file, cut.join("\n")).unwrap();
    assert_eq!(
        run(&["audit", "verify", "--file", path]).status.code(),
        Some(2)
    );
    fs::write(&file, text.replace("tickets_list", "tickets_lost")).unwrap();
    assert_eq!(
        run(&["audit", "verify", "--file", path]).status.code(),
        Some(1)
    );
    let foreign: Vec<_> = text.lines().take(1).chain(["a b", "", "{}"]).collect();
    fs::write(&file, foreign.join("\n")).unwrap();
    let tampered = run(&["audit", "verify", "--file", path]);
    assert_eq!(tampered.status.code(), Some(1));
    let said = String::from_utf8(tampered.stdout).unwrap();
    assert!(said.contains("no lines of an export: 2, 4"), "{said}");
    fs::write(&file, "[policy]\na = 1\n").unwrap();
    let other = run(&["audit", "verify", "--file", path]);
    assert_eq!(other.status.code(), Some(64));
    let said = String::from_utf8(other.stderr).unwrap();
    assert!(said.contains("is not an export of toolgate"), "{said}");
    let missing = folder.path().join("missing");
    let missing = missing.to_str().unwrap();
    assert_eq!(
        run(&["audit", "verify", "--file", missing]).status.code(),
        Some(3)
    );
    assert_eq!(
        run(&["audit", "verify", "--data", missing]).status.code(),
        Some(3)
    );

    let id = gate.agent("support-bot")["id"].as_str().unwrap().to_owned();
    assert!(gate.end().success());
    let database = database(std::path::Path::new(data));
    let connection = rusqlite::Connection::open(database).unwrap();
    let bytes: Vec<u8> = connection
        .query_row(
            "SELECT bytes FROM entries WHERE chain = ?1 AND seq = 2",
            [&id],
            |row| row.get(0),
        )
        .unwrap();
    let forged = String::from_utf8(bytes)
        .unwrap()
        .replacen("\"at\":\"2", "\"at\":\"1", 1);
    connection
        .execute(
            "UPDATE entries SET bytes = ?1 WHERE chain = ?2 AND seq = 2",
            (forged.as_bytes(), &id),
        )
        .unwrap();
    drop(connection);
    let found = run(&["audit", "verify", "--data", data, "--json"]);
    assert_eq!(found.status.code(), Some(1));
    let problem = document(&found)["problems"][0].clone();
    assert_eq!(
        (&problem["chain"], &problem["seq"]),
        (&json!(id), &json!(2)),
        "{problem}"
    );
}

#[test]
fn a_gate_ends_soon_when_asked_to_and_lets_a_client_linger_no_longer() {
    let folder = folder();
    let gate = Gate::demo(folder.path());
    let idle = crate::http::connect(gate.address);
    let began = Instant::now();
    let status = gate.end();
    assert!(status.success());
    assert!(began.elapsed() < Duration::from_secs(10));
    drop(idle);
    let again = Gate::demo(folder.path());
    assert_eq!(again.api("GET", "/ready", None).status, 200);
}

/// The database in a data folder.
fn database(data: &std::path::Path) -> std::path::PathBuf {
    let files = fs::read_dir(data)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut found = files.filter(|path| path.extension().is_some_and(|end| end == "sqlite3"));
    found.next().unwrap()
}
