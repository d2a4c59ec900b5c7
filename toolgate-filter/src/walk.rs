//! The one walk over every string of a JSON value, keys included.

use std::borrow::Cow;
use std::collections::HashSet;

use data_encoding::BASE64;
use serde_json::{Map, Value};

use crate::binary::{self, Held};
use crate::clean::{Clean, clean};
use crate::detect::seen;
use crate::field;
use crate::pointer::Pointer;
use crate::rules::RuleId;
use crate::{Cleaned, Finding, Kind, Pii, Settings, marker};

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
    /// A content block.
    Block,
    /// The resource inside a block, or one of `contents`.
    Resource,
}

/// A member of an object, whose key is clean.
#[derive(Debug)]
struct Member {
    key: String,
    /// The clean key, where `key` has a number after it because another member has that key.
    name: Option<String>,
    /// Whether the key came as it is.
    kept: bool,
    found: Option<Clean>,
    value: Value,
    is_clean: bool,
}

impl Member {
    fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.key)
    }
}

/// A text that was taken out of a list of blocks, to be cleaned with its neighbours.
struct Taken {
    at: String,
    text: String,
    /// The base64 that holds the text, and how long it was when it came.
    held_in: Option<(String, usize)>,
}

struct Walk<'a> {
    settings: &'a Settings,
    findings: Vec<Finding>,
    at: Pointer,
    // INVARIANT: where a text was taken from, nothing is left until it is put back clean.
    taken: Vec<Taken>,
}

impl<'a> Walk<'a> {
    fn new(settings: &'a Settings) -> Self {
        Self {
            settings,
            findings: Vec::new(),
            at: Pointer::default(),
            taken: Vec::new(),
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
            self.remove(rule, text.len());
            return marker::of(rule.id());
        }
        let at = self.at.to_string();
        let Some(clean) = clean(vec![text], self.settings).pop() else {
            return String::new();
        };
        report(&mut self.findings, &clean, &at);
        clean.text
    }

    /// Notes that a string of this length goes as a whole.
    fn remove(&mut self, rule: RuleId, length: usize) {
        self.findings.push(Finding {
            rule: Cow::Borrowed(rule.id()),
            kind: rule.kind(),
            span: 0..length,
            at: self.at.to_string(),
        });
    }

    /// An array, whose strings are cleaned together where one follows the other.
    fn array(&mut self, items: Vec<Value>, governed: Option<RuleId>) -> Vec<Value> {
        let mut out = Vec::with_capacity(items.len());
        let mut texts = Vec::new();
        for item in items {
            match item {
                Value::String(text) if governed.is_none() => texts.push(text),
                other => {
                    self.side_by_side(&mut texts, &mut out);
                    let back = self.at.push(&out.len().to_string());
                    out.push(self.value(other, governed));
                    self.at.pop(back);
                }
            }
        }
        self.side_by_side(&mut texts, &mut out);
        out
    }

    fn side_by_side(&mut self, texts: &mut Vec<String>, out: &mut Vec<Value>) {
        for clean in clean(std::mem::take(texts), self.settings) {
            if !clean.found.is_empty() {
                let at = format!("{}/{}", self.at, out.len());
                report(&mut self.findings, &clean, &at);
            }
            out.push(Value::String(clean.text));
        }
    }

    /// A list of blocks or resources. A reader sees the texts in it one after the other, whatever
    /// stands between them, so they are cleaned together.
    fn list(&mut self, items: Vec<Value>, place: Place) -> Value {
        let before = self.findings.len();
        let mut out = Vec::with_capacity(items.len());
        for (i, item) in items.into_iter().enumerate() {
            let back = self.at.push(&i.to_string());
            out.push(match item {
                Value::Object(members) => Value::Object(self.object(members, None, place)),
                other => self.value(other, None),
            });
            self.at.pop(back);
        }
        let mut list = Value::Array(out);
        let others = self.findings.split_off(before);
        self.put_back(&mut list);
        self.findings.extend(others);
        list
    }

    fn put_back(&mut self, list: &mut Value) {
        let here = self.at.to_string();
        let mut taken = std::mem::take(&mut self.taken);
        let texts = taken.iter_mut().map(|one| std::mem::take(&mut one.text));
        let cleaned = clean(texts.collect(), self.settings);
        for (Taken { at, held_in, .. }, mut clean) in taken.into_iter().zip(cleaned) {
            let mut text = std::mem::take(&mut clean.text);
            if let Some((data, length)) = held_in {
                let changes = |(rule, _): &(RuleId, _)| rule.kind() != Kind::Injection;
                let changed = clean.found.iter().any(changes);
                text = if changed {
                    BASE64.encode(text.as_bytes())
                } else {
                    data
                };
                // A place in the text is none in its base64.
                for (_, span) in &mut clean.found {
                    *span = 0..length;
                }
            }
            report(&mut self.findings, &clean, &at);
            let place = at.strip_prefix(&here).and_then(|at| list.pointer_mut(at));
            if let Some(place) = place {
                *place = Value::String(text);
            }
        }
    }

