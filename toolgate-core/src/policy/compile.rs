//! Holds a policy against the tools that exist.

use std::collections::BTreeSet;

use crate::catalog::Catalog;
use crate::catalog::Tool;
use crate::json::pointer_escape;
use crate::rules::ArgumentPath;
use crate::rules::ArgumentRules;
use crate::rules::Rule;
use crate::rules::RuleDocument;
use crate::schema::ArgumentSchema;
use crate::schema::shape;
use crate::schema::shape::Kinds;
use crate::schema::shape::Place;

use super::Entry;
use super::Grant;
use super::Policy;
use super::document::AskWhen;
use super::document::OtherArgs;
use super::document::PolicyDocument;
use super::document::ToolPolicy;
use super::document::UpstreamPolicy;
use super::error::PolicyError;
use super::error::with_nearest;
use super::is_vouched;

/// Compiles a policy that is being accepted; what does not fit is added to the errors.
pub(super) fn compile(
    document: PolicyDocument,
    catalog: &Catalog,
    errors: &mut Vec<PolicyError>,
) -> Policy {
    let mut policy = Policy::deny_all();
    for (name, said) in &document.tools {
        let path = format!("/tools/{}", pointer_escape(name));
        let is_byo = catalog.find(name).is_some_and(|tool| !is_vouched(tool));
        if is_byo && said.approval == Some(AskWhen::Never) {
            let message = "may be `never` only for a tool that is built in or vetted";
            errors.push(PolicyError::new(format!("{path}/approval"), message));
        }
        let entry = entry(name, said, &path, catalog, errors);
        policy.tools.insert(name.clone(), entry);
    }
    for (id, said) in &document.upstreams {
        let path = format!("/upstreams/{}", pointer_escape(id));
        upstream(id, said, &path, catalog, errors);
        policy.upstreams.insert(id.clone(), grant(said));
    }
    policy.document = document;
    policy
}

/// Compiles a policy that was accepted earlier.
pub(super) fn stored(document: PolicyDocument, catalog: &Catalog) -> Policy {
    let mut policy = Policy::deny_all();
    let mut stale = Vec::new();
    for (name, said) in &document.tools {
        let path = format!("/tools/{}", pointer_escape(name));
        let before = stale.len();
        let mut entry = entry(name, said, &path, catalog, &mut stale);
        entry.is_stale = stale.len() > before;
        policy.tools.insert(name.clone(), entry);
    }
    for (id, said) in &document.upstreams {
        let path = format!("/upstreams/{}", pointer_escape(id));
        upstream(id, said, &path, catalog, &mut stale);
        policy.upstreams.insert(id.clone(), grant(said));
    }
    policy.document = document;
    policy.stale = stale;
    policy
}

fn grant(said: &UpstreamPolicy) -> Grant {
    Grant {
        allow: said.allow,
        except: said.except.iter().cloned().collect::<BTreeSet<_>>(),
    }
}

fn upstream(
    id: &str,
    said: &UpstreamPolicy,
    path: &str,
    catalog: &Catalog,
    errors: &mut Vec<PolicyError>,
) {
    if !catalog.has_upstream(id) {
        let known: BTreeSet<&str> = catalog
            .iter()
            .map(|tool| tool.upstream().as_str())
            .collect();
        let message = with_nearest("is not a known upstream", id, known, errors.len());
        errors.push(PolicyError::new(path, message));
        return;
    }
    let tools: Vec<&Tool> = catalog
        .iter()
        .map(AsRef::as_ref)
        .filter(|tool: &&Tool| tool.upstream().as_str() == id)
        .collect();
    for (at, name) in said.except.iter().enumerate() {
        let is_known = tools
            .iter()
            .any(|tool| tool.wire().as_str() == name || tool.shown().as_str() == name);
        if !is_known {
            let known = tools.iter().map(|tool| tool.wire().as_str());
            let message = with_nearest("is not a tool of this upstream", name, known, errors.len());
            errors.push(PolicyError::new(format!("{path}/except/{at}"), message));
        }
    }
}

