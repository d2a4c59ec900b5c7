//! What a person is told who got something wrong.

use std::fs;

use crate::gate::folder;
use crate::gate::run;

/// Runs a command that fails with that code and answers with what it says.
fn fails(args: &[&str], code: i32) -> String {
    let output = run(args);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
    said
}

#[test]
fn a_file_that_cannot_be_used_is_named_with_a_plain_reason() {
    let folder = folder();
    let here = folder.path().to_str().unwrap();
    let file = folder.path().join("there");
    fs::write(&file, "").unwrap();
    let file = file.to_str().unwrap();
    let none = folder.path().join("none");
    let none = none.to_str().unwrap();
    for (args, name, why) in [
        (vec!["init", file], file, "there is such a file already"),
        (vec!["policy", "check", none], none, "there is no such file"),
        (vec!["policy", "check", here], here, "it is a folder"),
        (vec!["reload", "-c", none], none, "there is no such file"),
        (
            vec!["audit", "verify", "--file", none],
            none,
            "there is no such file",
        ),
        (
            vec!["audit", "verify", "--data", none],
            none,
            "there is no such folder",
        ),
        (
            vec!["audit", "export", "--data", here],
            here,
            "no gate kept anything",
        ),
        (
            vec!["backup", "copy", "--data", none],
            none,
            "there is no such folder",
        ),
    ] {
        let said = fails(&args, 3);
        assert!(
            said.contains(name) && said.contains(why),
            "{args:?}: {said}"
        );
        assert!(!said.contains("entity"), "{args:?}: {said}");
    }
}

#[test]
fn a_word_that_is_none_of_those_known_is_wrong_usage() {
    let said = fails(&["approvals", "list", "--status", "pendig"], 64);
    assert!(said.contains("withdrawn") && said.contains("all"), "{said}");
    let said = fails(&["agent", "key", "bot", "--expires-at", "tomorrow"], 64);
    assert!(said.contains("RFC 3339"), "{said}");
    let said = fails(&["agent", "add", "My_Agent"], 64);
    assert!(
        said.contains("lower-case letters, digits and hyphens"),
        "{said}"
    );
}

#[test]
fn a_policy_that_is_not_strict_json_is_told_with_line_and_column() {
    let folder = folder();
    let file = folder.path().join("policy.json");
    let path = file.to_str().unwrap();
    for (text, place, why) in [
        (
            "{\n  \"tools\": {},\n}",
            "policy.json:3:1:",
            "trailing comma",
        ),
        (
            "{\"tools\": {\n  \"a\": {},\n  \"a\": {}\n}}",
            "policy.json:3:5:",
            "`/tools/a` holds this key twice",
        ),
    ] {
        fs::write(&file, text).unwrap();
        let said = fails(&["policy", "check", path], 64);
        assert!(said.contains(place) && said.contains(why), "{said}");
    }
    let said = fails(
        &["policy", "explain", "bot", "files_read", "--args", "{a: 1}"],
        64,
    );
    assert!(said.contains("line 1, column 2"), "{said}");
}
