use serde_json::Value;
use serde_json::json;
use toolgate_filter::Finding;
use toolgate_filter::Kind;
use toolgate_filter::Pii;
use toolgate_filter::Settings;
use toolgate_filter::clean_result;
use toolgate_filter::clean_text;
use toolgate_filter::clean_value;
use toolgate_filter::marker;
use toolgate_filter::notes;

use crate::plain;
use crate::support;

/// The filter: cleaning settles, findings lie in the original, what is no string stays. The input is
/// a text, a JSON value if it reads as one, and blocks of text or of base64 parted by a form feed.
pub fn filter(data: &[u8]) {
    let text = support::text(data);
    for pii in [Pii::Redact, Pii::Allow] {
        let settings = Settings::new(pii);
        of_text(&text, &settings);
        let blocks: Vec<&str> = text.split('\u{c}').collect();
        let content: Vec<Value> = blocks
            .iter()
            .map(|text| json!({"type": "text", "text": text}))
            .collect();
        of_value(&json!({"content": content, "list": blocks}), &settings);
        let contents: Vec<Value> = blocks
            .iter()
            .map(|text| json!({"mimeType": "text/plain", "text": text, "blob": text}))
            .collect();
        of_value(&json!({"contents": contents}), &settings);
        if let Some(value) = plain::read(&text) {
            of_value(&value, &settings);
        }
    }
}

fn of_text(text: &str, settings: &Settings) {
    let cleaned = clean_text(text, settings);
    for Finding {
        span,
        rule,
        kind,
        at,
    } in &cleaned.findings
    {
        let found = text.get(span.clone());
        assert!(
            found.is_some_and(|found| !found.is_empty()),
            "{rule} at {span:?}"
        );
        assert!(at.is_empty());
        assert!(*kind != Kind::Pii || settings.pii == Pii::Redact);
    }
    let most = text.len() + 64 * cleaned.findings.len();
    assert!(
        cleaned.value.len() <= most,
        "it grows by no more than its markers"
    );
    assert_eq!(
        clean_text(&cleaned.value, settings).value,
        cleaned.value,
        "cleaning settles"
    );
    let is_removal = |finding: &Finding| matches!(finding.kind, Kind::Pii | Kind::Secret);
    if cleaned.findings.iter().any(is_removal) {
        assert!(
            marker::contains(&cleaned.value),
            "a removal leaves a marker"
        );
    }
    if cleaned.findings.is_empty() {
        assert_eq!(cleaned.value, text, "what has no finding stays");
    }
    let _ = notes(&cleaned.findings);
    let planted = format!("{text}\n{KEY}\n");
    let cleaned = clean_text(&planted, settings).value;
    assert!(
        !cleaned.contains(&format!("\n{KEY}\n")),
        "a key stays after {text:?}"
    );
}

/// What every text before it must leave to be found.
const KEY: &str = "AKIAIOSFODNN7EXAMPLE";

fn of_value(value: &Value, settings: &Settings) {
    for clean in [clean_result, clean_value] {
        let cleaned = clean(value.clone(), settings);
        let (mut before, mut after) = (Vec::new(), Vec::new());
        others(value, &mut before);
        others(&cleaned.value, &mut after);
        assert_eq!(before, after, "what is no string stays");
        let again = clean(cleaned.value.clone(), settings).value;
        assert_eq!(again, cleaned.value, "cleaning settles");
        let stored: Value = serde_json::from_str(&again.to_string()).expect("a value is JSON");
        assert_eq!(stored, again, "it is another value once it was stored");
        if cleaned.findings.is_empty() && !value.to_string().contains("$serde_json::") {
            assert_eq!(cleaned.value, *value, "what has no finding stays");
        }
    }
}

/// Every value that is no string, in order.
fn others<'v>(value: &'v Value, out: &mut Vec<&'v Value>) {
    match value {
        Value::String(_) => {}
        Value::Array(items) => items.iter().for_each(|item| others(item, out)),
        Value::Object(members) => members.values().for_each(|member| others(member, out)),
        other => out.push(other),
    }
}
