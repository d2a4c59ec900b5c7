//! The walk over JSON: every string, keys too, and what stands side by side.

use serde_json::{Value, json};
use toolgate_filter::{Kind, Pii, Settings, clean_result, clean_value, marker};

#[track_caller]
#[expect(
    clippy::needless_pass_by_value,
    reason = "so that a case is two literals"
)]
fn check(value: Value, expected: Value) {
    let cleaned = clean_value(value, &Settings::strict());
    assert_eq!(cleaned.value, expected);
    assert_eq!(
        clean_value(cleaned.value.clone(), &Settings::strict()).value,
        cleaned.value
    );
}

// spec: FI-01
#[test]
fn strings_are_cleaned_and_numbers_are_not() {
    check(
        json!({"id": 4111111111111111_u64, "s": "4111 1111 1111 1111", "b": true, "n": null,
            "deep": [[{"x": ["ana@example.com", 4155550132_u64]}]]}),
        json!({"id": 4111111111111111_u64, "s": "[redacted:card]", "b": true, "n": null,
            "deep": [[{"x": ["[redacted:email]", 4155550132_u64]}]]}),
    );
    check(json!("ana@example.com"), json!("[redacted:email]"));
    check(
        json!({"password": 12345678, "token": true}),
        json!({"password": 12345678, "token": true}),
    );
}

// spec: FI-01
#[test]
fn keys_are_cleaned_and_none_is_lost() {
    check(
        json!({"ana@example.com": 1, "bob@example.com": 2, "x\u{200b}y": 3}),
        json!({"[redacted:email]": 1, "[redacted:email] (2)": 2, "xy": 3}),
    );
    let cleaned = clean_value(
        json!({"a/b": {"ana@example.com": "x"}}),
        &Settings::strict(),
    );
    assert_eq!(cleaned.findings.len(), 1);
    assert_eq!(cleaned.findings[0].at, "/a~1b/[redacted:email]#key");
    assert_eq!(cleaned.findings[0].span, 0..15);
}

// spec: FI-11
#[test]
fn no_key_comes_to_mean_something_to_a_reader() {
    let hidden = json!({"$serde_json\u{200b}::private::RawValue": "x"});
    let cleaned = clean_value(hidden, &Settings::strict()).value;
    assert_eq!(cleaned, json!({"_$serde_json::private::RawValue": "x"}));
    let read: Value = serde_json::from_str(&cleaned.to_string()).unwrap();
    assert_eq!(read, cleaned);
}

// spec: FI-01
#[test]
fn every_part_of_a_result_is_cleaned() {
    let key = "AKIAIOSFODNN7EXAMPLE";
    let clean = "[redacted:aws-key-id]";
    let result = json!({
        "content": [
            {"type": "text", "text": key, "annotations": {"title": key}, "_meta": {"n": key}},
            {"type": "resource", "resource": {"uri": format!("file:///{key}"), "mimeType": "text/plain", "text": key}},
            {"type": "resource_link", "name": key, "title": key, "description": key, "uri": "file:///a"},
        ],
        "structuredContent": {"a": {"b": [key, 1]}},
        "_meta": {"x": key},
        "isError": true,
    });
    let cleaned = clean_result(result, &Settings::strict());
    assert_eq!(
        cleaned.value,
        json!({
            "content": [
                {"type": "text", "text": clean, "annotations": {"title": clean}, "_meta": {"n": clean}},
                {"type": "resource", "resource": {"uri": format!("file:///{clean}"), "mimeType": "text/plain", "text": clean}},
                {"type": "resource_link", "name": clean, "title": clean, "description": clean, "uri": "file:///a"},
            ],
            "structuredContent": {"a": {"b": [clean, 1]}},
            "_meta": {"x": clean},
            "isError": true,
        })
    );
    let places: Vec<&str> = cleaned.findings.iter().map(|f| f.at.as_str()).collect();
    for place in [
        "/content/0/text",
        "/content/1/resource/uri",
        "/structuredContent/a/b/0",
        "/_meta/x",
    ] {
        assert!(places.contains(&place), "{place} in {places:?}");
    }
}

// spec: FI-01
#[test]
fn binary_blocks_stay_byte_for_byte() {
    let data = "AKIAIOSFODNN7EXAMPLE4242424242424242++//==";
    let result = json!({
        "content": [
            {"type": "image", "data": data, "mimeType": "image/png"},
            {"type": "audio", "data": data, "mimeType": "audio/wav"},
            {"type": "resource", "resource": {"uri": "file:///a.bin", "mimeType": "application/octet-stream", "blob": data}},
        ],
    });
    let cleaned = clean_result(result.clone(), &Settings::strict());
    assert_eq!(cleaned.value, result);
    assert_eq!(cleaned.findings, []);
    // What is no base64 is no image either, and a text block has no such member.
    let posing = json!({"content": [
        {"type": "image", "data": "mail ana@example.com", "mimeType": "AKIAIOSFODNN7EXAMPLE"},
        {"type": "text", "text": "", "data": "AKIAIOSFODNN7EXAMPLE"},
    ]});
    let cleaned = clean_result(posing, &Settings::strict());
    assert_eq!(cleaned.value["content"][0]["data"], "mail [redacted:email]");
    assert_eq!(
        cleaned.value["content"][0]["mimeType"],
        "[redacted:aws-key-id]"
    );
    assert_eq!(cleaned.value["content"][1]["data"], "[redacted:aws-key-id]");
}

