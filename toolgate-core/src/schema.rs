//! Schemas of tools: arguments checked against them, closed to what they do not name.
//!
//! Nothing is ever fetched, patterns run in linear time, and what a check reports names places and
//! keywords, never a value.

mod cost;
pub(crate) mod shape;

use std::collections::BTreeSet;
use std::fmt;

use jsonschema::PatternOptions;
use jsonschema::Registry;
use jsonschema::Retrieve;
use jsonschema::Uri;
use jsonschema::ValidationError;
use jsonschema::Validator;
use jsonschema::error::TypeKind;
use jsonschema::error::ValidationErrorKind;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use crate::json;
use cost::Cost;
use shape::Kinds;

/// Under this address the author's schema is a resource of its own, so its references keep working.
const ADDRESS: &str = "toolgate://schema/arguments";
/// The largest program that a pattern of a schema may compile to, in bytes.
const MOST_PATTERN_PROGRAM: usize = 1 << 20;
/// The largest program that all patterns of a schema may compile to, in bytes: a pattern of twenty
/// bytes can take a whole [`MOST_PATTERN_PROGRAM`], and a definition has room for thousands.
const MOST_PATTERN_PROGRAMS: usize = 8 << 20;
/// What compiling a pattern is taken for, in visits.
const PATTERN_WEIGHT: u64 = 50;
/// The most visits that one check may take.
const MOST_WORK: u64 = 10_000_000;
/// The most visits for which it is also said what is wrong.
const MOST_EXPLAINED: u64 = 50_000;
/// The most faults that one check reports.
const MOST_FAULTS: usize = 16;
/// The longest list of allowed values that a fault carries, in bytes of JSON.
const MOST_EXPECTED: usize = 2_048;

/// One way in which arguments do not fit a schema.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Fault {
    /// JSON Pointer of the argument; empty for all of them.
    pub path: String,
    /// The keyword of the schema that it breaks.
    pub keyword: String,
    /// What the schema would accept, as its author wrote it.
    pub expected: Option<Value>,
}

/// What is done with arguments that a schema does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a check is matched whole")]
pub enum Closing {
    /// They are faults.
    Closed,
    /// They pass, if the schema lets them.
    Open,
}

/// A tool's input schema, compiled.
///
/// ```
/// use serde_json::json;
/// use toolgate_core::schema::{ArgumentSchema, Closing};
///
/// let schema = ArgumentSchema::new(&json!({
///     "type": "object",
///     "properties": { "n": { "$ref": "#/$defs/count" } },
///     "$defs": { "count": { "type": "integer" } },
/// }));
/// let check = |args| schema.check(json!(args).as_object().unwrap(), Closing::Closed);
/// assert!(check(json!({ "n": 1 })).is_ok());
/// assert_eq!(check(json!({ "n": "1" })).unwrap_err()[0].keyword, "type");
/// assert_eq!(check(json!({ "m": 1 })).unwrap_err()[0].path, "/m");
/// ```
pub struct ArgumentSchema {
    source: Value,
    names: Vec<String>,
    is_free: bool,
    compiled: Option<Compiled>,
}

struct Compiled {
    cost: Cost,
    open: Validator,
    closed: Validator,
}

impl fmt::Debug for ArgumentSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArgumentSchema")
            .field("names", &self.names)
            .field("usable", &self.usable())
            .finish_non_exhaustive()
    }
}

impl ArgumentSchema {
    /// Compiles a schema; one that does not compile, or refers to what it does not hold, is kept
    /// as unusable.
    #[must_use]
    pub fn new(source: &Value) -> Self {
        Self {
            names: shape::names(source),
            is_free: shape::is_free(source),
            compiled: compile(source),
            source: source.clone(),
        }
    }

    /// Whether arguments can be checked against it at all.
    #[must_use]
    pub const fn usable(&self) -> bool {
        self.compiled.is_some()
    }

