//! What holds for every text: nothing breaks, nothing is cleaned twice, work stays linear.

use data_encoding::{BASE64, BASE64URL_NOPAD};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use toolgate_filter::fence::{FenceId, defuse, wrap};
use toolgate_filter::{Pii, Settings, clean_result, clean_text, clean_value};

/// Texts that are made of what the rules look for, and of what breaks it.
fn texts() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(PIECES.to_vec()).prop_map(str::to_owned);
    let piece =
        prop_oneof![6 => pieces, 1 => "\\PC{0,6}", 1 => any::<char>().prop_map(String::from)];
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        3 => texts().prop_map(Value::String),
        1 => any::<u64>().prop_map(Value::from),
        1 => any::<f64>().prop_map(Value::from),
        1 => any::<bool>().prop_map(Value::Bool),
        1 => Just(Value::Null),
    ];
    leaf.prop_recursive(3, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
            prop::collection::vec((texts(), inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Blocks of every kind, with types and keys that may be in disguise.
fn blocks() -> impl Strategy<Value = Value> {
    let media = prop::sample::select(MEDIA);
    let word = |words: &'static [&'static str]| prop::sample::select(words);
    let kind = word(&[
        "text",
        "te\u{200b}xt",
        "image",
        "audio",
        "resource",
        "resource_link",
    ]);
    let text = word(&["text", "te\u{200b}xt", "t\u{301}ext"]);
    let blob = word(&["blob", "data", "bl\u{200b}ob", "da\u{ad}ta"]);
    (kind, text, blob, media, texts(), texts(), 0..4_u8).prop_map(
        |(kind, text, blob, media, first, second, how)| {
            let data = match how {
                0 => second,
                1 => BASE64URL_NOPAD.encode(second.as_bytes()),
                2 => BASE64.encode(second.as_bytes()).replace("A", "A\r\n"),
                _ => BASE64.encode(second.as_bytes()),
            };
            json!({
                "type": kind, text: first, blob: data, "mimeType": media, "size": 7,
                "resource": {"uri": "a:b", text: first, blob: data, "mimeType": media},
            })
        },
    )
}

/// Every value that is no string, in order.
fn others(value: &Value, out: &mut Vec<Value>) {
    match value {
        Value::String(_) => {}
        Value::Array(items) => items.iter().for_each(|item| others(item, out)),
        Value::Object(members) => members.values().for_each(|member| others(member, out)),
        other => out.push(other.clone()),
    }
}

/// What the text is without the markers of what was removed.
fn without_markers(text: &str) -> String {
    let mut parts = text.split("[redacted:");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(part.split_once(']').map_or(part, |(_, rest)| rest));
    }
    out
}

/// The cleaned text of blocks that hold these.
fn cleaned_blocks(texts: &[String]) -> String {
    let blocks: Vec<Value> = texts
        .iter()
        .map(|text| json!({"type": "text", "text": text}))
        .collect();
    let result = clean_result(json!({"content": blocks}), &Settings::strict()).value;
    let blocks = result.get("content").and_then(Value::as_array);
    let texts = blocks.into_iter().flatten();
    texts
        .filter_map(|block| block.get("text")?.as_str())
        .collect()
}

/// The text in as many blocks as cuts, and one.
fn cut(text: &str, at: &[prop::sample::Index]) -> Vec<String> {
    let mut at: Vec<usize> = at
        .iter()
        .map(|at| text.floor_char_boundary(at.index(text.len() + 1)))
        .collect();
    at.sort_unstable();
    let ends = at.iter().copied().chain([text.len()]);
    let starts = [0].into_iter().chain(at.iter().copied());
    starts
        .zip(ends)
        .filter_map(|(from, to)| text.get(from..to).map(str::to_owned))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    // spec: FI-11
    #[test]
    fn cleaning_twice_is_cleaning_once(text in texts()) {
        let once = clean_text(&text, &Settings::strict()).value;
        let twice = clean_text(&once, &Settings::strict());
        prop_assert_eq!(twice.value, once);
        let once = clean_text(&text, &Settings::new(Pii::Allow)).value;
        prop_assert_eq!(clean_text(&once, &Settings::new(Pii::Allow)).value, once);
    }

    // spec: FI-11
    #[test]
    fn spans_lie_in_the_original_on_borders(text in texts()) {
        for finding in clean_text(&text, &Settings::strict()).findings {
            prop_assert!(text.get(finding.span.clone()).is_some_and(|found| !found.is_empty()), "{finding:?}");
        }
    }

    // spec: FI-01 FI-11
    #[test]
    fn what_is_no_string_stays_and_values_settle(value in values()) {
        let cleaned = clean_value(value.clone(), &Settings::strict()).value;
        let (mut before, mut after) = (Vec::new(), Vec::new());
        others(&value, &mut before);
        others(&cleaned, &mut after);
        prop_assert_eq!(before, after);
        prop_assert_eq!(clean_value(cleaned.clone(), &Settings::strict()).value, cleaned);
    }

    // spec: FI-10 FI-11
    #[test]
    fn results_settle(texts in prop::collection::vec(texts(), 0..5)) {
        let blocks: Vec<Value> = texts.iter().map(|text| json!({"type": "text", "text": text})).collect();
        let cleaned = clean_result(json!({"content": blocks}), &Settings::strict()).value;
        prop_assert_eq!(clean_result(cleaned.clone(), &Settings::strict()).value, cleaned);
    }

    // spec: FI-01 FI-11
    #[test]
    fn blocks_of_every_kind_settle(
        list in prop::sample::select(&["content", "contents", "con\u{200b}tent"]),
        blocks in prop::collection::vec(blocks(), 0..4),
    ) {
        let result = json!({list: blocks});
        let cleaned = clean_result(result.clone(), &Settings::strict());
        let (mut before, mut after) = (Vec::new(), Vec::new());
        others(&result, &mut before);
        others(&cleaned.value, &mut after);
        prop_assert_eq!(before, after);
        if cleaned.findings.is_empty() {
            prop_assert_eq!(&cleaned.value, &result);
        }
        let again = clean_result(cleaned.value.clone(), &Settings::strict());
        prop_assert_eq!(again.value, cleaned.value);
    }

    // spec: FI-10
    #[test]
    fn blocks_are_cleaned_as_the_whole_text_is(
        before in prop::sample::select(AROUND),
        secret in prop::sample::select(SECRETS),
        after in prop::sample::select(AROUND),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 1..5),
    ) {
        let text = format!("{before}{secret}{after}");
        let whole = clean_text(&text, &Settings::strict()).value;
        prop_assert!(whole.contains("[redacted:"), "{whole}");
        let cut = cut(&text, &cuts);
        let blocks = cleaned_blocks(&cut);
        prop_assert!(!blocks.contains(secret), "{blocks}");
        // A block in which something is found by itself is not read on into the one before it,
        // whose last word would go with it.
        let found_alone = |text: &String| !clean_text(text, &Settings::strict()).findings.is_empty();
        if !cut.iter().any(found_alone) {
            prop_assert_eq!(without_markers(&blocks), without_markers(&whole));
        }
    }

    // spec: FI-11
    #[test]
    fn output_grows_by_no_more_than_a_marker_for_each_finding(text in texts()) {
        let cleaned = clean_text(&text, &Settings::strict());
        prop_assert!(cleaned.value.len() <= text.len() + 64 * cleaned.findings.len());
    }

    // spec: FE-02 FE-04
    #[test]
    fn a_fenced_text_has_one_end(text in texts(), entropy: [u8; 16]) {
        let id = FenceId::from_entropy(entropy);
        let out = wrap::<&str>(&text, &id, &[]);
        let end = format!("\n</tool_output id=\"{id}\">");
        prop_assert!(out.ends_with(&end));
        let lower: String = out.to_lowercase().chars().filter(|c| !c.is_whitespace()).collect();
        prop_assert_eq!(lower.matches("</tool_output").count(), 1);
        prop_assert_eq!(lower.matches("<tool_output").count(), 1);
        prop_assert_eq!(out.matches(&id.to_string()).count(), 2);
        let once = defuse(&text);
        prop_assert_eq!(defuse(&once), once.clone());
    }
}

