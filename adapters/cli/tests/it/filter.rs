//! `toolgate filter`.

use serde_json::Value;
use serde_json::json;

use crate::gate::document;
use crate::gate::feed;

#[test]
fn each_line_is_answered_in_order_with_byte_spans() {
    let input = concat!(
        "{\"id\":\"a\",\"text\":\"Größe: mail ana@example.org\"}\n",
        "\n",
        "{\"id\":2,\"text\":\"nothing\"}\n",
        "{\"text\":\"key AKIAIOSFODNN7EXAMPLE\"}",
    );
    let output = feed(&["filter", "--jsonl"], input.as_bytes());
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[0]["id"], "a");
    assert_eq!(lines[0]["text"], "Größe: mail [redacted:email]");
    let start = "Größe: mail ".len();
    assert_eq!(
        lines[0]["findings"],
        json!([{"rule": "email", "kind": "pii", "start": start, "end": start + 15}])
    );
    assert_eq!(
        lines[1],
        json!({"id": 2, "text": "nothing", "findings": []})
    );
    assert_eq!(lines[2]["id"], Value::Null);
    assert_eq!(lines[2]["findings"][0]["kind"], "secret");
}

#[test]
fn no_character_of_a_text_ends_a_line() {
    let line = json!({"id": 1, "text": "a\u{2028}b\u{2029}c\u{85}d\ne"});
    let output = feed(&["filter", "--jsonl"], line.to_string().as_bytes());
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.matches('\n').count(), 1);
    assert!(!text.contains(['\u{85}', '\u{2028}', '\u{2029}']));
    let answer: Value = serde_json::from_str(&text).unwrap();
    assert!(answer["text"].as_str().unwrap().ends_with("d\ne"));
}

#[test]
fn one_text_is_cleaned_as_text_or_as_a_document() {
    let text = "password: hunter2\n";
    let plain = feed(&["filter"], text.as_bytes());
    assert_eq!(plain.stdout, b"password: [redacted:password]\n");
    let answer = document(&feed(&["filter", "--json"], text.as_bytes()));
    assert_eq!(answer["text"], "password: [redacted:password]\n");
    assert_eq!(answer["findings"].as_array().unwrap().len(), 1);
}

#[test]
fn a_line_that_is_no_object_is_wrong_usage() {
    let output = feed(
        &["filter", "--jsonl"],
        b"{\"id\":1,\"text\":\"a\"}\nhunter2\n",
    );
    assert_eq!(output.status.code(), Some(64));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("line 2"), "{said}");
    assert!(!said.contains("hunter2"), "{said}");
}
