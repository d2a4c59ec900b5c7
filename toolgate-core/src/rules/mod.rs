//! Rules about arguments: which values of which arguments a tool may be called with.

mod arguments;
mod hosts;
mod path;
mod pointer;

use regex::Regex;
use regex::RegexBuilder;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use serde_json::Number;
use serde_json::Value;
use serde_json::json;

use crate::json::canonical;

pub use arguments::ArgumentRules;
pub use arguments::Refusal;
pub use hosts::AllowedHosts;
pub use hosts::HostError;
pub use path::PathError;
pub use path::check_path;
pub use pointer::ArgumentPath;

/// The longest pattern, in bytes.
pub const MOST_PATTERN: usize = 1_024;
/// The most values or hosts that one rule lists.
pub const MOST_LISTED: usize = 1_000;
/// The largest program that a pattern may compile to, in bytes.
const MOST_PATTERN_PROGRAM: usize = 1 << 20;

/// What a policy says of one argument; every key that is given must hold.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(clippy::exhaustive_structs, reason = "written by people and templates")]
pub struct RuleDocument {
    /// The value equals one of these; `1` equals `1.0`, and `"1"` does not equal `1`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub one_of: Option<Vec<Value>>,
    /// The value is a string, and the whole of it matches this regular expression.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pattern: Option<String>,
    /// The value is a path under this one, without dot segments in any disguise.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub prefix: Option<String>,
    /// The value is a number, and not below this one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub min: Option<Number>,
    /// The value is a number, and not above this one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max: Option<Number>,
    /// The value is a string of at most so many Unicode scalar values.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max_length: Option<u32>,
    /// The value is an https address on one of these hosts; `*.example.com` is every host below.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hosts: Option<Vec<String>>,
    /// Whether the argument may be absent.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub optional: bool,
}

/// One thing wrong with a rule: which of its keys, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RuleError {
    /// The key of the rule; a pointer below it where an element of a list is meant.
    pub key: String,
    /// Why it cannot be used.
    pub message: String,
}

impl RuleError {
    fn new(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            message: message.into(),
        }
    }
}

impl std::fmt::Display for RuleError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}` {}", self.key, self.message)
    }
}

impl std::error::Error for RuleError {}

/// A rule, compiled.
///
/// ```
/// use serde_json::json;
/// use toolgate_core::rules::{Rule, RuleDocument};
///
/// let rule = Rule::new(&RuleDocument { prefix: Some("docs/".to_owned()), ..Default::default() })
///     .unwrap();
/// assert_eq!(rule.check(&json!("docs/a.md")), Ok(()));
/// assert_eq!(rule.check(&json!("docs/%2e%2e/secrets")), Err("prefix"));
/// ```
#[derive(Debug, Clone)]
pub struct Rule {
    document: RuleDocument,
    one_of: Option<Vec<Vec<u8>>>,
    pattern: Option<Regex>,
    hosts: Option<AllowedHosts>,
}

impl Rule {
    /// Compiles a rule.
    ///
    /// # Errors
    /// Everything that makes it unusable, or lets it match nothing.
    pub fn new(document: &RuleDocument) -> Result<Self, Vec<RuleError>> {
        let mut errors = Vec::new();
        let pattern = document.pattern.as_deref().and_then(|pattern| {
            whole(pattern)
                .map_err(|message| errors.push(RuleError::new("pattern", message)))
                .ok()
        });
        let hosts = document.hosts.as_deref().and_then(|hosts| {
            AllowedHosts::new(hosts)
                .map_err(|wrong| errors.extend(wrong))
                .ok()
        });
        if let Some(Err(message)) = document.prefix.as_deref().map(path::check_prefix) {
            errors.push(RuleError::new("prefix", message));
        }
        if let (Some(min), Some(max)) = (&document.min, &document.max)
            && min.as_f64() > max.as_f64()
        {
            errors.push(RuleError::new(
                "min",
                "is above `max`, so nothing can match",
            ));
        }
        let listed = document.one_of.as_deref();
        match listed.map(<[Value]>::len) {
            Some(0) => errors.push(RuleError::new("oneOf", "is empty, so nothing can match")),
            Some(length) if length > MOST_LISTED => {
                errors.push(RuleError::new("oneOf", "lists too many values"));
            }
            _ => {}
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let rule = Self {
            one_of: listed.map(|listed| listed.iter().map(canonical).collect()),
            document: document.clone(),
            pattern,
            hosts,
        };
        rule.contradictions()?;
        Ok(rule)
    }

    /// Checks one value.
    ///
    /// # Errors
    /// The first key of the rule that does not hold.
    pub fn check(&self, value: &Value) -> Result<(), &'static str> {
        let rule = &self.document;
        if let Some(listed) = &self.one_of {
            let canonical = canonical(value);
            hold("oneOf", listed.contains(&canonical))?;
        }
        let text = value.as_str();
        if let Some(pattern) = &self.pattern {
            hold("pattern", text.is_some_and(|text| pattern.is_match(text)))?;
        }
        if let Some(prefix) = rule.prefix.as_deref() {
            hold(
                "prefix",
                text.is_some_and(|text| check_path(prefix, text).is_ok()),
            )?;
        }
        let number = value.as_number().and_then(Number::as_f64);
        if let Some(min) = rule.min.as_ref().and_then(Number::as_f64) {
            hold("min", number.is_some_and(|number| number >= min))?;
        }
        if let Some(max) = rule.max.as_ref().and_then(Number::as_f64) {
            hold("max", number.is_some_and(|number| number <= max))?;
        }
        if let Some(most) = rule.max_length {
            let fits =
                |text: &str| text.chars().count() <= usize::try_from(most).unwrap_or(usize::MAX);
            hold("maxLength", text.is_some_and(fits))?;
        }
        if let Some(hosts) = &self.hosts {
            hold("hosts", text.is_some_and(|text| hosts.allows(text).is_ok()))?;
        }
        Ok(())
    }

