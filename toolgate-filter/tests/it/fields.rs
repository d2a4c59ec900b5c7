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

/// What the blocks of a result become.
#[track_caller]
#[expect(
    clippy::needless_pass_by_value,
    reason = "so that a case is two literals"
)]
fn check_blocks(blocks: Value, expected: Value) {
    let cleaned = clean_result(json!({"content": blocks}), &Settings::strict()).value;
    assert_eq!(cleaned, json!({"content": expected}));
    assert_eq!(
        clean_result(cleaned.clone(), &Settings::strict()).value,
        cleaned
    );
}

// spec: FI-01
#[test]
fn a_key_means_what_the_next_reader_takes_it_for() {
    let text = format!("{KEY} password: hunter2 me@example.com");
    let clean = format!("{CLEAN} password: [redacted:password] [redacted:email]");
    for hidden in ["\u{200b}", "\u{fe0f}", "\u{e0041}", "\u{1b}[0m", "\u{202e}"] {
        for place in [0, 2, 4] {
            let disguised = |key: &str| {
                let (left, right) = key.split_at(place.min(key.len()));
                format!("{left}{hidden}{right}")
            };
            check_blocks(
                json!([{"type": "text", disguised("text"): text}]),
                json!([{"type": "text", "text": clean}]),
            );
            check_blocks(
                json!([{disguised("type"): disguised("text"), disguised("text"): text}]),
                json!([{"type": "text", "text": clean}]),
            );
            check_blocks(
                json!([{"type": "resource", disguised("resource"): {disguised("text"): text}}]),
                json!([{"type": "resource", "resource": {"text": clean}}]),
            );
            check_blocks(
                json!([{"type": "image", disguised("data"): text}]),
                json!([{"type": "image", "data": clean}]),
            );
            let meta = json!({disguised("_meta"): {disguised("n"): text}});
            let cleaned = clean_result(meta, &Settings::strict()).value;
            assert_eq!(cleaned, json!({"_meta": {"n": clean}}));
            for list in ["content", "contents"] {
                let block = json!({"type": "text", "uri": "a:b", "text": text});
                let result = json!({disguised(list): [block]});
                let cleaned = clean_result(result, &Settings::strict()).value;
                assert_eq!(cleaned[list][0]["text"], clean.as_str());
            }
            check(
                json!([{disguised("name"): disguised("password"), disguised("value"): "x y"}]),
                json!([{"name": "password", "value": "[redacted:password]"}]),
            );
        }
    }
}

// spec: FI-01
#[test]
fn a_disguised_key_joins_its_neighbours() {
    let (left, right) = KEY.split_at(9);
    check_blocks(
        json!([{"ty\u{200b}pe": "te\u{200b}xt", "te\u{200b}xt": left}, {"type": "text", "text": right}]),
        json!([{"type": "text", "text": CLEAN}, {"type": "text", "text": CLEAN}]),
    );
}

// spec: FI-01
#[test]
fn keys_that_become_equal_are_both_cleaned() {
    check_blocks(
        json!([{"type": "text", "te\u{200b}xt": KEY, "text": KEY, "t\u{200b}ext": KEY}]),
        json!([{"type": "text", "text (2)": CLEAN, "text": CLEAN, "text (3)": CLEAN}]),
    );
    check_blocks(
        json!([{"type": "text", "ty\u{200b}pe": "image", "data": KEY, "text": "", "text (2)": 1, "te\u{ad}xt": KEY}]),
        json!([{"type": "text", "type (2)": "image", "data": CLEAN, "text": "", "text (2)": 1, "text (3)": CLEAN}]),
    );
    check_blocks(
        json!([{"type": "image", "da\u{200b}ta": KEY, "data": KEY}]),
        json!([{"type": "image", "data (2)": CLEAN, "data": CLEAN}]),
    );
    let password = "[redacted:password]";
    check(
        json!({"pass\u{200b}word": "x y", "password": "z", "passwor\u{301}d": "u v"}),
        json!({"password (2)": password, "password": password, "passwor\u{301}d": password}),
    );
    check(
        json!([{"name": "password", "val\u{200b}ue": "x y", "value": "z"}]),
        json!([{"name": "password", "value (2)": password, "value": password}]),
    );
    check(
        json!([{"name": "color", "na\u{200b}me": "password", "value": "z"}]),
        json!([{"name": "color", "name (2)": "password", "value": password}]),
    );
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
        json!([{"Key": "password", "Value": "a b"}, {"name": "pass\u{200b}word", "value": "c"},
            {"name": "password: hunter2", "value": "d"}]),
        json!([{"Key": "password", "Value": "[redacted:password]"},
            {"name": "password", "value": "[redacted:password]"},
            {"name": "password: [redacted:password]", "value": "[redacted:password]"}]),
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
fn a_match_across_whatever_stands_between_is_found() {
    let (left, right) = KEY.split_at(9);
    let text = |text: &str| json!({"type": "text", "text": text});
    let resource =
        |text: &str| json!({"type": "resource", "resource": {"uri": "a:b", "text": text}});
    let image = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
    let link = json!({"type": "resource_link", "name": "n", "uri": "file:///a"});
    let cases = [
        vec![text(left), resource(right)],
        vec![resource(left), text(right)],
        vec![resource(left), resource(right)],
        vec![text(left), image.clone(), text(right)],
        vec![
            text(left),
            link,
            json!(1),
            image.clone(),
            image,
            resource(right),
        ],
        vec![text(left), text(""), json!({"type": "text"}), text(right)],
        vec![
            text(left),
            json!({"type": "resource", "resource": {"blob": "gICA"}}),
            text(right),
        ],
    ];
    for blocks in cases {
        let last = blocks.len() - 1;
        let cleaned = clean_result(json!({"content": blocks}), &Settings::strict());
        let at = |i: usize| {
            let is_text = blocks[i]["type"] == "text";
            let way = if is_text { "text" } else { "resource/text" };
            format!("/content/{i}/{way}")
        };
        for i in [0, last] {
            let found = cleaned.value.pointer(&at(i)).and_then(Value::as_str);
            assert_eq!(found, Some(CLEAN), "block {i} of {blocks:?}");
        }
        let places = cleaned
            .findings
            .iter()
            .map(|f| (f.at.clone(), f.span.clone()));
        let expected = [(at(0), 0..left.len()), (at(last), 0..right.len())];
        assert_eq!(places.collect::<Vec<_>>(), expected);
    }
    let contents = json!([{"uri": "a:b", "text": left}, {"uri": "a:c", "blob": "AAAA"}, {"uri": "a:d", "text": right}]);
    let cleaned = clean_result(json!({"contents": contents}), &Settings::strict());
    assert_eq!(cleaned.value["contents"][0]["text"], CLEAN);
    assert_eq!(cleaned.value["contents"][2]["text"], CLEAN);
    assert_eq!(cleaned.findings[1].at, "/contents/2/text");
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

const KEY: &str = "AKIAIOSFODNN7EXAMPLE";
const CLEAN: &str = "[redacted:aws-key-id]";
