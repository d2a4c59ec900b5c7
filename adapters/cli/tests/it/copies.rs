//! Copies of what a gate keeps, and the way back from one.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::json;

use crate::gate::ADMIN;
use crate::gate::Gate;
use crate::gate::document;
use crate::gate::folder;
use crate::gate::operate_as;
use crate::gate::run;
use crate::gate::toolgate;

#[test]
fn a_backup_is_restored_where_no_gate_runs() {
    let folder = folder();
    let gate = Gate::demo(folder.path());
    let data = folder.path().join("data");
    let data = data.to_str().unwrap();
    let copy = folder.path().join("copy.sqlite3");
    let copy = copy.to_str().unwrap();
    let made = run(&["backup", copy, "--data", data]);
    assert_eq!(
        made.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    assert_eq!(
        run(&["backup", copy, "--data", data]).status.code(),
        Some(3)
    );
    let id = gate.agent("support-bot")["id"].clone();
    assert_eq!(
        run(&["restore", copy, "--data", data]).status.code(),
        Some(3)
    );

    let other = folder.path().join("other");
    let other = other.to_str().unwrap();
    let restored = run(&["restore", copy, "--data", other]);
    assert_eq!(
        restored.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&restored.stderr)
    );
    assert_eq!(
        run(&["audit", "verify", "--data", other]).status.code(),
        Some(0)
    );
    let again = Gate::configured(folder.path(), &["--data", other]);
    let shown = operate_as(&again, ADMIN, &["agent", "show", "support-bot", "--json"]);
    assert_eq!(document(&shown)["id"], id);
}

fn from(folder: &Path, args: &[&str]) -> Output {
    let mut command = toolgate();
    command.args(args).current_dir(folder).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_rollback_is_named_and_told_with_what_it_undoes() {
    let folder = folder();
    let here = folder.path();
    let gate = Gate::configured(here, &[]);
    let say = |args: &[&str]| assert!(operate_as(&gate, ADMIN, args).status.success(), "{args:?}");
    say(&["agent", "add", "bot"]);
    assert!(from(here, &["backup", "copy"]).status.success());
    say(&["agent", "kill", "bot"]);
    assert!(gate.end().success());

    let restore = ["restore", "copy", "--data", "toolgate-data"];
    let refused = from(here, &restore);
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        said(&refused).contains("--accept-rollback"),
        "{}",
        said(&refused)
    );
    let accepted = from(here, &[&restore[..], &["--accept-rollback"]].concat());
    assert_eq!(accepted.status.code(), Some(0), "{}", said(&accepted));
    let printed = String::from_utf8(accepted.stdout).unwrap();
    for word in [
        "kills",
        "revoked keys",
        "policies",
        "decisions",
        "`toolgate agent list`",
    ] {
        assert!(printed.contains(word), "{printed}");
    }
    let gate = Gate::configured(here, &[]);
    let listed = operate_as(&gate, ADMIN, &["agent", "list", "--json"]);
    assert_eq!(document(&listed)["principals"][0]["killed"], false);
    assert!(gate.end().success());

    assert!(from(here, &["backup", "later"]).status.success());
    let level = from(here, &["restore", "later", "--data", "toolgate-data"]);
    assert!(!String::from_utf8(level.stdout).unwrap().contains("undone"));
    let again = [&restore[..], &["--accept-rollback", "--json"]].concat();
    let again = document(&from(here, &again));
    assert_eq!(again["rollback"], true);
    let fresh = document(&from(
        here,
        &["restore", "copy", "--data", "fresh", "--json"],
    ));
    assert_eq!(
        fresh,
        json!({"data": "fresh", "kept": null, "rollback": false})
    );
}

#[test]
fn a_wrong_copy_is_named_itself() {
    let folder = folder();
    let here = folder.path();
    fs::write(
        here.join("notes"),
        "these are notes, and not what a gate keeps",
    )
    .unwrap();
    for (name, code, why) in [
        ("none", 3, "none: there is no such file"),
        (".", 3, ".: it is a folder"),
        ("notes", 64, "notes: this is no copy of what a gate keeps"),
    ] {
        let failed = from(here, &["restore", name, "--data", "data"]);
        assert_eq!(failed.status.code(), Some(code), "{name}");
        assert!(said(&failed).contains(why), "{}", said(&failed));
        assert!(!here.join("data").exists(), "{name}");
    }
}