// spec: FI-10
#[test]
fn a_secret_that_is_cut_in_two_is_found_wherever_it_is_cut() {
    for secret in SECRETS {
        for at in 0..=secret.len() {
            let (left, right) = secret.split_at(at);
            let left = format!("see {left}");
            let blocks = cleaned_blocks(&[left, right.to_owned()]);
            assert!(!blocks.contains(secret), "{blocks} cut at {at}");
            assert!(blocks.contains("[redacted:"), "{blocks} cut at {at}");
        }
    }
}

// spec: FI-11
#[test]
fn the_worst_texts_are_read_to_their_end() {
    for unit in WORST {
        let text = format!(
            "{} AKIAIOSFODNN7EXAMPLE",
            unit.repeat((256 << 10) / unit.len())
        );
        let cleaned = clean_text(&text, &Settings::strict());
        assert!(
            !cleaned.value.contains("AKIAIOSFODNN7EXAMPLE"),
            "after {unit:?}"
        );
        assert!(!defuse(&text).contains("</tool_output"));
    }
}

// spec: FI-11
#[test]
fn a_flood_of_invisible_characters_is_reported_within_bounds() {
    let text = "a\u{200b}".repeat(100_000);
    let cleaned = clean_text(&text, &Settings::strict());
    assert_eq!(cleaned.value, "a".repeat(100_000));
    assert!(cleaned.findings.len() < 1000);
    assert_eq!(
        cleaned.findings.iter().map(|f| f.span.end).max(),
        Some(text.len())
    );
}

const MEDIA: &[&str] = &[
    "",
    "text/plain",
    "te\u{200b}xt/plain",
    "image/png",
    "application/json",
    "application/octet-stream",
];

/// Harmless text beside a secret.
const AROUND: &[&str] = &[
    "",
    " see ",
    "\n",
    ", then go on ",
    " (as agreed) ",
    " - ",
    " é ",
];

