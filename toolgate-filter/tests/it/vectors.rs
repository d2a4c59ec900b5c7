//! The vectors in the repository, which other languages read too.

use serde::Deserialize;
use serde_json::Value;
use toolgate_filter::fence::{FenceId, wrap};
use toolgate_filter::{Kind, Pii, Settings, clean_result, clean_text};

#[derive(Deserialize)]
struct FilterVector {
    name: String,
    #[serde(default)]
    pii: Pii,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    result: Option<Value>,
    clean: Value,
    findings: Vec<Found>,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Found {
    rule: String,
    kind: Kind,
    start: usize,
    end: usize,
    #[serde(default)]
    at: String,
}

// spec: FI-01 FI-02 FI-03 FI-05 FI-06 FI-07 FI-08 FI-10
#[test]
fn filter_vectors_hold() {
    let vectors: Vec<FilterVector> =
        serde_json::from_str(include_str!("../../../vectors/filter.json")).unwrap();
    assert!(vectors.len() >= 20);
    for vector in vectors {
        let settings = Settings::new(vector.pii);
        let (clean, findings) = match (vector.text, vector.result) {
            (Some(text), None) => {
                let cleaned = clean_text(&text, &settings);
                (Value::String(cleaned.value), cleaned.findings)
            }
            (None, Some(result)) => {
                let cleaned = clean_result(result, &settings);
                (cleaned.value, cleaned.findings)
            }
            _ => panic!("{} needs a text or a result", vector.name),
        };
        let found: Vec<Found> = findings
            .into_iter()
            .map(|f| Found {
                rule: f.rule.into_owned(),
                kind: f.kind,
                start: f.span.start,
                end: f.span.end,
                at: f.at,
            })
            .collect();
        assert_eq!(clean, vector.clean, "{}", vector.name);
        assert_eq!(found, vector.findings, "{}", vector.name);
    }
}

#[derive(Deserialize)]
struct FenceVector {
    name: String,
    text: String,
    entropy: [u8; 16],
    #[serde(default)]
    notes: Vec<String>,
    fenced: String,
}

// spec: FE-01 FE-02 FE-03 FE-04
#[test]
fn fence_vectors_hold() {
    let vectors: Vec<FenceVector> =
        serde_json::from_str(include_str!("../../../vectors/fence.json")).unwrap();
    assert!(vectors.len() >= 10);
    for vector in vectors {
        let id = FenceId::from_entropy(vector.entropy);
        assert_eq!(
            wrap(&vector.text, &id, &vector.notes),
            vector.fenced,
            "{}",
            vector.name
        );
    }
}