    /// Takes a text out of a list; what is left there says nothing.
    fn take(&mut self, text: String, held_in: Option<(String, usize)>) -> Value {
        self.taken.push(Taken {
            at: self.at.to_string(),
            text,
            held_in,
        });
        Value::Null
    }

    /// The base64 of a binary block.
    fn base64(&mut self, mut data: String, media: &str) -> Value {
        let pii = self.settings.pii == Pii::Redact;
        let length = data.len();
        let mut held = binary::held(&data, media, pii);
        if matches!(held, Held::Plain) {
            data = self.string(data, None);
            // Without what was removed, it may be base64 to the next reader.
            held = binary::held(&data, media, pii);
        }
        match held {
            Held::Bytes => Value::String(data),
            Held::Plain => match binary::loosely(&data) {
                Some(text) => self.take(text, Some((data, length))),
                None => Value::String(data),
            },
            Held::Text(text) => self.take(text, Some((data, length))),
            Held::Unreadable => {
                self.remove(RuleId::UNREADABLE, length);
                let marker = marker::of(RuleId::UNREADABLE.id());
                Value::String(BASE64.encode(marker.as_bytes()))
            }
        }
    }

    fn object(
        &mut self,
        members: Map<String, Value>,
        governed: Option<RuleId>,
        place: Place,
    ) -> Map<String, Value> {
        let members = self.members(members);
        let said = |name: &str| {
            let member = members.iter().find(|member| member.key == name);
            member.and_then(|member| member.value.as_str())
        };
        let is_media = matches!(said("type"), Some("image" | "audio"));
        let is_text = said("type") == Some("text");
        let media = binary::media(said("mimeType").unwrap_or_default());
        // `{"key": "password", "value": "…"}`: one member names what another holds.
        let named = members
            .iter()
            .filter(|member| is_one_of(member.name(), NAMING))
            .find_map(|member| field::label(member.value.as_str()?))
            .map(|label| label.rule)
            .or(governed);
        let mut out = Map::with_capacity(members.len());
        for member in members {
            let back = self.at.push(&member.key);
            let label = field::label(member.name()).map(|label| label.rule);
            let governs = if is_one_of(member.name(), &["value"]) {
                label.or(named)
            } else {
                label
            };
            let value = match (place, member.key.as_str(), member.value) {
                (_, _, value) if member.is_clean => value,
                (Place::Result, "content", Value::Array(items)) => self.list(items, Place::Block),
                (Place::Result, "contents", Value::Array(items)) => {
                    self.list(items, Place::Resource)
                }
                (Place::Block, "resource", Value::Object(resource)) => {
                    Value::Object(self.object(resource, None, Place::Resource))
                }
                (Place::Block, "text", Value::String(text)) if is_text => self.take(text, None),
                (Place::Resource, "text", Value::String(text)) => self.take(text, None),
                (Place::Block, "data", Value::String(data)) if is_media => {
                    self.base64(data, &media)
                }
                (Place::Resource, "blob", Value::String(data)) => self.base64(data, &media),
                (_, _, value) => self.value(value, governs),
            };
            self.at.pop(back);
            out.insert(member.key, value);
        }
        out
    }

    /// The members under clean keys, with those clean that decide what others mean: what they are
    /// to the next reader counts.
    fn members(&mut self, members: Map<String, Value>) -> Vec<Member> {
        let mut out: Vec<Member> = members
            .into_iter()
            .map(|(key, value)| {
                let (clean, found) = self.key(key.clone());
                Member {
                    kept: clean == key,
                    key: clean,
                    name: None,
                    found,
                    value,
                    is_clean: false,
                }
            })
            .collect();
        if out.iter().any(|member| !member.kept) {
            number(&mut out);
        }
        for member in &mut out {
            let back = self.at.push(&member.key);
            if let Some(clean) = member.found.take() {
                let at = self.at.of_key();
                report(&mut self.findings, &clean, &at);
            }
            let decides = is_one_of(member.name(), NAMING) || TYPES.contains(&member.key.as_str());
            if let Value::String(text) = &mut member.value
                && decides
            {
                *text = self.string(std::mem::take(text), None);
                member.is_clean = true;
            }
            self.at.pop(back);
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

/// Gives a number to keys that became equal by cleaning, so that no member is lost. A key that
/// came as it is keeps its member.
fn number(members: &mut [Member]) {
    let kept = members.iter().filter(|member| member.kept);
    let mut used: HashSet<String> = kept.map(|member| member.key.clone()).collect();
    let mut copies = 1_usize;
    for member in members.iter_mut().filter(|member| !member.kept) {
        let name = member.key.clone();
        while !used.insert(member.key.clone()) {
            copies += 1;
            member.key = format!("{name} ({copies})");
            member.name = Some(name.clone());
        }
    }
}

/// Whether a key reads as one of these words.
fn is_one_of(key: &str, words: &[&str]) -> bool {
    let key = seen(key);
    words.iter().any(|word| word.eq_ignore_ascii_case(&key))
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

/// Members whose value names what is in the member `value`.
const NAMING: &[&str] = &["key", "name", "field", "label"];

/// Members that say what a block holds.
const TYPES: &[&str] = &["type", "mimeType"];

/// How keys begin to which `serde_json` gives a meaning.
const RESERVED: &str = "$serde_json::private::";
