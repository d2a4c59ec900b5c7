use serde_json::Number;
use serde_json::Value;
use toolgate_core::catalog::Catalog;
use toolgate_core::catalog::Provenance;
use toolgate_core::catalog::Tool;
use toolgate_core::catalog::Trust;
use toolgate_core::json::canonical;
use toolgate_core::json::parse_strict;
use toolgate_core::judge::judge;
use toolgate_core::policy;
use toolgate_core::policy::OtherArgs;
use toolgate_core::policy::Policy;
use toolgate_core::rules::RuleDocument;
use toolgate_core::verdict::Decision;

use crate::path::stays_below;
use crate::plain;
use crate::support;

/// Arguments: a schema on the first line, what the policy says of the tool on the second, then the
/// arguments. What passes is what every reader sees, holds each rule and passes again.
pub fn arguments(data: &[u8]) {
    let text = support::text(data);
    let (schema, rest) = support::line(&text);
    let (said, raw) = support::line(rest);
    strict(raw);
    let definition = format!(r#"{{"name":"t","inputSchema":{schema}}}"#);
    let source = support::source("up", Provenance::Builtin, Trust::Vetted);
    let Ok(tool) = Tool::new(&source, &definition) else {
        return;
    };
    let catalog = Catalog::new([tool.into()], false);
    let Some(tool) = catalog.find("t") else {
        return;
    };
    let granted = policy::parse(&format!(r#"{{"tools":{{"t":{said}}}}}"#), &catalog);
    let bare = || policy::parse(r#"{"upstreams":{"up":{"allow":"all"}}}"#, &catalog);
    let policy = granted.or_else(|_| bare()).expect("a policy of ours");

    let judged = judge(&policy, Some(tool), raw, &|_| None);
    assert!(judged.verdict.decision == Decision::Refuse || judged.arguments.is_some());
    if judged.verdict.decision == Decision::Refuse {
        assert!(!judged.verdict.reasons.is_empty(), "a refusal has a reason");
        return;
    }
    let sent = judged.arguments.expect("there, as was seen above");
    let bytes = std::str::from_utf8(sent.canonical()).expect("canonical bytes are text");
    let again = judge(&policy, Some(tool), bytes, &|_| None);
    assert_eq!(again.verdict.decision, judged.verdict.decision, "{bytes}");
    let again = again.arguments.expect("what passed is read again");
    assert_eq!(again.canonical(), sent.canonical());
    holds(&policy, tool, &Value::Object(sent.value().clone()));
}

/// The strict reader reads what another one reads, if anything, and its canonical form settles.
fn strict(raw: &str) {
    let Ok(value) = parse_strict(raw) else {
        return;
    };
    let other = plain::read(raw).expect("what is strict JSON is JSON");
    assert_eq!(value, other, "two readers disagree");
    let stored: Value = serde_json::from_str(raw).expect("what is strict JSON is JSON");
    assert_eq!(value, stored, "it is another value once it was stored");
    let bytes = canonical(&value);
    let form = std::str::from_utf8(&bytes).expect("canonical bytes are text");
    let again = parse_strict(form).expect("the canonical form is strict JSON");
    assert_eq!(
        canonical(&again),
        bytes,
        "the canonical form is a fixed point"
    );
}

/// Each rule about a top-level argument, read naively.
fn holds(policy: &Policy, tool: &Tool, arguments: &Value) {
    let Some(rules) = policy.rules(tool.shown()) else {
        return;
    };
    let said = &policy.document().tools["t"];
    for (path, rule) in rules.iter() {
        let [name] = path.segments() else { continue };
        if name == "*" {
            continue;
        }
        match arguments.get(name) {
            None => assert!(rule.optional(), "{name} is missing"),
            Some(value) => assert!(fits(rule.document(), value), "{name}: {value}"),
        }
    }
    if said.other_args == Some(OtherArgs::Refuse) {
        for name in arguments.as_object().into_iter().flat_map(|it| it.keys()) {
            let is_named = |first: &str| first == "*" || first == name;
            let named = rules.iter().any(|(path, _)| is_named(&path.segments()[0]));
            assert!(named, "{name} is named by no rule");
        }
    }
}

fn fits(rule: &RuleDocument, value: &Value) -> bool {
    let listed = |listed: &Vec<Value>| listed.iter().any(|one| equal(one, value));
    let at_least = |min: &Number| value.is_number() && value.as_f64() >= min.as_f64();
    let at_most = |max: &Number| value.is_number() && value.as_f64() <= max.as_f64();
    rule.one_of.as_ref().is_none_or(listed)
        && rule.min.as_ref().is_none_or(at_least)
        && rule.max.as_ref().is_none_or(at_most)
        && fits_text(rule, value.as_str())
}

fn fits_text(rule: &RuleDocument, text: Option<&str>) -> bool {
    let Some(text) = text else {
        let keys = [&rule.pattern, &rule.prefix];
        let is_for_text = keys.iter().any(|key| key.is_some());
        return !is_for_text && rule.max_length.is_none() && rule.hosts.is_none();
    };
    let is_short = |most: u32| text.chars().count() <= most as usize;
    let scheme = text.get(..8).unwrap_or_default();
    rule.max_length.is_none_or(is_short)
        && rule
            .prefix
            .as_ref()
            .is_none_or(|prefix| stays_below(prefix, text))
        && (rule.hosts.is_none() || scheme.eq_ignore_ascii_case("https://"))
}

/// Whether two values are equal, numbers by what they are worth.
fn equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let in_other = |(key, value): (&String, &Value)| {
                other.get(key).is_some_and(|other| equal(value, other))
            };
            one.len() == other.len() && one.iter().all(in_other)
        }
        _ => one == other,
    }
}