fn entry(
    name: &str,
    said: &ToolPolicy,
    path: &str,
    catalog: &Catalog,
    errors: &mut Vec<PolicyError>,
) -> Entry {
    let tool = catalog.find(name);
    if tool.is_none() {
        let known = catalog.iter().map(|tool| tool.shown().as_str());
        let message = with_nearest("is not a known tool", name, known, errors.len());
        errors.push(PolicyError::new(path, message));
    }
    let schema = tool.map(|tool| tool.arguments());
    if schema.is_some_and(|schema| !schema.usable()) {
        let message = "names a tool whose input schema cannot be used";
        errors.push(PolicyError::new(path, message));
    }
    let mut rules = Vec::new();
    for (argument, document) in &said.args {
        let path = format!("{path}/args/{}", pointer_escape(argument));
        let Some(place) = ArgumentPath::parse(argument) else {
            errors.push(PolicyError::new(
                path,
                "is neither a name nor a JSON Pointer",
            ));
            continue;
        };
        let fits = schema.is_none_or(|schema| fit(schema, &place, document, &path, errors));
        match Rule::new(document) {
            Ok(rule) if fits => rules.push((place, rule)),
            Ok(_) => {}
            Err(wrong) => errors.extend(
                wrong
                    .into_iter()
                    .map(|error| PolicyError::new(format!("{path}/{}", error.key), error.message)),
            ),
        }
    }
    let is_closed = said.other_args == Some(OtherArgs::Refuse);
    let rules = ArgumentRules::new(rules, is_closed);
    Entry {
        is_stale: false,
        rules,
        policy: said.clone(),
    }
}

/// Whether a rule can hold for something that the schema lets stand at its place.
fn fit(
    schema: &ArgumentSchema,
    place: &ArgumentPath,
    rule: &RuleDocument,
    path: &str,
    errors: &mut Vec<PolicyError>,
) -> bool {
    let segments: Vec<&str> = place.segments().iter().map(String::as_str).collect();
    let root = schema.source();
    let found = match shape::at(root, &segments) {
        Place::Anything => return true,
        Place::OneOf(found) => found,
        Place::Nowhere => {
            let message = match place.segments() {
                [name] => {
                    let known = schema.argument_names().iter().map(String::as_str);
                    with_nearest("is not an argument of this tool", name, known, errors.len())
                }
                [name, ..] if matches!(shape::at(root, &[name]), Place::Nowhere) => {
                    let known = schema.argument_names().iter().map(String::as_str);
                    with_nearest(
                        "leads into no argument of this tool",
                        name,
                        known,
                        errors.len(),
                    )
                }
                _ => "leads to nothing that the tool's schema can hold".to_owned(),
            };
            errors.push(PolicyError::new(path, message));
            return false;
        }
    };
    let kinds = shape::kinds_at(root, &segments);
    let keys = [
        ("pattern", rule.pattern.is_some(), Kinds::STRING, "strings"),
        ("prefix", rule.prefix.is_some(), Kinds::STRING, "strings"),
        (
            "maxLength",
            rule.max_length.is_some(),
            Kinds::STRING,
            "strings",
        ),
        ("hosts", rule.hosts.is_some(), Kinds::STRING, "strings"),
        ("min", rule.min.is_some(), Kinds::NUMBER, "numbers"),
        ("max", rule.max.is_some(), Kinds::NUMBER, "numbers"),
    ];
    let before = errors.len();
    for (key, is_given, kind, what) in keys {
        if is_given && !kinds.admits(kind) {
            let message = format!("is for {what}, and the tool's schema admits none here");
            errors.push(PolicyError::new(format!("{path}/{key}"), message));
        }
    }
    for (at, value) in rule.one_of.iter().flatten().enumerate() {
        if found
            .iter()
            .all(|schema| shape::excludes(root, schema, value))
        {
            let message = "is not a value that the tool's schema admits here";
            errors.push(PolicyError::new(format!("{path}/oneOf/{at}"), message));
        }
    }
    errors.len() == before
}
