//! Policy and call, before anything outside of them is asked.

use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use crate::catalog::Tool;
use crate::classify::ClassifiedBy;
use crate::classify::Mode;
use crate::json::JsonError;
use crate::json::canonical;
use crate::json::parse_strict;
use crate::json::place;
use crate::json::pointer_escape;
use crate::policy::AskWhen;
use crate::policy::Policy;
use crate::policy::UnknownArgs;
use crate::policy::is_doubtful;
use crate::rules::ArgumentRules;
use crate::rules::Refusal;
use crate::schema::Closing;
use crate::schema::Fault;
use crate::verdict::Code;
use crate::verdict::Decision;
use crate::verdict::Reason;
use crate::verdict::Retry;
use crate::verdict::Verdict;

/// The longest arguments, in bytes of JSON.
pub const MOST_ARGUMENTS: usize = 64 * 1024;

/// Arguments that policy has judged; their canonical bytes serve every later use.
#[derive(Debug, Clone, PartialEq)]
pub struct Arguments {
    value: Map<String, Value>,
    canonical: Vec<u8>,
}

impl Arguments {
    fn new(value: Map<String, Value>) -> Self {
        let whole = Value::Object(value);
        let canonical = canonical(&whole);
        let Value::Object(value) = whole else {
            return Self {
                value: Map::new(),
                canonical,
            };
        };
        Self { value, canonical }
    }

    /// The arguments by name.
    #[must_use]
    pub const fn value(&self) -> &Map<String, Value> {
        &self.value
    }

    /// Their canonical bytes (RFC 8785).
    #[must_use]
    pub fn canonical(&self) -> &[u8] {
        &self.canonical
    }
}

/// A verdict, with the arguments if they could be read.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Judged {
    /// What policy and call say of each other.
    pub verdict: Verdict,
    /// The arguments as they would be sent; there for everything but hidden and unreadable ones.
    pub arguments: Option<Arguments>,
}

/// Judges a call: what is not granted is hidden, then each stage refuses before the next is asked.
///
/// `raw` is the JSON text of the arguments, empty for none. `has_marker` finds a redaction marker
/// and says where.
///
/// ```
/// use std::sync::Arc;
/// use toolgate_core::catalog::{Catalog, Provenance, Source, Tool, Trust};
/// use toolgate_core::judge::judge;
/// use toolgate_core::policy;
/// use toolgate_core::verdict::Decision;
///
/// let source =
///     Source { id: "gh".parse()?, provenance: Provenance::User, trust: Trust::Byo };
/// let tool = Arc::new(Tool::new(&source, r#"{"name":"add","inputSchema":{"type":"object"}}"#)?);
/// let catalog = Catalog::new([Arc::clone(&tool)], false);
/// let policy = policy::parse(r#"{"tools":{"gh__add":{}}}"#, &catalog)?;
///
/// let judged = judge(&policy, Some(&tool), r#"{"n":1}"#, &|_| None);
/// assert_eq!(judged.verdict.decision, Decision::Queue);
/// let judged = judge(&policy, Some(&tool), r#"{"n":1,"n":2}"#, &|_| None);
/// assert_eq!(judged.verdict.decision, Decision::Refuse);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn judge(
    policy: &Policy,
    tool: Option<&Tool>,
    raw: &str,
    has_marker: &dyn Fn(&Value) -> Option<String>,
) -> Judged {
    let Some(tool) = tool.filter(|tool| policy.grants(tool)) else {
        return Judged {
            verdict: Verdict::hidden(),
            arguments: None,
        };
    };
    let classified = tool.classified();
    let mut verdict = Verdict {
        decision: Decision::Run,
        reasons: Vec::new(),
        mode: Some(classified.mode),
        classified_by: Some(classified.classified_by),
    };
    let mut arguments = match read(raw) {
        Ok(arguments) => arguments,
        Err(reason) => {
            verdict.contribute(Decision::Refuse, *reason);
            return Judged {
                verdict,
                arguments: None,
            };
        }
    };
    let refusals = refusals(policy, tool, &mut arguments, has_marker);
    if refusals.is_empty() {
        contribute(policy, tool, &mut verdict);
    }
    for reason in refusals {
        verdict.contribute(Decision::Refuse, reason);
    }
    Judged {
        verdict,
        arguments: Some(Arguments::new(arguments)),
    }
}

