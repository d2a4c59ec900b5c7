//! What the filter does, seen from outside.

#![expect(
    clippy::string_slice,
    reason = "a wrong place ends the test, as it should"
)]

mod binary;
mod fence;
mod fields;
mod injection;
mod invisible;
mod pii;
mod robust;
mod secrets;
mod vectors;

use toolgate_filter::{Kind, Settings, clean_text};

/// The text after cleaning with the strictest settings.
fn cleaned(text: &str) -> String {
    clean_text(text, &Settings::strict()).value
}

/// Checks that `text` is cleaned to `expected`.
#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(cleaned(text), expected, "from {text:?}");
}

/// Checks that nothing in `text` is touched or reported.
#[track_caller]
fn keeps(text: &str) {
    let cleaned = clean_text(text, &Settings::strict());
    assert_eq!(cleaned.value, text);
    assert_eq!(cleaned.findings, [], "in {text:?}");
}

/// The ids of the rules that matched, in the order of the text, of one kind.
fn rules(text: &str, kind: Kind) -> Vec<String> {
    let findings = clean_text(text, &Settings::strict()).findings;
    findings
        .into_iter()
        .filter(|f| f.kind == kind)
        .map(|f| f.rule.into_owned())
        .collect()
}
