//! Reads a policy and collects everything that is wrong with its shape.

use std::collections::BTreeMap;

use serde_json::Map;
use serde_json::Number;
use serde_json::Value;

use crate::json;
use crate::json::pointer_escape;
use crate::rules::RuleDocument;

use super::MOST_REPLAY;
use super::MOST_RULES;
use super::MOST_TEXT;
use super::MOST_TOOLS;
use super::document::Allow;
use super::document::Approvers;
use super::document::AskWhen;
use super::document::Fence;
use super::document::OnInjection;
use super::document::OtherArgs;
use super::document::Pii;
use super::document::PolicyDocument;
use super::document::ToolPolicy;
use super::document::UnknownArgs;
use super::document::UpstreamPolicy;
use super::error::PolicyError;
use super::error::PolicyErrors;
use super::error::with_nearest;

/// The longest name of a tool, argument or source that is kept.
const MOST_NAME: usize = 512;

/// The document as far as it can be read, and what is wrong with its shape.
///
/// # Errors
/// The text cannot be read as an object at all.
pub(super) fn text(text: &str) -> Result<(PolicyDocument, Vec<PolicyError>), PolicyErrors> {
    let whole = |message: &str| PolicyErrors::new(vec![PolicyError::new("", message)]);
    if text.len() > MOST_TEXT {
        return Err(whole("is larger than 256 KiB"));
    }
    let value = json::parse_strict(text).map_err(|error| {
        PolicyErrors::new(vec![PolicyError::new(
            json::place(&error.path),
            error.kind.to_string(),
        )])
    })?;
    let Value::Object(members) = &value else {
        return Err(whole("is not a JSON object"));
    };
    let mut errors = Vec::new();
    let document = document(members, &mut errors);
    Ok((document, errors))
}

fn document(members: &Map<String, Value>, errors: &mut Vec<PolicyError>) -> PolicyDocument {
    let mut fields = Fields {
        members,
        path: String::new(),
        errors,
    };
    fields.known(&[
        "tools",
        "upstreams",
        "perMinute",
        "perDay",
        "pii",
        "onInjection",
        "fence",
        "approvers",
        "unknownArgs",
    ]);
    PolicyDocument {
        tools: fields.entries("tools", MOST_TOOLS, tool),
        upstreams: fields.entries("upstreams", MOST_TOOLS, upstream),
        per_minute: fields.count("perMinute", u32::MAX),
        per_day: fields.count("perDay", u32::MAX),
        pii: fields.word("pii", Pii::WORDS),
        on_injection: fields.word("onInjection", OnInjection::WORDS),
        fence: fields.word("fence", Fence::WORDS),
        approvers: fields.word("approvers", Approvers::WORDS),
        unknown_args: fields.word("unknownArgs", UnknownArgs::WORDS),
    }
}

fn tool(mut fields: Fields<'_, '_>) -> Option<ToolPolicy> {
    fields.known(&[
        "args",
        "otherArgs",
        "unknownArgs",
        "perMinute",
        "approval",
        "replay",
    ]);
    Some(ToolPolicy {
        args: fields.entries("args", MOST_RULES, rule),
        other_args: fields.word("otherArgs", OtherArgs::WORDS),
        unknown_args: fields.word("unknownArgs", UnknownArgs::WORDS),
        per_minute: fields.count("perMinute", u32::MAX),
        approval: fields.word("approval", AskWhen::WORDS),
        replay: fields.count("replay", MOST_REPLAY),
    })
}

fn upstream(mut fields: Fields<'_, '_>) -> Option<UpstreamPolicy> {
    fields.known(&["allow", "except", "scope"]);
    if fields.members.contains_key("scope") {
        fields.error("scope", "is not supported yet by this version");
    }
    if !fields.members.contains_key("allow") {
        fields.error("allow", "is missing: one of `all`, `none`, `reads`");
    }
    Some(UpstreamPolicy {
        allow: fields.word("allow", Allow::WORDS)?,
        except: fields.texts("except", MOST_TOOLS).unwrap_or_default(),
    })
}

fn rule(mut fields: Fields<'_, '_>) -> Option<RuleDocument> {
    fields.known(&[
        "oneOf",
        "pattern",
        "prefix",
        "min",
        "max",
        "maxLength",
        "hosts",
        "optional",
    ]);
    Some(RuleDocument {
        one_of: fields.list("oneOf"),
        pattern: fields.text("pattern"),
        prefix: fields.text("prefix"),
        min: fields.number("min"),
        max: fields.number("max"),
        max_length: fields.count("maxLength", u32::MAX),
        hosts: fields.texts("hosts", usize::MAX),
        optional: fields.flag("optional"),
    })
}

