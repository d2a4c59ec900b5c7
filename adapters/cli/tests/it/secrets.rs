//! What no log and no file may hold.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::gate::Gate;
use crate::gate::folder;

const ARGUMENT: &str = "an-argument-that-nobody-may-read";

#[test]
fn no_log_line_holds_a_key_a_token_or_an_argument() {
    let folder = folder();
    let gate = Gate::demo(folder.path());
    let support = gate.key("support-bot").to_owned();
    let operations = gate.key("ops-bot").to_owned();
    let pending = gate.call(
        &support,
        "tickets_comment",
        &json!({"id": "T-1001", "body": ARGUMENT}),
    );
    let id = pending["structuredContent"]["id"]
        .as_str()
        .unwrap_or("none");
    let path = format!("/api/approvals/{id}");
    gate.api(
        "POST",
        &path,
        Some(&json!({"approved": true, "reason": ARGUMENT})),
    );
    gate.call(
        &support,
        "files_read",
        &json!({"path": format!("docs/../{ARGUMENT}")}),
    );
    gate.call(
        &operations,
        "flags_set",
        &json!({"name": ARGUMENT, "value": true}),
    );
    gate.call(&support, ARGUMENT, &json!({}));
    gate.mcp(&operations, "no/such/method", &json!({"value": ARGUMENT}));
    gate.api("GET", &format!("/api/approvals/{ARGUMENT}"), None);
    gate.api("GET", &format!("/api/audit?principal={ARGUMENT}"), None);
    gate.api(
        "PUT",
        "/api/policies/a",
        Some(&json!({"policy": {"tools": {ARGUMENT: {}}}})),
    );
    crate::http::send(
        gate.address,
        "POST",
        "/mcp",
        &[("Authorization", "Bearer a-made-up-key")],
        b"",
    );
    let token = gate.token().to_owned();
    let log = gate.log();
    assert!(log.lines().count() > 5, "{log}");
    for secret in [
        &support,
        &operations,
        &token,
        ARGUMENT,
        "a-made-up-key",
        "AKIAIOSFODNN7EXAMPLE",
    ] {
        assert!(!log.contains(secret), "{secret} is in\n{log}");
    }
    for line in log.lines() {
        assert!(
            serde_json::from_str::<serde_json::Value>(line).is_ok(),
            "{line}"
        );
    }
}

#[test]
fn no_file_holds_a_key_and_only_the_owner_reads_the_folder() {
    let folder = folder();
    let gate = Gate::demo(folder.path());
    let keys = [
        gate.key("support-bot").to_owned(),
        gate.key("ops-bot").to_owned(),
    ];
    gate.call(&keys[0], "tickets_list", &json!({}));
    assert!(gate.end().success());
    visit(&folder.path().join("data"), &|path| {
        let bytes = fs::read(path).unwrap();
        for key in &keys {
            let found = bytes
                .windows(key.len())
                .any(|window| window == key.as_bytes());
            assert!(!found, "{}", path.display());
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = fs::metadata(path).unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0, "{}", path.display());
        }
    });
}

fn visit(folder: &Path, look: &dyn Fn(&Path)) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            visit(&path, look);
        } else {
            look(&path);
        }
    }
}
