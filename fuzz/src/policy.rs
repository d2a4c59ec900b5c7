use std::borrow::Borrow;

use toolgate_core::id::is_deceptive;
use toolgate_core::judge::judge;
use toolgate_core::policy::Policy;
use toolgate_core::policy::PolicyDocument;
use toolgate_core::policy::compile_stored;
use toolgate_core::policy::parse;
use toolgate_core::policy::parse_value;

use crate::plain;
use crate::support;

/// Policies: what is accepted comes back as it was written, and means the same when it is stored.
pub fn policy(data: &[u8]) {
    let text = support::text(data);
    let catalog = support::catalog();
    let stored = compile_stored(&text, catalog);
    match parse(&text, catalog) {
        Ok(policy) => {
            assert_eq!(stored.stale(), [], "what is accepted is not stale");
            assert_same(&policy, &stored);
            let written = serde_json::to_string(policy.document()).expect("a document is JSON");
            let again = parse(&written, catalog).expect("what is accepted is accepted again");
            assert_same(&policy, &again);
            let read: PolicyDocument = serde_json::from_str(&written).expect("a document reads");
            assert_eq!(&read, policy.document(), "both readers read the same");
            let value = plain::read(&text).expect("what is accepted is JSON");
            let again = parse_value(&value, catalog).expect("what is accepted is accepted again");
            assert_same(&policy, &again);
        }
        Err(errors) => {
            assert!(!errors.as_slice().is_empty(), "a refusal has a reason");
            let shown = errors.to_string();
            assert!(
                !shown.chars().any(is_deceptive),
                "a reason deceives: {shown:?}"
            );
            if plain::read(&text).is_none() {
                assert_eq!(
                    stored.view(catalog).count(),
                    0,
                    "what is no policy grants nothing"
                );
            }
        }
    }
    for error in stored.stale() {
        let name = error.path.strip_prefix("/tools/").unwrap_or_default();
        let name = name.split('/').next().unwrap_or_default();
        if let Some(tool) = catalog.find(name) {
            assert!(!stored.grants(tool), "what is stale grants nothing");
        }
    }
    for tool in catalog.iter() {
        let tool = tool.as_ref();
        let judged = judge(&stored, Some(tool), "{}", &|_| None);
        assert_eq!(judged.verdict.mode.is_some(), stored.grants(tool));
        let _ = (stored.limits(tool.shown()), stored.hosts(tool.shown()));
    }
}

/// Two policies say the same.
fn assert_same(one: &Policy, other: &Policy) {
    assert_eq!(one.document(), other.document());
    for tool in support::catalog().iter() {
        let name: &str = tool.shown().borrow();
        assert_eq!(one.grants(tool), other.grants(tool), "{name}");
        assert_eq!(one.approval(tool), other.approval(tool), "{name}");
        assert_eq!(
            one.limits(tool.shown()),
            other.limits(tool.shown()),
            "{name}"
        );
        assert_eq!(one.hosts(tool.shown()), other.hosts(tool.shown()), "{name}");
    }
}
