//! Which arguments a rule is about: a top-level name, or a JSON Pointer in which `*` is every
//! element.

use serde_json::Map;
use serde_json::Value;

use crate::json::pointer_escape;

/// The most values that one pointer selects; more count as absent.
const MOST_SELECTED: usize = 10_000;
/// The most segments of a pointer.
const MOST_SEGMENTS: usize = 64;

/// Where an argument stands.
///
/// ```
/// use toolgate_core::rules::ArgumentPath;
///
/// assert_eq!(ArgumentPath::parse("path").unwrap().segments(), ["path"]);
/// assert_eq!(ArgumentPath::parse("/labels/*").unwrap().segments(), ["labels", "*"]);
/// assert!(ArgumentPath::parse("/a~2").is_none());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentPath {
    segments: Vec<String>,
}

/// The values that a pointer selects, each with its own pointer.
#[derive(Debug, Default)]
pub(super) struct Selected<'v> {
    pub(super) values: Vec<(String, &'v Value)>,
    /// Where something that the pointer asks for is not there.
    pub(super) absent: Option<String>,
}

impl ArgumentPath {
    /// Reads a name or pointer; nothing if it is empty or badly escaped.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let Some(pointer) = text.strip_prefix('/') else {
            return (!text.is_empty()).then(|| Self {
                segments: vec![text.to_owned()],
            });
        };
        let segments: Option<Vec<String>> = pointer.split('/').map(unescape).collect();
        segments
            .filter(|segments| segments.len() <= MOST_SEGMENTS)
            .map(|segments| Self { segments })
    }

    /// Its segments, unescaped; a segment `*` is every element.
    #[must_use]
    pub fn segments(&self) -> &[String] {
        &self.segments
    }

    /// The top-level argument that it is about; nothing if that is a `*`.
    #[must_use]
    pub fn top(&self) -> Option<&str> {
        self.segments
            .first()
            .map(String::as_str)
            .filter(|name| *name != "*")
    }

    /// As a JSON Pointer.
    #[must_use]
    pub fn to_pointer(&self) -> String {
        self.segments
            .iter()
            .map(|segment| format!("/{}", pointer_escape(segment)))
            .collect()
    }

    pub(super) fn select<'v>(&self, arguments: &'v Map<String, Value>) -> Selected<'v> {
        let mut selected = Selected::default();
        let Some((first, rest)) = self.segments.split_first() else {
            return selected;
        };
        if first == "*" {
            if arguments.is_empty() {
                selected.absent = Some("/*".to_owned());
            }
            for (name, value) in arguments {
                descend(
                    value,
                    rest,
                    format!("/{}", pointer_escape(name)),
                    &mut selected,
                );
            }
        } else {
            let at = format!("/{}", pointer_escape(first));
            match arguments.get(first) {
                Some(value) => descend(value, rest, at, &mut selected),
                None => selected.absent = Some(at),
            }
        }
        selected
    }

    /// Whether a place is one that this pointer selects, or lies below one.
    pub(super) fn covers(&self, place: &[&str]) -> bool {
        self.segments.len() <= place.len() && self.agrees(place)
    }

    /// Whether this pointer selects something below a place.
    pub(super) fn reaches_below(&self, place: &[&str]) -> bool {
        self.segments.len() > place.len() && self.agrees(place)
    }

    fn agrees(&self, place: &[&str]) -> bool {
        self.segments
            .iter()
            .zip(place)
            .all(|(mine, theirs)| mine == "*" || mine == theirs)
    }
}

fn descend<'v>(value: &'v Value, rest: &[String], at: String, selected: &mut Selected<'v>) {
    let Some((segment, rest)) = rest.split_first() else {
        if selected.values.len() < MOST_SELECTED {
            selected.values.push((at, value));
        } else {
            selected.absent = Some(at);
        }
        return;
    };
    let below = |key: &str| format!("{at}/{}", pointer_escape(key));
    let mut children: Vec<(String, &Value)> = Vec::new();
    match value {
        Value::Array(items) if segment == "*" => {
            children.extend(
                items
                    .iter()
                    .enumerate()
                    .map(|(i, item)| (below(&i.to_string()), item)),
            );
        }
        Value::Array(items) => {
            let index = index(segment).and_then(|index| items.get(index));
            children.extend(index.map(|item| (below(segment), item)));
        }
        Value::Object(members) if segment == "*" => {
            children.extend(members.iter().map(|(key, member)| (below(key), member)));
        }
        Value::Object(members) => {
            children.extend(members.get(segment).map(|member| (below(segment), member)));
        }
        _ => {}
    }
    if children.is_empty() {
        selected.absent = Some(below(segment));
    }
    for (at, child) in children {
        descend(child, rest, at, selected);
    }
}

/// An array index as RFC 6901 spells it: no sign, no leading zero.
fn index(segment: &str) -> Option<usize> {
    let is_plain = segment == "0" || !segment.starts_with('0');
    (is_plain && segment.bytes().all(|b| b.is_ascii_digit())).then(|| segment.parse().ok())?
}

fn unescape(segment: &str) -> Option<String> {
    let mut text = String::new();
    let mut chars = segment.chars();
    while let Some(c) = chars.next() {
        text.push(match c {
            '~' => match chars.next()? {
                '0' => '~',
                '1' => '/',
                _ => return None,
            },
            c => c,
        });
    }
    Some(text)
}
