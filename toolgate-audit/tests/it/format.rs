//! The bytes, their hashes, and the published vectors that they follow.

use serde_json::Value;
use serde_json::json;
use toolgate_audit::Body;
use toolgate_audit::ChainId;
use toolgate_audit::EntryKind;
use toolgate_audit::Hash;
use toolgate_audit::Head;
use toolgate_audit::StoredRow;
use toolgate_audit::append;
use toolgate_audit::canonical;
use toolgate_audit::commitment::Salt;
use toolgate_audit::commitment::commit;
use toolgate_audit::commitment::opens;
use toolgate_audit::decode;
use toolgate_audit::head_line;
use toolgate_audit::row_line;
use toolgate_audit::verify_export;

use super::support::Stored;
use super::support::chain;
use super::support::chain_id;
use super::support::check;

// spec: AU-02
#[test]
fn a_row_has_exactly_these_bytes_and_this_hash() {
    let body = Body::new(1_767_225_600_123, EntryKind::REFUSED)
        .principal("p_1")
        .tool("note")
        .args(json!({"b": 1.0, "a": "é"}))
        .detail("code", json!("rate_limited"));
    let (row, head) = append(&Head::default(), &chain_id(), &body).unwrap();
    let zeros = "0".repeat(64);
    let expected = format!(
        "{{\"args\":{{\"a\":\"é\",\"b\":1}},\"at\":\"2026-01-01T00:00:00.123Z\",\
         \"chain\":\"p_1\",\"detail\":{{\"code\":\"rate_limited\"}},\"kind\":\"refused\",\
         \"prev\":\"{zeros}\",\"principal\":\"p_1\",\"seq\":1,\"tool\":\"note\",\"v\":1}}"
    );
    assert_eq!(String::from_utf8(row.bytes.clone()).unwrap(), expected);
    assert_eq!(row.hash, Hash::leaf(&row.bytes));
    assert_eq!(
        head,
        Head {
            size: 1,
            hash: row.hash
        }
    );
    let entry = decode(&row.bytes).unwrap();
    assert_eq!(entry.to_bytes().unwrap(), row.bytes);
    let shown = serde_json::to_value(entry.with_hash(row.hash)).unwrap();
    assert_eq!(shown["at"], "2026-01-01T00:00:00.123Z");
    assert_eq!(shown["hash"], row.hash.to_string());
}

// spec: AU-02
#[test]
fn every_row_is_chained_to_the_one_before() {
    let (rows, head) = chain(30, "");
    let mut prev = Hash::ZERO;
    for (n, row) in (1..).zip(&rows) {
        let entry = decode(&row.bytes).unwrap();
        assert_eq!((row.seq, entry.seq, entry.prev), (n, n, prev));
        prev = row.hash;
    }
    assert_eq!((head.size, head.hash), (30, prev));
}

