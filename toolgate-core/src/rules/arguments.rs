//! All rules of one tool, against the arguments of one call.

use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use crate::json::pointer_escape;

use super::AllowedHosts;
use super::ArgumentPath;
use super::Rule;

/// The most refusals that one check reports.
const MOST_REFUSALS: usize = 16;

/// An argument that a rule refuses.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Refusal {
    /// JSON Pointer of the argument.
    pub path: String,
    /// The key of the rule that does not hold: `oneOf`, `prefix` …, `optional` for an argument that
    /// is absent, `otherArgs` for one that no rule names.
    pub rule: &'static str,
    /// What the rule would accept.
    pub expected: Value,
}

/// The rules of one tool.
#[derive(Debug, Clone, Default)]
pub struct ArgumentRules {
    rules: Vec<(ArgumentPath, Rule)>,
    is_closed: bool,
}

impl ArgumentRules {
    /// These rules; `is_closed` refuses every argument that none of them names.
    #[must_use]
    pub const fn new(rules: Vec<(ArgumentPath, Rule)>, is_closed: bool) -> Self {
        Self { rules, is_closed }
    }

    /// Whether there is no rule at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty() && !self.is_closed
    }

    /// Each rule with its place.
    pub fn iter(&self) -> impl Iterator<Item = (&ArgumentPath, &Rule)> {
        self.rules.iter().map(|(path, rule)| (path, rule))
    }

    /// The hosts of every rule that names any.
    pub fn hosts(&self) -> impl Iterator<Item = &AllowedHosts> {
        self.rules.iter().filter_map(|(_, rule)| rule.hosts())
    }

    /// Whether some rule is about that top-level argument.
    #[must_use]
    pub fn names(&self, name: &str) -> bool {
        self.rules
            .iter()
            .any(|(path, _)| path.covers(&[name]) || path.reaches_below(&[name]))
    }

    /// Checks all arguments; empty if every rule holds.
    ///
    /// A pointer must select at least one value, and all must pass. What is not there passes only
    /// if the rule says `optional`.
    #[must_use]
    pub fn check(&self, arguments: &Map<String, Value>) -> Vec<Refusal> {
        let mut refusals = Vec::new();
        for (path, rule) in &self.rules {
            let selected = path.select(arguments);
            if let Some(path) = selected.absent
                && !rule.optional()
            {
                refusals.push(Refusal {
                    path,
                    rule: "optional",
                    expected: rule.expected(),
                });
            }
            for (path, value) in selected.values {
                if let Err(key) = rule.check(value) {
                    refusals.push(Refusal {
                        path,
                        rule: key,
                        expected: rule.expected(),
                    });
                }
                if refusals.len() >= MOST_REFUSALS {
                    return refusals;
                }
            }
        }
        if self.is_closed {
            for (name, value) in arguments {
                self.unnamed(value, &mut vec![name], &mut refusals);
            }
        }
        refusals.truncate(MOST_REFUSALS);
        refusals
    }

    /// Adds the places at and below this one that no rule is about.
    fn unnamed<'v>(&self, value: &'v Value, place: &mut Vec<&'v str>, refusals: &mut Vec<Refusal>) {
        if refusals.len() >= MOST_REFUSALS || self.rules.iter().any(|(path, _)| path.covers(place))
        {
            return;
        }
        let below = self.rules.iter().any(|(path, _)| path.reaches_below(place));
        match value {
            Value::Object(members) if below => {
                for (key, member) in members {
                    place.push(key);
                    self.unnamed(member, place, refusals);
                    place.pop();
                }
            }
            // A pointer names elements by `*` in practice; an index leaves the rest unnamed.
            Value::Array(items) if below => {
                let indices: Vec<String> = (0..items.len()).map(|at| at.to_string()).collect();
                for (index, item) in indices.iter().zip(items) {
                    let mut place: Vec<&str> = place.clone();
                    place.push(index);
                    self.unnamed(item, &mut place, refusals);
                }
            }
            _ => {
                let path = place
                    .iter()
                    .map(|key| format!("/{}", pointer_escape(key)))
                    .collect();
                let named: Vec<String> = self.rules.iter().map(|(at, _)| at.to_pointer()).collect();
                let expected = json!({ "arguments": named });
                refusals.push(Refusal {
                    path,
                    rule: "otherArgs",
                    expected,
                });
            }
        }
    }
}
