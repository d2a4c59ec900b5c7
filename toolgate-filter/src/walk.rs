//! The one walk over every string of a JSON value, keys included.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::clean::{Clean, clean};
use crate::field;
use crate::pointer::Pointer;
use crate::rules::RuleId;
use crate::{Cleaned, Finding, Settings, marker};

/// Cleans a value that means nothing in particular.
pub(crate) fn value(value: Value, settings: &Settings) -> Cleaned<Value> {
    let mut walk = Walk::new(settings);
    let value = walk.value(value, None);
    Cleaned {
        value,
        findings: walk.findings,
    }
}

/// Cleans a result, whose `content` holds blocks.
pub(crate) fn result(result: Value, settings: &Settings) -> Cleaned<Value> {
    let mut walk = Walk::new(settings);
    let value = match result {
        Value::Object(members) => Value::Object(walk.object(members, None, Place::Result)),
        other => walk.value(other, None),
    };
    Cleaned {
        value,
        findings: walk.findings,
    }
}

/// Turns what was found in one string into findings.
pub(crate) fn report(findings: &mut Vec<Finding>, clean: &Clean, at: &str) {
    findings.extend(clean.found.iter().map(|(rule, span)| Finding {
        rule: Cow::Borrowed(rule.id()),
        kind: rule.kind(),
        span: span.clone(),
        at: at.to_owned(),
    }));
}

/// Where an object stands, which decides what its members mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Anywhere,
    /// The result itself.
    Result,
    /// A content block whose text, if it is a text block, is clean already.
    Block,
    /// The resource inside a block, or one of `contents`.
    Resource,
}

struct Walk<'a> {
    settings: &'a Settings,
    findings: Vec<Finding>,
    at: Pointer,
}

impl<'a> Walk<'a> {
    fn new(settings: &'a Settings) -> Self {
        Self {
            settings,
            findings: Vec::new(),
            at: Pointer::default(),
        }
    }

    fn value(&mut self, value: Value, governed: Option<RuleId>) -> Value {
        match value {
            Value::String(text) => Value::String(self.string(text, governed)),
            Value::Array(items) => Value::Array(self.array(items, governed)),
            Value::Object(members) => {
                Value::Object(self.object(members, governed, Place::Anywhere))
            }
            other => other,
        }
    }

    /// A string, which goes as a whole where a label governs it.
    fn string(&mut self, text: String, governed: Option<RuleId>) -> String {
        if let Some(rule) = governed.filter(|_| is_secret(&text)) {
            self.findings.push(Finding {
                rule: Cow::Borrowed(rule.id()),
                kind: rule.kind(),
                span: 0..text.len(),
                at: self.at.to_string(),
            });
            return marker::of(rule.id());
        }
        let at = self.at.to_string();
        self.text(text, &at)
    }

    fn text(&mut self, text: String, at: &str) -> String {
        let Some(clean) = clean(vec![text], self.settings).pop() else {
            return String::new();
        };
        report(&mut self.findings, &clean, at);
        clean.text
    }

    fn array(&mut self, mut items: Vec<Value>, governed: Option<RuleId>) -> Vec<Value> {
        let joined = governed.is_none();
        if joined {
            self.side_by_side(&mut items, "", |item| match item {
                Value::String(text) => Some(text),
                _ => None,
            });
        }
        self.each(items, |walk, item| match item {
            Value::String(text) if joined => Value::String(text),
            other => walk.value(other, governed),
        })
    }

    fn blocks(&mut self, mut items: Vec<Value>) -> Vec<Value> {
        self.side_by_side(&mut items, "/text", block_text);
        self.each(items, |walk, item| match item {
            Value::Object(block) => Value::Object(walk.object(block, None, Place::Block)),
            other => walk.value(other, None),
        })
    }

    fn each(
        &mut self,
        items: Vec<Value>,
        mut one: impl FnMut(&mut Self, Value) -> Value,
    ) -> Vec<Value> {
        let mut out = Vec::with_capacity(items.len());
        for (i, item) in items.into_iter().enumerate() {
            let back = self.at.push(&i.to_string());
            out.push(one(self, item));
            self.at.pop(back);
        }
        out
    }