    /// Whether it neither names arguments nor closes itself, as `{"type":"object"}` does.
    #[must_use]
    pub const fn is_free(&self) -> bool {
        self.is_free
    }

    /// The arguments that it names.
    #[must_use]
    pub fn argument_names(&self) -> &[String] {
        &self.names
    }

    /// The schema as its author wrote it.
    pub(crate) const fn source(&self) -> &Value {
        &self.source
    }

    /// Checks arguments.
    ///
    /// # Errors
    /// The faults found, at most sixteen; none of them quotes a value that was sent.
    pub fn check(
        &self,
        arguments: &Map<String, Value>,
        closing: Closing,
    ) -> Result<(), Vec<Fault>> {
        let whole = |keyword: &str| {
            let (path, keyword) = (String::new(), keyword.to_owned());
            Err(vec![Fault {
                path,
                keyword,
                expected: None,
            }])
        };
        let Some(compiled) = &self.compiled else {
            return whole("$schema");
        };
        let instance = Value::Object(arguments.clone());
        let work = compiled.cost.bound(&instance);
        if work > MOST_WORK {
            return whole("$ref");
        }
        if work > MOST_EXPLAINED {
            let validator = match closing {
                Closing::Closed => &compiled.closed,
                Closing::Open => &compiled.open,
            };
            return if validator.is_valid(&instance) {
                Ok(())
            } else {
                whole("$schema")
            };
        }
        let mut faults = faults(&compiled.open, &instance);
        if closing == Closing::Closed {
            let unnamed = if faults.is_empty() {
                unnamed(&compiled.closed, &instance)
            } else {
                // What fails names nothing, so the schema's text says which names are misspelt.
                let names = arguments.keys();
                names
                    .filter(|name| shape::excludes_name(&self.source, name))
                    .cloned()
                    .collect()
            };
            self.add_unnamed(unnamed, &mut faults);
        }
        if faults.is_empty() {
            Ok(())
        } else {
            Err(faults)
        }
    }

    /// Removes top-level arguments that the schema does not admit, and says which.
    pub fn drop_unnamed(&self, arguments: &mut Map<String, Value>) -> Vec<String> {
        let mut dropped = Vec::new();
        let instance = Value::Object(arguments.clone());
        let compiled = self.compiled.as_ref();
        let Some(compiled) = compiled.filter(|it| it.cost.bound(&instance) <= MOST_EXPLAINED)
        else {
            return dropped;
        };
        dropped.extend(drop_unexpected(&compiled.open, arguments));
        if compiled.open.is_valid(&Value::Object(arguments.clone())) {
            dropped.extend(drop_unexpected(&compiled.closed, arguments));
        }
        dropped
    }

    /// Converts, once, each string that holds the object, array or number that the schema wants.
    ///
    /// A string stays if the schema admits one there. Says whether there was one to convert.
    pub fn coerce(&self, arguments: &mut Map<String, Value>) -> bool {
        let mut has_converted = false;
        for (name, value) in arguments.iter_mut() {
            let Value::String(text) = &*value else {
                continue;
            };
            let wanted = shape::kinds_at(&self.source, &[name.as_str()]);
            if wanted.admits(Kinds::STRING) {
                continue;
            }
            let Ok(parsed) = json::parse_within(text, json::MOST_DEPTH - 1) else {
                continue;
            };
            let structured = parsed.is_object() || parsed.is_array() || parsed.is_number();
            if structured && wanted.admits(Kinds::of(&parsed)) {
                *value = parsed;
                has_converted = true;
            }
        }
        has_converted
    }

    fn add_unnamed(&self, unnamed: BTreeSet<String>, faults: &mut Vec<Fault>) {
        let known = (!self.names.is_empty()).then(|| json!({ "arguments": self.names }));
        let known = known.filter(|known| known.to_string().len() <= MOST_EXPECTED);
        for name in unnamed {
            let path = format!("/{}", json::pointer_escape(&name));
            if faults.len() < MOST_FAULTS && !faults.iter().any(|fault| fault.path == path) {
                faults.push(Fault {
                    path,
                    keyword: "unevaluatedProperties".to_owned(),
                    expected: known.clone(),
                });
            }
        }
    }
}

