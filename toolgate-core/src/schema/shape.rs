//! What a schema can hold at a place, read without compiling it.
//!
//! The answers lean one way: a place or kind is ruled out only if the schema says so.

use std::collections::BTreeSet;

use serde_json::Value;

/// How many references and combinations are followed into one another.
const MOST_STEPS: usize = 12;
/// The most parts of a schema that one question about kinds visits.
const MOST_VISITS: usize = 2_000;
/// The most places that one look-up keeps.
const MOST_PLACES: usize = 256;

/// A set of kinds of JSON values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kinds(u8);

impl Kinds {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const NULL: Self = Self(1);
    pub(crate) const BOOLEAN: Self = Self(2);
    pub(crate) const INTEGER: Self = Self(4);
    pub(crate) const FRACTION: Self = Self(8);
    pub(crate) const NUMBER: Self = Self(12);
    pub(crate) const STRING: Self = Self(16);
    pub(crate) const ARRAY: Self = Self(32);
    pub(crate) const OBJECT: Self = Self(64);
    pub(crate) const ALL: Self = Self(127);

    /// The kind of a value; a number without a fraction is an integer.
    pub(crate) fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(number) => match number.as_f64() {
                Some(double) if double.fract() != 0.0 => Self::FRACTION,
                _ => Self::INTEGER,
            },
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }

    /// Whether a value of one of those kinds may stand here.
    pub(crate) const fn admits(self, kinds: Self) -> bool {
        self.0 & kinds.0 != 0
    }

    const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    fn named(name: &Value) -> Self {
        match name.as_str() {
            Some("null") => Self::NULL,
            Some("boolean") => Self::BOOLEAN,
            Some("integer") => Self::INTEGER,
            Some("number") => Self::NUMBER,
            Some("string") => Self::STRING,
            Some("array") => Self::ARRAY,
            Some("object") => Self::OBJECT,
            _ => Self::NONE,
        }
    }
}

/// What stands at a place of a schema.
#[derive(Debug)]
pub(crate) enum Place<'s> {
    /// Nothing can: the schema names its members and this is none of them.
    Nowhere,
    /// Anything may.
    Anything,
    /// One of these.
    OneOf(Vec<&'s Value>),
}

/// Whether a schema neither names arguments nor closes itself.
pub(crate) fn is_free(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => !members.keys().any(|key| NAMING.contains(&key.as_str())),
        other => *other == Value::Bool(true),
    }
}

/// The top-level names that a schema declares, each once, in its order.
pub(crate) fn names(schema: &Value) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut seen = BTreeSet::new();
    for part in parts(schema, schema) {
        let declared = part.get("properties").and_then(Value::as_object);
        for name in declared.into_iter().flat_map(serde_json::Map::keys) {
            if seen.insert(name) {
                names.push(name.clone());
            }
        }
    }
    names
}

/// What may stand at a place; `*` is every element.
pub(crate) fn at<'s>(root: &'s Value, segments: &[&str]) -> Place<'s> {
    let mut here = vec![root];
    for (depth, segment) in segments.iter().enumerate() {
        let mut next: Vec<&Value> = Vec::new();
        for schema in here {
            match step(root, schema, segment, depth == 0) {
                Place::Nowhere => {}
                Place::Anything => return Place::Anything,
                Place::OneOf(found) => next.extend(found),
            }
        }
        if next.len() > MOST_PLACES {
            return Place::Anything;
        }
        here = next;
    }
    if here.is_empty() {
        Place::Nowhere
    } else {
        Place::OneOf(here)
    }
}

/// Whether a schema rules out a top-level name.
pub(crate) fn excludes_name(root: &Value, name: &str) -> bool {
    matches!(at(root, &[name]), Place::Nowhere)
}

/// The kinds that may stand at a place.
pub(crate) fn kinds_at(root: &Value, segments: &[&str]) -> Kinds {
    match at(root, segments) {
        Place::Nowhere => Kinds::NONE,
        Place::Anything => Kinds::ALL,
        Place::OneOf(found) => found
            .into_iter()
            .fold(Kinds::NONE, |all, one| all.or(kinds(root, one))),
    }
}

/// Whether a schema lists its values and this is none of them.
pub(crate) fn excludes(root: &Value, schema: &Value, value: &Value) -> bool {
    let is = |other: &Value| crate::json::canonical(other) == crate::json::canonical(value);
    let schema = follow(root, schema);
    if !kinds(root, schema).admits(Kinds::of(value)) {
        return true;
    }
    let listed = schema.get("enum").and_then(Value::as_array);
    listed.is_some_and(|listed| !listed.iter().any(is))
        || schema.get("const").is_some_and(|only| !is(only))
}

fn kinds(root: &Value, schema: &Value) -> Kinds {
    kinds_within(root, schema, MOST_STEPS, &mut { MOST_VISITS })
}