/// The reasons of the first stage that refuses.
fn refusals(
    policy: &Policy,
    tool: &Tool,
    arguments: &mut Map<String, Value>,
    has_marker: &dyn Fn(&Value) -> Option<String>,
) -> Vec<Reason> {
    // A marker may be spelt out only by the conversion, so what it changed is searched again.
    let marked = marker(arguments, has_marker);
    let marked = marked.or_else(|| {
        let has_converted = tool.arguments().coerce(arguments);
        has_converted
            .then(|| marker(arguments, has_marker))
            .flatten()
    });
    if let Some(path) = marked {
        let message = "this argument holds a redaction marker: edit around the marker instead of \
                       writing it back";
        return vec![Reason::new(Code::RedactionInArgs, message, Retry::Fixed).at(place(&path))];
    }
    let nothing = ArgumentRules::default();
    let rules = policy.rules(tool.shown()).unwrap_or(&nothing);
    let invalid = check_schema(tool, policy.unknown_args(tool.shown()), rules, arguments);
    if !invalid.is_empty() {
        return invalid;
    }
    rules
        .check(arguments)
        .into_iter()
        .map(|refusal| refused(tool, refusal))
        .collect()
}

/// Where a redaction marker stands, if there is one.
fn marker(
    arguments: &mut Map<String, Value>,
    has_marker: &dyn Fn(&Value) -> Option<String>,
) -> Option<String> {
    let whole = Value::Object(std::mem::take(arguments));
    let marked = has_marker(&whole);
    if let Value::Object(members) = whole {
        *arguments = members;
    }
    marked
}

fn read(raw: &str) -> Result<Map<String, Value>, Box<Reason>> {
    let malformed = |message: &str| Reason::new(Code::ArgumentsMalformed, message, Retry::Fixed);
    if raw.is_empty() {
        return Ok(Map::new());
    }
    if raw.len() > MOST_ARGUMENTS {
        let reason = malformed("the arguments are larger than 64 KiB");
        return Err(Box::new(
            reason.expecting(json!({ "maxBytes": MOST_ARGUMENTS })),
        ));
    }
    let reason = match parse_strict(raw) {
        Ok(Value::Object(arguments)) => return Ok(arguments),
        Ok(_) => malformed("the arguments are not a JSON object"),
        Err(JsonError { kind, path }) if path.is_empty() => {
            malformed(&format!("the text of the arguments {kind}"))
        }
        Err(error) => malformed(&format!("the argument at {error}")).at(place(&error.path)),
    };
    Err(Box::new(reason))
}

fn check_schema(
    tool: &Tool,
    unknown: UnknownArgs,
    rules: &ArgumentRules,
    arguments: &mut Map<String, Value>,
) -> Vec<Reason> {
    let schema = tool.arguments();
    if !schema.usable() {
        let message = "the tool's input schema cannot be used, so no call of it is possible";
        return vec![Reason::new(Code::ArgumentsInvalid, message, Retry::Never)];
    }
    // A schema that names nothing leaves it to the rules to say which arguments there are.
    let named_by_rules = schema.is_free() && !rules.is_empty();
    if unknown == UnknownArgs::Drop {
        if named_by_rules {
            arguments.retain(|name, _| rules.names(name));
        } else if !schema.is_free() {
            schema.drop_unnamed(arguments);
        }
    }
    let closing = match unknown {
        _ if schema.is_free() => Closing::Open,
        UnknownArgs::Pass => Closing::Open,
        UnknownArgs::Drop | UnknownArgs::Refuse => Closing::Closed,
    };
    if let Err(faults) = schema.check(arguments, closing) {
        return faults.into_iter().map(invalid).collect();
    }
    if named_by_rules && unknown == UnknownArgs::Refuse {
        let unnamed = arguments.keys().filter(|name| !rules.names(name));
        return unnamed
            .map(|name| {
                let message = "neither the tool's schema nor policy names this argument";
                Reason::new(Code::ArgumentsInvalid, message, Retry::Fixed)
                    .at(place(&format!("/{}", pointer_escape(name))))
            })
            .take(MOST_REASONS)
            .collect();
    }
    Vec::new()
}