#[test]
fn hashes_are_the_leaf_hashes_of_rfc_6962() {
    // The leaves of the reference implementation's tree tests.
    for (leaf, hash) in [
        (
            &b""[..],
            "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        ),
        (
            &b"\x00"[..],
            "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        ),
        (
            &b"\x10"[..],
            "0298d122906dcfc10892cb53a73992fc5b9f493ea4c9badb27b791b4127a7fe7",
        ),
    ] {
        assert_eq!(Hash::leaf(leaf).to_string(), hash);
    }
}

#[test]
fn bytes_are_canonical_as_in_rfc_8785() {
    // RFC 8785, section 3.2.2 and 3.2.3: literals, numbers, strings, order of keys.
    for (text, expected) in [
        (
            r#"{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}"#,
            "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\"string\":\"\u{20ac}$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}",
        ),
        (
            r#"{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}"#,
            "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}",
        ),
    ] {
        let value: Value = serde_json::from_str(text).unwrap();
        assert_eq!(
            String::from_utf8(canonical(&value).unwrap()).unwrap(),
            expected
        );
    }
}

#[test]
fn what_is_not_an_entry_is_not_read() {
    let (rows, _) = chain(1, "");
    let text = String::from_utf8(rows[0].bytes.clone()).unwrap();
    for bad in [
        String::new(),
        "{}".to_owned(),
        text.get(1..).unwrap().to_owned(),
        format!("{text} "),
        text.replace("\"v\":1", "\"v\":2"),
        text.replace("\"seq\":1", "\"seq\":0"),
        text.replace("\"seq\":1,", "\"seq\":1,\"z\":1,"),
        text.replace("{\"args\"", "{ \"args\""),
    ] {
        assert!(decode(bad.as_bytes()).is_err(), "{bad}");
    }
}

#[test]
fn names_and_words_are_checked() {
    for bad in ["", "a b", "a/b", &"x".repeat(65), "é"] {
        assert!(ChainId::new(bad).is_err());
    }
    for bad in ["", "Call", "a-b", "a b"] {
        assert!(EntryKind::new(bad).is_err());
    }
    assert_eq!(
        EntryKind::new("late_result").unwrap().as_str(),
        "late_result"
    );
}

#[test]
fn a_commitment_opens_with_its_salt_and_bytes_alone() {
    let salt = Salt::from_bytes([7; 32]);
    let sealed = commit(&salt, br#"{"a":1}"#);
    assert!(opens(&salt, br#"{"a":1}"#, &sealed));
    assert!(!opens(&salt, br#"{"a":2}"#, &sealed));
    assert!(!opens(&Salt::from_bytes([8; 32]), br#"{"a":1}"#, &sealed));
    assert!(!opens(&salt, br#"{"a":1}"#, ""));
    assert!(!format!("{salt:?}").contains('7'));
}

#[test]
fn an_export_is_checked_line_by_line() {
    let (rows, head) = chain(5, "");
    let mut lines: Vec<String> = rows
        .iter()
        .map(|row| {
            let stored = StoredRow {
                seq: row.seq,
                bytes: &row.bytes,
                hash: row.hash,
            };
            row_line(&chain_id(), stored)
        })
        .collect();
    lines.push(head_line(&chain_id(), &head));
    let sound = verify_export(&lines);
    assert!(sound.ok && sound.complete);
    assert_eq!(sound.entries, 5);
    let mut edited = lines.clone();
    edited[2] = edited[2].replace("\"n\":2", "\"n\":9");
    assert!(!verify_export(&edited).ok);
    let without_head = &lines[..5];
    assert!(!verify_export(without_head).complete);
    let mut garbage = lines;
    garbage.insert(3, "not json".to_owned());
    assert!(!verify_export(&garbage).ok);
}

// spec: AU-02 AU-04
#[test]
fn the_vectors_hold() {
    let text = include_str!("../../../vectors/audit.json");
    let vectors: Value = serde_json::from_str(text).unwrap();
    let mut head = Head::default();
    for case in vectors["entries"].as_array().unwrap() {
        let entry = decode(case["bytes"].as_str().unwrap().as_bytes()).unwrap();
        assert_eq!((entry.seq, entry.prev), (head.size + 1, head.hash));
        assert_eq!(entry.kind.as_str(), case["body"]["kind"].as_str().unwrap());
        assert_eq!(
            String::from_utf8(entry.to_bytes().unwrap()).unwrap(),
            case["bytes"]
        );
        let hash = Hash::leaf(case["bytes"].as_str().unwrap().as_bytes());
        assert_eq!(hash.to_string(), case["hash"].as_str().unwrap());
        head = Head {
            size: entry.seq,
            hash,
        };
    }
    for case in vectors["chains"].as_array().unwrap() {
        let rows: Vec<Stored> = case["rows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| Stored {
                seq: row["seq"].as_u64().unwrap(),
                bytes: row["bytes"].as_str().unwrap().as_bytes().to_vec(),
                hash: row["hash"].as_str().unwrap().parse().unwrap(),
            })
            .collect();
        let head: Head = serde_json::from_value(case["head"].clone()).unwrap();
        let report = check(&rows, Some(&head));
        let found = serde_json::to_value(report.problems.first()).unwrap();
        let expected = case["problems"].get(0).cloned().unwrap_or_default();
        assert_eq!(found, expected, "{}", case["name"]);
    }
}