/// Any schema, compiled to a plain yes or no.
///
/// ```
/// use serde_json::json;
/// use toolgate_core::schema::Checker;
///
/// let checker = Checker::new(&json!({ "type": "object", "required": ["id"] })).unwrap();
/// assert!(checker.is_valid(&json!({ "id": 1 })));
/// assert!(!checker.is_valid(&json!({})));
/// ```
#[derive(Debug)]
pub struct Checker {
    cost: Cost,
    validator: Validator,
}

impl Checker {
    /// Compiles a schema; nothing if it does not compile or refers to what it does not hold.
    #[must_use]
    pub fn new(schema: &Value) -> Option<Self> {
        compile(schema).map(|Compiled { cost, open, .. }| Self {
            cost,
            validator: open,
        })
    }

    /// Whether the value fits; one whose check would take too long does not.
    #[must_use]
    pub fn is_valid(&self, value: &Value) -> bool {
        self.cost.bound(value) <= MOST_WORK && self.validator.is_valid(value)
    }
}

/// How much work it is to compile a schema, in visits, told without compiling it.
///
/// ```
/// use serde_json::json;
/// use toolgate_core::schema::weight;
///
/// assert!(weight(&json!({ "type": "object" })) < 10);
/// assert!(weight(&json!({ "properties": { "a": { "pattern": "^a+$" } } })) > 50);
/// ```
#[must_use]
pub fn weight(schema: &Value) -> u64 {
    let visits = Cost::of(schema).map_or(1, |cost| cost.to_compile());
    let patterns = u64::try_from(patterns(schema)).unwrap_or(u64::MAX);
    // One that takes too many visits is given up before it is compiled.
    visits
        .min(MOST_EXPLAINED)
        .saturating_add(patterns.saturating_mul(PATTERN_WEIGHT))
}

/// How many patterns are written in a schema.
fn patterns(schema: &Value) -> usize {
    let mut open = vec![schema];
    let mut count = 0_usize;
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(members) => {
                for (word, below) in members {
                    count += match (word.as_str(), below) {
                        ("pattern", Value::String(_)) => 1,
                        ("patternProperties", Value::Object(named)) => named.len(),
                        _ => 0,
                    };
                    open.push(below);
                }
            }
            _ => {}
        }
    }
    count
}

/// Stands for the network: it has nothing.
struct Nothing;

impl Retrieve for Nothing {
    fn retrieve(&self, _: &Uri<String>) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        Err("schemas are never fetched".into())
    }
}

fn compile(source: &Value) -> Option<Compiled> {
    let mut resource = source.clone();
    if let Value::Object(members) = &mut resource {
        let is_known = members
            .get("$schema")
            .and_then(Value::as_str)
            .is_some_and(|dialect| dialect.contains("://json-schema.org/"));
        if !is_known {
            members.shift_remove("$schema");
        }
    }
    let cost = Cost::of(&resource).filter(|cost| cost.to_compile() <= MOST_EXPLAINED)?;
    let share = MOST_PATTERN_PROGRAMS / patterns(&resource).max(1);
    let program = share.min(MOST_PATTERN_PROGRAM);
    let registry = Registry::new()
        .retriever(Nothing)
        .add(ADDRESS, &resource)
        .and_then(|registry| registry.prepare())
        .ok()?;
    let build = |schema: &Value| {
        jsonschema::options()
            .with_registry(&registry)
            .with_retriever(Nothing)
            .should_validate_formats(false)
            .with_pattern_options(PatternOptions::regex().size_limit(program))
            .build(schema)
            .ok()
    };
    Some(Compiled {
        cost,
        open: build(&json!({ "$ref": ADDRESS }))?,
        closed: build(&json!({ "allOf": [{ "$ref": ADDRESS }], "unevaluatedProperties": false }))?,
    })
}