/// The members of one object of the policy.
struct Fields<'m, 'e> {
    members: &'m Map<String, Value>,
    path: String,
    errors: &'e mut Vec<PolicyError>,
}

impl<'m> Fields<'m, '_> {
    fn at(&self, key: &str) -> String {
        format!("{}/{}", self.path, pointer_escape(key))
    }

    fn error(&mut self, key: &str, message: impl Into<String>) {
        self.errors.push(PolicyError::new(self.at(key), message));
    }

    fn known(&mut self, known: &[&str]) {
        let unknown: Vec<&String> = self
            .members
            .keys()
            .filter(|key| !known.contains(&key.as_str()))
            .collect();
        for key in unknown {
            let message = with_nearest(
                "is not a key of a policy here",
                key,
                known.iter().copied(),
                self.errors.len(),
            );
            self.error(key, message);
        }
    }

    /// A member, read; an error if it is there and cannot be.
    fn read<T>(
        &mut self,
        key: &str,
        wanted: &str,
        read: impl FnOnce(&'m Value) -> Option<T>,
    ) -> Option<T> {
        let value = self.members.get(key)?;
        let found = read(value);
        if found.is_none() {
            self.error(key, format!("is not {wanted}"));
        }
        found
    }

    fn text(&mut self, key: &str) -> Option<String> {
        self.read(key, "a string", |value| value.as_str().map(str::to_owned))
    }

    fn number(&mut self, key: &str) -> Option<Number> {
        self.read(key, "a number", |value| value.as_number().cloned())
    }

    fn list(&mut self, key: &str) -> Option<Vec<Value>> {
        self.read(key, "a list", |value| value.as_array().cloned())
    }

    fn flag(&mut self, key: &str) -> bool {
        self.read(key, "`true` or `false`", Value::as_bool)
            .unwrap_or_default()
    }

    fn texts(&mut self, key: &str, most: usize) -> Option<Vec<String>> {
        self.read(key, "a list of strings of sensible length", |value| {
            let listed = value.as_array().filter(|listed| listed.len() <= most)?;
            listed
                .iter()
                .map(|text| text.as_str().map(str::to_owned))
                .collect()
        })
    }

    fn count(&mut self, key: &str, most: u32) -> Option<u32> {
        let wanted = format!("a whole number from 0 to {most}");
        self.read(key, &wanted, |value| {
            let whole = value.as_u64().or_else(|| {
                let text = String::from_utf8(json::canonical(value)).ok()?;
                value.is_number().then(|| text.parse().ok())?
            })?;
            u32::try_from(whole).ok().filter(|count| *count <= most)
        })
    }

    fn word<T: Copy>(&mut self, key: &str, words: &[(&str, T)]) -> Option<T> {
        let listed: Vec<String> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
        self.read(key, &format!("one of {}", listed.join(", ")), |value| {
            let word = value.as_str()?;
            words
                .iter()
                .find(|(known, _)| *known == word)
                .map(|(_, meaning)| *meaning)
        })
    }

    fn entries<T>(
        &mut self,
        key: &str,
        most: usize,
        read: impl Fn(Fields<'_, '_>) -> Option<T>,
    ) -> BTreeMap<String, T> {
        let Some(members) = self.read(key, "an object", Value::as_object) else {
            return BTreeMap::new();
        };
        if members.len() > most {
            self.error(key, format!("holds more than {most} entries"));
            return BTreeMap::new();
        }
        let path = self.at(key);
        let mut entries = BTreeMap::new();
        for (name, value) in members {
            let path = format!("{path}/{}", pointer_escape(name));
            if name.len() > MOST_NAME {
                self.errors
                    .push(PolicyError::new(json::place(&path), "is too long a name"));
                continue;
            }
            let Value::Object(members) = value else {
                self.errors.push(PolicyError::new(path, "is not an object"));
                continue;
            };
            let fields = Fields {
                members,
                path,
                errors: self.errors,
            };
            if let Some(entry) = read(fields) {
                entries.insert(name.clone(), entry);
            }
        }
        entries
    }
}