fn invalid(fault: Fault) -> Reason {
    let message = match fault.keyword.as_str() {
        "required" => "this argument is missing and the tool's input schema requires it".to_owned(),
        "additionalProperties" | "unevaluatedProperties" => {
            "the tool's input schema does not name this argument".to_owned()
        }
        keyword => format!("this argument does not fit `{keyword}` of the tool's input schema"),
    };
    let mut expected = Map::new();
    expected.insert("keyword".to_owned(), Value::String(fault.keyword));
    if let Some(Value::Object(members)) = fault.expected {
        expected.extend(members);
    }
    let reason = Reason::new(Code::ArgumentsInvalid, message, Retry::Fixed)
        .expecting(Value::Object(expected));
    if fault.path.is_empty() {
        reason
    } else {
        reason.at(place(&fault.path))
    }
}

fn refused(tool: &Tool, refusal: Refusal) -> Reason {
    let Refusal {
        path,
        rule,
        expected,
        ..
    } = refusal;
    let path = place(&path);
    let shown = tool.shown();
    let message = match rule {
        "optional" => format!(
            "policy has a rule about argument `{path}` of tool `{shown}`, so it must be given"
        ),
        "otherArgs" => {
            format!("policy does not name argument `{path}` of tool `{shown}`, so it is refused")
        }
        rule => {
            format!("argument `{path}` of tool `{shown}` does not hold the rule `{rule}` of policy")
        }
    };
    Reason::new(Code::ArgumentRefused, message, Retry::Fixed)
        .at(path)
        .expecting(expected)
}

/// What mode and policy contribute once the arguments pass.
fn contribute(policy: &Policy, tool: &Tool, verdict: &mut Verdict) {
    let approval = policy.approval(tool);
    if approval == AskWhen::Always {
        let message = "policy says that a person is asked before every call of this tool";
        let reason = Reason::new(Code::ApprovalAlways, message, Retry::After);
        verdict.contribute(Decision::Queue, reason);
    }
    match tool.classified().mode {
        Mode::Action if approval == AskWhen::Never => {
            let message = "policy says that this tool needs no person";
            verdict.classified_by = Some(ClassifiedBy::Policy);
            let reason = Reason::new(Code::NeverAsks, message, Retry::After);
            verdict.contribute(Decision::AutoApply, reason);
        }
        Mode::Action => {
            let message = "this tool changes something, so a person is asked first";
            let reason = Reason::new(Code::Action, message, Retry::After);
            verdict.contribute(Decision::Queue, reason);
        }
        Mode::Observation if is_doubtful(tool) => {
            let message = "this tool says that it only reads, but its name says that it changes \
                           something, so a person is asked first";
            let reason = Reason::new(Code::ApprovalAlways, message, Retry::After);
            verdict.contribute(Decision::Queue, reason);
        }
        Mode::Observation if approval == AskWhen::Always => {}
        Mode::Observation => {
            let message = "this tool only reads, so it needs no person";
            let reason = Reason::new(Code::Observation, message, Retry::After);
            verdict.contribute(Decision::Run, reason);
        }
    }
}

/// The most unnamed arguments that one verdict lists.
const MOST_REASONS: usize = 16;