    /// Cleans the texts of neighbours together.
    fn side_by_side(
        &mut self,
        items: &mut [Value],
        suffix: &str,
        pick: impl Fn(&mut Value) -> Option<&mut String>,
    ) {
        let mut from = 0;
        while from < items.len() {
            let run = items.iter_mut().skip(from);
            let texts: Vec<String> = run
                .map_while(|item| pick(item).map(std::mem::take))
                .collect();
            let count = texts.len();
            if count > 0 {
                let places = items.iter_mut().skip(from).take(count).enumerate();
                for ((i, item), clean) in places.zip(clean(texts, self.settings)) {
                    if !clean.found.is_empty() {
                        let at = format!("{}/{}{suffix}", self.at, from + i);
                        report(&mut self.findings, &clean, &at);
                    }
                    if let Some(slot) = pick(item) {
                        *slot = clean.text;
                    }
                }
            }
            from += count.max(1);
        }
    }

    fn object(
        &mut self,
        members: Map<String, Value>,
        governed: Option<RuleId>,
        place: Place,
    ) -> Map<String, Value> {
        let member = |name: &str| members.get(name).and_then(Value::as_str);
        let media = matches!(member("type"), Some("image" | "audio"));
        let is_text = member("type") == Some("text");
        // `{"key": "password", "value": "…"}`: one member names what another holds.
        let named = ["key", "name", "field", "label"]
            .iter()
            .find_map(|name| member(name).and_then(field::label))
            .map(|label| label.rule)
            .or(governed);
        let mut out = Map::with_capacity(members.len());
        let mut copies = 1_usize;
        for (key, value) in members {
            let (mut key, own) = self.key(key);
            // Two keys that were told apart by what was removed alone must both stay.
            while out.contains_key(&key) {
                copies += 1;
                key = format!("{key} ({copies})");
            }
            let back = self.at.push(&key);
            if let Some(clean) = own {
                let at = self.at.of_key();
                report(&mut self.findings, &clean, &at);
            }
            let label = field::label(&key).map(|label| label.rule);
            let governs = if key == "value" {
                label.or(named)
            } else {
                label
            };
            let value = match (place, key.as_str(), value) {
                (Place::Result, "content", Value::Array(items)) => Value::Array(self.blocks(items)),
                (Place::Result, "contents", Value::Array(items)) => {
                    Value::Array(self.each(items, |walk, item| match item {
                        Value::Object(resource) => {
                            Value::Object(walk.object(resource, None, Place::Resource))
                        }
                        other => walk.value(other, None),
                    }))
                }
                (Place::Block, "resource", Value::Object(resource)) => {
                    Value::Object(self.object(resource, None, Place::Resource))
                }
                (Place::Block, "text", Value::String(text)) if is_text => Value::String(text),
                (Place::Block, "data", Value::String(data)) if media && is_base64(&data) => {
                    Value::String(data)
                }
                (Place::Resource, "blob", Value::String(data)) if is_base64(&data) => {
                    Value::String(data)
                }
                (_, _, value) => self.value(value, governs),
            };
            self.at.pop(back);
            out.insert(key, value);
        }
        out
    }

    /// A clean key, and what was found in the key as it came.
    fn key(&self, key: String) -> (String, Option<Clean>) {
        let Some(mut clean) = clean(vec![key], self.settings).pop() else {
            return (String::new(), None);
        };
        let mut key = std::mem::take(&mut clean.text);
        // Only cleaning can bring about such a key, and a store would read another value back.
        if key.starts_with(RESERVED) {
            key.insert(0, '_');
        }
        (key, (!clean.found.is_empty()).then_some(clean))
    }
}

fn block_text(item: &mut Value) -> Option<&mut String> {
    let block = item.as_object_mut()?;
    if block.get("type").and_then(Value::as_str) != Some("text") {
        return None;
    }
    match block.get_mut("text") {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

/// Whether the value of a labelled field is one at all.
fn is_secret(text: &str) -> bool {
    let trimmed = text.trim();
    let nothing = ["", "true", "false", "null", "none", "undefined"];
    !marker::is_marker(trimmed)
        && !nothing
            .iter()
            .any(|word| trimmed.eq_ignore_ascii_case(word))
}

fn is_base64(data: &str) -> bool {
    data.bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"+/=-_\r\n".contains(&b))
}

/// How keys begin to which `serde_json` gives a meaning.
const RESERVED: &str = "$serde_json::private::";