// spec: FI-05
#[test]
fn the_name_of_a_field_governs_its_value() {
    check(
        json!({"password": "correct horse", "dbPassword": "x", "API_KEY": "y", "client-secret": "z",
            "accessToken": "a", "passwords": ["plain"], "password_hint": "a dog"}),
        json!({"password": "[redacted:password]", "dbPassword": "[redacted:password]",
            "API_KEY": "[redacted:api-key]", "client-secret": "[redacted:secret]",
            "accessToken": "[redacted:token]", "passwords": ["plain"], "password_hint": "a dog"}),
    );
    check(
        json!({"password": ["a", "b"], "secret": {"value": "c", "note": "d"}}),
        json!({"password": ["[redacted:password]", "[redacted:password]"],
            "secret": {"value": "[redacted:secret]", "note": "d"}}),
    );
    check(
        json!([{"key": "password", "value": "a b"}, {"name": "API_KEY", "value": "c"}, {"name": "color", "value": "red"}]),
        json!([{"key": "password", "value": "[redacted:password]"}, {"name": "API_KEY", "value": "[redacted:api-key]"},
            {"name": "color", "value": "red"}]),
    );
    check(
        json!({"password": "", "token": "[redacted:token]", "secret": "true", "nextPageToken": "abc", "key": "PROJ-1"}),
        json!({"password": "", "token": "[redacted:token]", "secret": "true", "nextPageToken": "abc", "key": "PROJ-1"}),
    );
    let cleaned = clean_value(json!({"password": "hunter2"}), &Settings::new(Pii::Allow));
    assert_eq!(cleaned.findings.len(), 1);
    let finding = &cleaned.findings[0];
    assert_eq!(
        (finding.rule.as_ref(), finding.kind),
        ("password", Kind::Secret)
    );
    assert_eq!(
        (finding.at.as_str(), finding.span.clone()),
        ("/password", 0..7)
    );
}

// spec: FI-10
#[test]
fn a_match_across_text_blocks_goes_on_both_sides() {
    let result = json!({"content": [
        {"type": "text", "text": "first"},
        {"type": "text", "text": "key AKIAIOS"},
        {"type": "text", "text": "FODNN7"},
        {"type": "text", "text": "EXAMPLE, done"},
        {"type": "image", "data": "AAAA", "mimeType": "image/png"},
        {"type": "text", "text": "AKIAIOS"},
    ]});
    let cleaned = clean_result(result, &Settings::strict());
    let texts: Vec<&str> = cleaned.value["content"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|b| b["text"].as_str())
        .collect();
    let word = "[redacted:aws-key-id]";
    assert_eq!(
        texts,
        [
            "first",
            "key [redacted:aws-key-id]",
            word,
            "[redacted:aws-key-id], done",
            "AKIAIOS"
        ]
    );
    let places: Vec<(&str, std::ops::Range<usize>)> = cleaned
        .findings
        .iter()
        .map(|f| (f.at.as_str(), f.span.clone()))
        .collect();
    assert_eq!(
        places,
        [
            ("/content/1/text", 4..11),
            ("/content/2/text", 0..6),
            ("/content/3/text", 0..7)
        ]
    );
}

// spec: FI-10
#[test]
fn a_match_across_strings_of_an_array_is_found() {
    check(
        json!(["AKIAIOSFO", "DNN7EXAMPLE"]),
        json!(["[redacted:aws-key-id]", "[redacted:aws-key-id]"]),
    );
    check(
        json!(["ana", "@example.com"]),
        json!(["[redacted:email]", "[redacted:email]"]),
    );
    check(
        json!(["4242 4242", "4242 4242"]),
        json!(["[redacted:card]", "[redacted:card]"]),
    );
    check(
        json!(["password:", "hunter2"]),
        json!(["password:", "[redacted:password]"]),
    );
    check(
        json!([
            "-----BEGIN RSA PRIVATE KEY-----",
            "MIIEowIBAAKCAQEA",
            "abcdefghijklmnop",
            "The end of it."
        ]),
        json!([
            "[redacted:private-key]",
            "[redacted:private-key]",
            "[redacted:private-key]",
            "The end of it."
        ]),
    );
}

// spec: FI-10
#[test]
fn neighbours_that_belong_to_nothing_stay() {
    for value in [
        json!(["see ana", "bob", "x.com"]),
        json!(["415", "555", "0132"]),
        json!(["username", "password", "email"]),
        json!([["AKIAIOSFO"], ["DNN7EXAMPLE"]]),
        json!(["AKIAIOSFO", 1, "DNN7EXAMPLE"]),
        json!({"a": "AKIAIOSFO", "b": "DNN7EXAMPLE"}),
    ] {
        assert_eq!(clean_value(value.clone(), &Settings::strict()).value, value);
    }
    check(
        json!(["ana@example.com", "hello"]),
        json!(["[redacted:email]", "hello"]),
    );
    check(
        json!(["password: hunter2", "next"]),
        json!(["password: [redacted:password]", "next"]),
    );
}

// spec: FI-11
#[test]
fn a_marker_is_found_by_its_exact_form() {
    for text in ["[redacted:a]", "x [redacted:api-key_2] y"] {
        assert!(marker::contains(text));
    }
    for text in [
        "[redacted:]",
        "[redacted:A]",
        "[redacted: a]",
        "[redacted:a",
        "redacted:a]",
    ] {
        assert!(!marker::contains(text), "{text}");
    }
    assert!(!marker::contains(&format!("[redacted:{}]", "a".repeat(41))));
    assert!(marker::is_marker(&format!("[redacted:{}]", "a".repeat(40))));
    assert!(!marker::is_marker("[redacted:a] "));
    let value = json!({"a": [1, {"b/c": "x[redacted:email]"}], "[redacted:x]": 1});
    assert_eq!(marker::find(&value).as_deref(), Some("/a/1/b~1c"));
    assert_eq!(
        marker::find(&json!({"[redacted:x]": 1})).as_deref(),
        Some("/[redacted:x]#key")
    );
    assert_eq!(marker::find(&json!(["redacted", 1, null])), None);
}
