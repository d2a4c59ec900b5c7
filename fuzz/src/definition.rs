use serde_json::Map;
use toolgate_core::catalog::MOST_SHOWN;
use toolgate_core::catalog::Provenance;
use toolgate_core::catalog::Tool;
use toolgate_core::catalog::Trust;
use toolgate_core::classify::Mode;
use toolgate_core::classify::published;
use toolgate_core::json::sorted;
use toolgate_core::schema::Closing;

use crate::plain;
use crate::support;

/// Definitions of tools: shown names are safe, the digest covers what was read, and a schema that
/// can be compiled can be used.
pub fn definition(data: &[u8]) {
    let text = support::text(data);
    let form = sorted(&text);
    if let Some(form) = &form {
        let form = std::str::from_utf8(form).expect("the sorted form is text");
        let again = sorted(form).expect("the sorted form is an object");
        assert_eq!(again, form.as_bytes(), "the sorted form is a fixed point");
    }
    for (provenance, trust) in [
        (Provenance::User, Trust::Byo),
        (Provenance::Deployment, Trust::Vetted),
        (Provenance::Builtin, Trust::Vetted),
    ] {
        let source = support::source("up", provenance, trust);
        let Ok(tool) = Tool::new(&source, &text) else {
            continue;
        };
        let read = plain::read(&text).expect("a definition has no key twice");
        assert_eq!(*tool.definition(), read, "the definition is what was sent");
        let shown = tool.shown().as_str();
        let is_safe = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
        assert!(shown.len() <= MOST_SHOWN && shown.bytes().all(is_safe));
        assert_eq!(read["name"], tool.wire().as_str());

        let form = form.as_deref().map(String::from_utf8_lossy);
        let form = form.expect("a definition has a sorted form");
        let again = Tool::new(&source, &form).expect("the sorted form is a definition");
        assert_eq!(again.digest(), tool.digest());
        assert_eq!(again.classified(), tool.classified());

        let classified = tool.classified();
        let says_reads = read["annotations"]["readOnlyHint"] == true;
        assert_eq!(classified.mode == Mode::Observation, says_reads);
        assert!(trust == Trust::Vetted || !classified.auto_eligible && !classified.idempotent);
        let hints = published(&read, &classified);
        assert_eq!(hints["readOnlyHint"], says_reads);

        if provenance == Provenance::User {
            let schema = tool.arguments();
            for closing in [Closing::Closed, Closing::Open] {
                let checked = schema.check(&Map::new(), closing);
                assert!(
                    schema.usable() || checked.is_err(),
                    "unusable admits nothing"
                );
            }
        }
    }
}