/// The top-level names that an error calls unexpected.
fn unexpected<'e>(error: &'e ValidationError<'_>) -> &'e [String] {
    match error.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected }
            if error.instance_path().is_empty() =>
        {
            unexpected
        }
        _ => &[],
    }
}

fn unnamed(closed: &Validator, instance: &Value) -> BTreeSet<String> {
    let errors = closed.iter_errors(instance);
    errors
        .flat_map(|error| unexpected(&error).to_vec())
        .collect()
}

fn drop_unexpected(validator: &Validator, arguments: &mut Map<String, Value>) -> Vec<String> {
    let instance = Value::Object(arguments.clone());
    let mut dropped = Vec::new();
    for error in validator.iter_errors(&instance) {
        for name in unexpected(&error) {
            if arguments.shift_remove(name).is_some() {
                dropped.push(name.clone());
            }
        }
    }
    dropped
}

fn faults(validator: &Validator, instance: &Value) -> Vec<Fault> {
    let mut faults = Vec::new();
    for error in validator.iter_errors(instance) {
        let path = error.instance_path().as_str();
        let keyword = error.kind().keyword();
        let mut add = |path: String, expected: Option<Value>| {
            let expected = expected.filter(|list| list.to_string().len() <= MOST_EXPECTED);
            faults.push(Fault {
                path,
                keyword: keyword.to_owned(),
                expected,
            });
        };
        match error.kind() {
            ValidationErrorKind::AdditionalProperties { unexpected }
            | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
                for name in unexpected {
                    add(format!("{path}/{}", json::pointer_escape(name)), None);
                }
            }
            ValidationErrorKind::Required { property } => {
                let name = property.as_str().unwrap_or_default();
                add(format!("{path}/{}", json::pointer_escape(name)), None);
            }
            kind => add(path.to_owned(), expected(kind)),
        }
        if faults.len() >= MOST_FAULTS {
            faults.truncate(MOST_FAULTS);
            break;
        }
    }
    faults
}

/// What the schema says instead; only words of its author.
fn expected(kind: &ValidationErrorKind) -> Option<Value> {
    Some(match kind {
        ValidationErrorKind::Constant { expected_value } => json!({ "const": **expected_value }),
        ValidationErrorKind::Enum { options } => json!({ "enum": **options }),
        ValidationErrorKind::ExclusiveMaximum { limit } => json!({ "exclusiveMaximum": limit }),
        ValidationErrorKind::ExclusiveMinimum { limit } => json!({ "exclusiveMinimum": limit }),
        ValidationErrorKind::MaxItems { limit } => json!({ "maxItems": limit }),
        ValidationErrorKind::MaxLength { limit } => json!({ "maxLength": limit }),
        ValidationErrorKind::MaxProperties { limit } => json!({ "maxProperties": limit }),
        ValidationErrorKind::Maximum { limit } => json!({ "maximum": limit }),
        ValidationErrorKind::MinItems { limit } => json!({ "minItems": limit }),
        ValidationErrorKind::MinLength { limit } => json!({ "minLength": limit }),
        ValidationErrorKind::MinProperties { limit } => json!({ "minProperties": limit }),
        ValidationErrorKind::Minimum { limit } => json!({ "minimum": limit }),
        ValidationErrorKind::Pattern { pattern } => json!({ "pattern": pattern }),
        ValidationErrorKind::Type {
            kind: TypeKind::Single(kind),
        } => {
            json!({ "type": kind.to_string() })
        }
        ValidationErrorKind::Type {
            kind: TypeKind::Multiple(kinds),
        } => {
            json!({ "type": kinds.iter().map(|kind| kind.to_string()).collect::<Vec<_>>() })
        }
        _ => return None,
    })
}
