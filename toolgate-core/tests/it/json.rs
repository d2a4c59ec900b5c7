//! Strict reading, canonical bytes and the sorted form of definitions.

use proptest::prelude::*;
use serde_json::Value;
use serde_json::json;
use toolgate_core::json::JsonErrorKind;
use toolgate_core::json::canonical;
use toolgate_core::json::parse_strict;
use toolgate_core::json::pointer_escape;
use toolgate_core::json::sorted;

// spec: AG-07
#[test]
fn what_two_readers_could_take_differently_is_refused() {
    let deep = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
    let cases = [
        (
            r#"{"path":"docs/a","path":"x"}"#,
            JsonErrorKind::DuplicateKey,
            "/path",
        ),
        (
            r#"{"path":1,"p\u0061th":2}"#,
            JsonErrorKind::DuplicateKey,
            "/path",
        ),
        (
            r#"{"a":[{"b":1,"b":1}]}"#,
            JsonErrorKind::DuplicateKey,
            "/a/0/b",
        ),
        (r#"{"id":9007199254740993}"#, JsonErrorKind::Integer, "/id"),
        (r#"{"id":-9007199254740992}"#, JsonErrorKind::Integer, "/id"),
        (
            r#"{"id":18446744073709551616}"#,
            JsonErrorKind::Integer,
            "/id",
        ),
        (
            r#"{"id":-9223372036854775808}"#,
            JsonErrorKind::Integer,
            "/id",
        ),
        (
            r#"{"id":-9223372036854775809}"#,
            JsonErrorKind::Integer,
            "/id",
        ),
        (
            r#"{"a/b":{"~":[0,123456789012345678901234567890]}}"#,
            JsonErrorKind::Integer,
            "/a~1b/~0/1",
        ),
        (r#"{"n":9007199254740993.0}"#, JsonErrorKind::Integer, "/n"),
        (r#"{"n":-1e20}"#, JsonErrorKind::Integer, "/n"),
        (r#"{"n":1e400}"#, JsonErrorKind::Number, "/n"),
        (r#"{"n":-1e400}"#, JsonErrorKind::Number, "/n"),
        (r#"{"s":"\ud800"}"#, JsonErrorKind::Surrogate, "/s"),
        (r#"{"s":"\udc00\ud800"}"#, JsonErrorKind::Surrogate, "/s"),
        (r#"{"s":"\ud800\u0041"}"#, JsonErrorKind::Surrogate, "/s"),
        (r#"{"a\u0000":1}"#, JsonErrorKind::NulInKey, "/a\0"),
        (
            r#"{"a":{"$serde_json::private::RawValue":"{}"}}"#,
            JsonErrorKind::ReservedKey,
            "/a/$serde_json::private::RawValue",
        ),
        (
            r#"{"\u0024serde_json::private::Number":"1"}"#,
            JsonErrorKind::ReservedKey,
            "/$serde_json::private::Number",
        ),
        ("\u{feff}{}", JsonErrorKind::ByteOrderMark, ""),
        ("{} {}", JsonErrorKind::Trailing, ""),
        ("{}x", JsonErrorKind::Trailing, ""),
        (r#"{"a":01}"#, JsonErrorKind::Syntax, ""),
        (r#"{"a":1.}"#, JsonErrorKind::Syntax, "/a"),
        (r#"{"a":.5}"#, JsonErrorKind::Syntax, "/a"),
        (r#"{"a":+1}"#, JsonErrorKind::Syntax, "/a"),
        (r#"{"a":-}"#, JsonErrorKind::Syntax, "/a"),
        (r#"{"a":NaN}"#, JsonErrorKind::Syntax, "/a"),
        (r#"{"a":1e}"#, JsonErrorKind::Syntax, "/a"),
        (r#"{"a":"\x"}"#, JsonErrorKind::Syntax, "/a"),
        (r#"{"a":"\u00g0"}"#, JsonErrorKind::Syntax, "/a"),
        ("{\"a\":\"b\nc\"}", JsonErrorKind::Syntax, "/a"),
        ("{'a':1}", JsonErrorKind::Syntax, ""),
        (r#"{"a":1,}"#, JsonErrorKind::Syntax, ""),
        ("[1,]", JsonErrorKind::Syntax, "/1"),
        ("", JsonErrorKind::Syntax, ""),
        ("\"", JsonErrorKind::Syntax, ""),
        ("tru", JsonErrorKind::Syntax, ""),
    ];
    for (text, kind, path) in cases {
        let error = parse_strict(text).unwrap_err();
        assert_eq!((error.kind, error.path.as_str()), (kind, path), "{text}");
    }
    assert!(parse_strict(&deep(64)).is_ok());
    assert_eq!(
        parse_strict(&deep(65)).unwrap_err().kind,
        JsonErrorKind::Depth
    );
    assert_eq!(
        parse_strict(&deep(100_000)).unwrap_err().kind,
        JsonErrorKind::Depth
    );
}

#[test]
fn what_every_reader_agrees_about_passes() {
    for (text, value) in [
        (r#"{"n":6.02e23}"#, json!({ "n": 6.02e23 })),
        (
            r#"{"n":9007199254740991}"#,
            json!({ "n": 9_007_199_254_740_991_i64 }),
        ),
        (
            r#"{"n":-9007199254740991}"#,
            json!({ "n": -9_007_199_254_740_991_i64 }),
        ),
        (r#"{"Path":1,"path":2}"#, json!({ "Path": 1, "path": 2 })),
        (r#""\ud83d\udc4d\u0000\/\b""#, json!("👍\0/\u{8}")),
        (" \t\r\n[ true , null ] ", json!([true, null])),
        (r#"{"n":1e21}"#, json!({ "n": 1e21 })),
        (
            r#"{"n":9007199254740991.0}"#,
            json!({ "n": 9_007_199_254_740_991.0 }),
        ),
        (r#""99999999999999999999""#, json!("99999999999999999999")),
    ] {
        assert_eq!(parse_strict(text), Ok(value), "{text}");
    }
}

#[test]
fn an_error_quotes_no_value_and_keeps_its_place_short() {
    let secret = "hunter2".repeat(10);
    let shown = parse_strict(&format!(r#"{{"a":["{secret}",x]}}"#))
        .unwrap_err()
        .to_string();
    assert_eq!(shown, "`/a/1` is not JSON");
    let long = "k".repeat(10_000);
    let shown = parse_strict(&format!(r#"{{"{long}\u202e":x}}"#))
        .unwrap_err()
        .to_string();
    assert!(shown.chars().count() < 300 && !shown.contains('\u{202e}'));
}

#[test]
fn the_sorted_form_keeps_numbers_and_joins_spellings_of_strings() {
    let form = |text: &str| sorted(text).map(|bytes| String::from_utf8(bytes).unwrap());
    let whole = form(r#"{ "b": [1.0, 1e2, 123456789012345678901], "a": "\u0041\/" }"#);
    assert_eq!(
        whole.unwrap(),
        r#"{"a":"A/","b":[1.0,1e2,123456789012345678901]}"#
    );
    assert_eq!(
        form(r#"{"\uff5e":1,"\ud83d\ude00":2}"#).unwrap(),
        "{\"～\":1,\"😀\":2}"
    );
    assert_eq!(form(r#"{"a":1,"a":1}"#), None);
    assert_eq!(form(r#"{"$serde_json::private::RawValue":"{}"}"#), None);
    assert_eq!(form("[]"), None);
    assert_eq!(form("{} "), Some("{}".to_owned()));
    let nested = |levels: usize| format!("{{\"a\":{}{}}}", "[".repeat(levels), "]".repeat(levels));
    assert!(form(&nested(127)).is_some());
    assert_eq!(form(&nested(128)), None);
}

#[test]
fn canonical_bytes_follow_rfc_8785() {
    let value: Value = serde_json::from_str(
        r#"{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001,-0.0],
            "string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}"#,
    )
    .unwrap();
    let expected = r#"{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27,0],"string":"€$\u000f\nA'B\"\\\\\"/"}"#;
    assert_eq!(String::from_utf8(canonical(&value)).unwrap(), expected);
    let keys: Value =
        serde_json::from_str(r#"{"\ufb33":1,"\ud83d\ude00":2,"\u20ac":3,"1":4}"#).unwrap();
    let order = String::from_utf8(canonical(&keys)).unwrap();
    assert_eq!(order, "{\"1\":4,\"€\":3,\"😀\":2,\"\u{fb33}\":1}");
}

#[test]
fn a_pointer_segment_is_escaped() {
    assert_eq!(pointer_escape("a/b~c"), "a~1b~0c");
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-9_007_199_254_740_991_i64..=9_007_199_254_740_991).prop_map(Value::from),
        any::<f64>()
            .prop_filter("no integer beyond 2^53", |n| !(9e15..1e21)
                .contains(&n.abs()))
            .prop_map(Value::from),
        ".*".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map("[^\0]*", inner, 0..6)
                .prop_map(|members| members.into_iter().collect::<Value>()),
        ]
    })
}

proptest! {
    #[test]
    fn strict_reading_agrees_with_an_ordinary_reader(value in any_json()) {
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            prop_assert_eq!(parse_strict(&text), Ok(serde_json::from_str::<Value>(&text).unwrap()));
        }
    }

    #[test]
    fn what_an_ordinary_reader_refuses_is_refused(text in r#"[\[\]{}",:0-9eE.+\-\\u nultrefas]{0,24}"#) {
        if serde_json::from_str::<Value>(&text).is_err() {
            prop_assert!(parse_strict(&text).is_err());
        }
    }

    #[test]
    fn canonical_bytes_are_a_fixed_point(value in any_json()) {
        let once = canonical(&value);
        let again: Value = serde_json::from_slice(&once).unwrap();
        prop_assert_eq!(canonical(&again), &once[..]);
        prop_assert_eq!(parse_strict(std::str::from_utf8(&once).unwrap()), Ok(again));
    }
}