/// The kinds that a schema admits; all of them once too many parts were visited.
fn kinds_within(root: &Value, schema: &Value, steps: usize, visits: &mut usize) -> Kinds {
    let left = steps.checked_sub(1).zip(visits.checked_sub(1));
    let (Some(members), Some((steps, left))) = (schema.as_object(), left) else {
        return if *schema == Value::Bool(false) {
            Kinds::NONE
        } else {
            Kinds::ALL
        };
    };
    *visits = left;
    let mut all = match members.get("type") {
        Some(Value::Array(names)) => names
            .iter()
            .fold(Kinds::NONE, |all, name| all.or(Kinds::named(name))),
        Some(name) => Kinds::named(name),
        None => Kinds::ALL,
    };
    if let Some(listed) = members.get("enum").and_then(Value::as_array) {
        all = all.and(
            listed
                .iter()
                .fold(Kinds::NONE, |all, one| all.or(Kinds::of(one))),
        );
    }
    if let Some(only) = members.get("const") {
        all = all.and(Kinds::of(only));
    }
    if let Some(target) = local(root, schema) {
        all = all.and(kinds_within(root, target, steps, visits));
    }
    for one in list(schema, "allOf") {
        all = all.and(kinds_within(root, one, steps, visits));
    }
    for key in ["anyOf", "oneOf"]
        .iter()
        .filter(|key| members.contains_key(**key))
    {
        let mut any = Kinds::NONE;
        for one in list(schema, key) {
            any = any.or(kinds_within(root, one, steps, visits));
        }
        all = all.and(any);
    }
    all
}

fn step<'s>(root: &'s Value, schema: &'s Value, segment: &str, is_top: bool) -> Place<'s> {
    let mut found = Vec::new();
    let mut is_named = false;
    for part in parts(root, schema) {
        let Some(members) = part.as_object() else {
            if *part == Value::Bool(true) {
                return Place::Anything;
            }
            continue;
        };
        let refers = ["$ref", "$dynamicRef", "$recursiveRef"];
        if refers.iter().any(|key| members.contains_key(*key)) && local(root, part).is_none() {
            return Place::Anything;
        }
        is_named |= members.keys().any(|key| NAMING.contains(&key.as_str()));
        if let Some(declared) = members.get("properties").and_then(Value::as_object) {
            if segment == "*" {
                found.extend(declared.values());
            } else if let Some(declared) = declared.get(segment) {
                found.push(declared);
                continue;
            }
        }
        if members.contains_key("patternProperties") {
            return Place::Anything;
        }
        for key in ["additionalProperties", "unevaluatedProperties"] {
            match members.get(key) {
                None | Some(Value::Bool(false)) => {}
                Some(Value::Bool(true)) => return Place::Anything,
                Some(other) => found.push(other),
            }
        }
        if segment == "*" || segment.bytes().all(|b| b.is_ascii_digit()) {
            found.extend(list(part, "prefixItems"));
            match members.get("items") {
                Some(Value::Array(listed)) => found.extend(listed),
                Some(other) => found.push(other),
                None => {}
            }
            found.extend(members.get("additionalItems"));
        }
    }
    let of = kinds(root, schema);
    let structured = of.admits(Kinds::OBJECT) || (of.admits(Kinds::ARRAY) && !is_top);
    match (found.is_empty(), is_named || !structured) {
        (false, _) => Place::OneOf(found),
        (true, true) => Place::Nowhere,
        (true, false) => Place::Anything,
    }
}

/// A schema and everything that it combines or refers to.
fn parts<'s>(root: &'s Value, schema: &'s Value) -> Vec<&'s Value> {
    let mut parts: Vec<&Value> = vec![schema];
    let mut seen = BTreeSet::from([std::ptr::from_ref(schema)]);
    let mut at = 0;
    while let Some(part) = parts.get(at).copied() {
        at += 1;
        let combined = COMBINING.iter().flat_map(|key| list(part, key));
        let single = ["if", "then", "else"]
            .iter()
            .filter_map(|key| part.get(*key));
        let dependent = part.get("dependentSchemas").and_then(Value::as_object);
        let dependent = dependent.into_iter().flat_map(serde_json::Map::values);
        let more = combined
            .chain(single)
            .chain(dependent)
            .chain(local(root, part));
        parts.extend(more.filter(|one| seen.insert(std::ptr::from_ref(*one))));
    }
    parts
}

fn follow<'s>(root: &'s Value, schema: &'s Value) -> &'s Value {
    let mut schema = schema;
    for _ in 0..MOST_STEPS {
        match local(root, schema) {
            Some(target) if schema.as_object().is_some_and(|members| members.len() == 1) => {
                schema = target;
            }
            _ => break,
        }
    }
    schema
}

/// The target of a reference within the same schema.
pub(super) fn local<'s>(root: &'s Value, schema: &Value) -> Option<&'s Value> {
    let target = schema.get("$ref")?.as_str()?.strip_prefix('#')?;
    let decoded = percent_encoding::percent_decode_str(target)
        .decode_utf8()
        .ok()?;
    root.pointer(&decoded)
}

fn list<'s>(schema: &'s Value, key: &str) -> &'s [Value] {
    schema
        .get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

const COMBINING: &[&str] = &["allOf", "anyOf", "oneOf"];

/// Keywords that name members or elements, close a schema or bring in another one.
const NAMING: &[&str] = &[
    "$dynamicRef",
    "$recursiveRef",
    "$ref",
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "dependentSchemas",
    "else",
    "if",
    "items",
    "oneOf",
    "patternProperties",
    "prefixItems",
    "properties",
    "then",
    "unevaluatedProperties",
];