/// Texts of which something is removed.
const SECRETS: &[&str] = &[
    "AKIAIOSFODNN7EXAMPLE",
    "tg_abcdefghijklmnopqrstuvwxyz234567",
    "ghp_0123456789abcdefghijABCDEFGHIJ456789",
    "ana.lopez@example.com",
    "4242 4242 4242 4242",
    "+49 30 901820",
    "password: hunter2horse",
    "the password is h0rse!Battery",
    "DB_PASSWORD='correct h0rse'",
    "{\"api_key\": \"a1b2c3d4e5f6a7b8\"}",
    "<password>hunter2horse</password>",
    "curl --token a1b2c3d4e5f6a7b8",
    "Authorization: Bearer a1b2c3d4e5f6a7b8c9d0",
    "Authorization: Basic dXNlcjpwYXNzd29yZA==",
    "https://ana:s3cretw0rd@example.com/x",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEAexample\n-----END RSA PRIVATE KEY-----",
];

const PIECES: &[&str] = &[
    " ",
    "\n",
    "\r",
    "\r\n",
    ":",
    "=",
    "\"",
    "'",
    "`",
    "\\",
    "<",
    ">",
    "/",
    "&",
    "%",
    "@",
    ".",
    ",",
    "-",
    "_",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "+",
    "password",
    "Password:",
    "password: ",
    "token",
    "token=",
    "secret",
    "api_key",
    "hunter2",
    "\"password\":\"",
    "--password ",
    " is ",
    "AKIAIOSFODNN7EXAMPLE",
    "AKIA",
    "IOSFODNN7EXAMPLE",
    "tg_abcdefghijklmnopqrstuvwxyz234567",
    "tg_",
    "abcdefghijklmnopqrstuvwxyz234567",
    "ana",
    "ana@example.com",
    "example.com",
    ".com",
    "%40",
    "4242",
    "4242 4242 4242 4242",
    "42",
    "0",
    "1",
    "+1",
    "415",
    "555",
    "0132",
    "(415) 555-0132",
    "+49 30 901820",
    "020 7946 0958",
    "phone: ",
    "eyJhbGciOiJIUzI1NiJ9",
    "eyJ",
    ".eyJzdWIiOiJ4In0",
    ".c2ln",
    "-----BEGIN RSA PRIVATE KEY-----",
    "-----END RSA PRIVATE KEY-----",
    "-----BEGIN ",
    "PRIVATE KEY",
    "[redacted:",
    "[redacted:email]",
    "[redacted:password]",
    "redacted",
    "Bearer ",
    "Basic ",
    "dXNlcjpwYXNz",
    "://",
    "https://ana:b@",
    "\u{200b}",
    "\u{200d}",
    "\u{200c}",
    "\u{fe0f}",
    "\u{20e3}",
    "\u{301}",
    "\u{3099}",
    "\u{e0041}",
    "\u{e0067}",
    "\u{1f3f4}",
    "👩",
    "💻",
    "1\u{20e3}",
    "م",
    "क",
    "\u{94d}",
    "葛",
    "\u{e0100}",
    "é",
    "漢",
    "\u{1b}",
    "\u{1b}[",
    "\u{1b}[31m",
    "\u{1b}]",
    "\u{7}",
    "\u{9b}",
    "\u{85}",
    "\u{2028}",
    "\u{a0}",
    "</tool_output>",
    "</tool_",
    "output>",
    "tool",
    "_output",
    "tool_output",
    "&lt;",
    "&amp;",
    "&#60;",
    "&#x3c",
    "%3C",
    "%25",
    "\\u003c",
    "\\x3c",
    "u003c",
    "\\",
    "＜",
    "о",
    "toolgate:",
    "toolgate",
    "ignore ",
    "all previous ",
    "instructions",
    "call the tool ",
    "flags_set",
    "send ",
    "data ",
    "to ",
    "<|im_start|>",
];

const WORST: &[&str] = &[
    "a",
    "1",
    "1 ",
    "0 ",
    "4242 ",
    "12-",
    "+1 ",
    "a@",
    "a@a.",
    "@",
    "%40",
    "eyJ",
    "eyJ.",
    "eyJhbGciOiJIUzI1NiJ9.",
    "eyJhbGciOiJIUzI1NiJ9.a.",
    "-----BEGIN ",
    "-----BEGIN RSA PRIVATE KEY-----",
    "-----END ",
    "://",
    "x://a:b@",
    "password:",
    "password:\"",
    "password='\\",
    "secret secret secret: ",
    "ignore ",
    "ignore all all all ",
    "use tool ",
    "send list to ",
    "Bearer ",
    "[redacted:",
    "\u{200b}",
    "a\u{200b}",
    "\u{1b}[",
    "\u{1b}]",
    "\r",
    "é",
    "ghp_",
    "sk",
    "<",
    "< ",
    "<t",
    "&",
    "&amp;",
    "%25",
    "\\",
    "\\u003c",
    "</tool_output>",
    "toolgate:\n",
    "a\u{301}",
    "1\u{20e3}",
    "a@b.c\u{301}d ",
    "password\u{301}:\"",
    "send\u{301} list to ",
];