    /// Whether the argument may be absent.
    #[must_use]
    pub const fn optional(&self) -> bool {
        self.document.optional
    }

    /// What the rule would accept, for the agent.
    #[must_use]
    pub fn expected(&self) -> Value {
        json!(self.document)
    }

    /// The rule as it was written.
    #[must_use]
    pub const fn document(&self) -> &RuleDocument {
        &self.document
    }

    /// Its hosts, if it names any.
    #[must_use]
    pub const fn hosts(&self) -> Option<&AllowedHosts> {
        self.hosts.as_ref()
    }

    fn contradictions(&self) -> Result<(), Vec<RuleError>> {
        let rule = &self.document;
        let number = rule
            .min
            .as_ref()
            .map(|_| "min")
            .or_else(|| rule.max.as_ref().map(|_| "max"));
        let text = [
            ("pattern", rule.pattern.is_some()),
            ("prefix", rule.prefix.is_some()),
            ("maxLength", rule.max_length.is_some()),
            ("hosts", rule.hosts.is_some()),
        ];
        let text = text
            .iter()
            .find(|(_, is_given)| *is_given)
            .map(|(key, _)| *key);
        let mut errors = Vec::new();
        if let (Some(number), Some(text)) = (number, text) {
            let message =
                format!("is for numbers and `{text}` is for strings, so nothing can match");
            errors.push(RuleError::new(number, message));
        }
        if let (Some(prefix), Some(most)) = (&rule.prefix, rule.max_length)
            && prefix.chars().count() > usize::try_from(most).unwrap_or(usize::MAX)
        {
            errors.push(RuleError::new(
                "maxLength",
                "is shorter than `prefix`, so nothing can match",
            ));
        }
        if errors.is_empty() {
            for (at, value) in rule.one_of.iter().flatten().enumerate() {
                if let Err(key) = self.check(value) {
                    let message = format!("does not hold `{key}` of the same rule");
                    errors.push(RuleError::new(format!("oneOf/{at}"), message));
                }
            }
        }
        if errors.is_empty() {
            Ok(())
        } else {
            Err(errors)
        }
    }
}

fn hold(key: &'static str, holds: bool) -> Result<(), &'static str> {
    if holds { Ok(()) } else { Err(key) }
}

/// A pattern that matches whole strings only.
///
/// It is compiled alone first, so that no bracket of it closes the one put round it.
fn whole(pattern: &str) -> Result<Regex, &'static str> {
    if pattern.len() > MOST_PATTERN {
        return Err("is longer than 1024 bytes");
    }
    let build = |text: &str| {
        RegexBuilder::new(text)
            .size_limit(MOST_PATTERN_PROGRAM)
            .dfa_size_limit(MOST_PATTERN_PROGRAM)
            .build()
    };
    let reason = |error: regex::Error| match error {
        regex::Error::CompiledTooBig(_) => "compiles to a program that is too large",
        _ => "is not a regular expression of linear time (no look-around, no back-references)",
    };
    build(pattern).map_err(reason)?;
    build(&format!(r"\A(?:{pattern})\z")).map_err(reason)
}
