//! The tools that exist right now, each with the gate's own verdict of it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::OnceLock;

use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::classify::Classified;
use crate::classify::classify;
use crate::digest::Digest;
use crate::id::ToolName;
use crate::id::UpstreamId;
use crate::id::WireName;
use crate::json;
use crate::schema::ArgumentSchema;

/// The longest name shown to agents, in characters; a longer one ends in a digest.
pub const MOST_SHOWN: usize = 44;
/// The largest definition that is offered, in bytes.
pub const MOST_DEFINITION: usize = 64 * 1024;

/// Where a source of tools comes from; fixed when it is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(
    clippy::exhaustive_enums,
    reason = "a new provenance must break every match"
)]
pub enum Provenance {
    /// Compiled into this process.
    Builtin,
    /// Named in the deployment's configuration.
    Deployment,
    /// Brought by a user.
    User,
}

/// Whether the operator vouches for what a source says of its tools; read at each use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "trust has two values")]
pub enum Trust {
    /// Nobody vouches for it.
    Byo,
    /// The operator does.
    Vetted,
}

/// A source of tools, as the operator configured it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "built by every adapter")]
pub struct Source {
    /// Its id.
    pub id: UpstreamId,
    /// Where it comes from.
    pub provenance: Provenance,
    /// Whether the operator vouches for it.
    pub trust: Trust,
}

/// Why a definition is not offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DefinitionError {
    /// It has no input schema that is an object, or one that does not compile.
    InputSchema,
    /// It has no name, or one that cannot be shown safely.
    Name,
    /// It is not a JSON object, or holds a key twice.
    Shape,
    /// It is over [`MOST_DEFINITION`] bytes.
    Size,
}

impl fmt::Display for DefinitionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InputSchema => "the tool's input schema cannot be used",
            Self::Name => "the tool's name cannot be used",
            Self::Shape => "the tool's definition is not a JSON object with distinct keys",
            Self::Size => "the tool's definition is too large",
        })
    }
}

impl std::error::Error for DefinitionError {}

/// A tool as its author sent it, with the gate's name, digest and verdict.
///
/// ```
/// use toolgate_core::catalog::{Provenance, Source, Tool, Trust};
/// use toolgate_core::classify::Mode;
///
/// let source = Source {
///     id: "gh".parse()?,
///     provenance: Provenance::User,
///     trust: Trust::Byo,
/// };
/// let tool = Tool::new(&source, r#"{"name":"list_issues","inputSchema":{"type":"object"}}"#)?;
/// assert_eq!(tool.shown().as_str(), "gh__list_issues");
/// assert_eq!(tool.classified().mode, Mode::Action);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Tool {
    upstream: UpstreamId,
    provenance: Provenance,
    trust: Trust,
    wire: WireName,
    shown: ToolName,
    digest: Digest,
    raw: Box<RawValue>,
    definition: Value,
    classified: Classified,
    arguments: OnceLock<ArgumentSchema>,
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool")
            .field("shown", &self.shown)
            .field("classified", &self.classified)
            .finish_non_exhaustive()
    }
}

impl Tool {
    /// Takes a definition as JSON text.
    ///
    /// # Errors
    /// [`DefinitionError`] says why it is not offered.
    pub fn new(source: &Source, definition: &str) -> Result<Self, DefinitionError> {
        if definition.len() > MOST_DEFINITION {
            return Err(DefinitionError::Size);
        }
        let sorted = json::sorted(definition).ok_or(DefinitionError::Shape)?;
        let raw: Box<RawValue> =
            serde_json::from_str(definition).map_err(|_| DefinitionError::Shape)?;
        let value: Value = serde_json::from_str(definition).map_err(|_| DefinitionError::Shape)?;
        let wire = value
            .get("name")
            .and_then(Value::as_str)
            .and_then(|name| WireName::new(name).ok())
            .ok_or(DefinitionError::Name)?;
        if !value.get("inputSchema").is_some_and(Value::is_object) {
            return Err(DefinitionError::InputSchema);
        }
        let shown = shown_name(source, &wire).ok_or(DefinitionError::Name)?;
        Ok(Self {
            classified: classify(&value, source.provenance, source.trust),
            upstream: source.id.clone(),
            provenance: source.provenance,
            trust: source.trust,
            digest: Digest::of(&sorted),
            wire,
            shown,
            raw,
            definition: value,
            arguments: OnceLock::new(),
        })
    }

    /// The source it belongs to.
    #[must_use]
    pub const fn upstream(&self) -> &UpstreamId {
        &self.upstream
    }

    /// Where its source comes from.
    #[must_use]
    pub const fn provenance(&self) -> Provenance {
        self.provenance
    }

    /// Whether the operator vouches for its source.
    #[must_use]
    pub const fn trust(&self) -> Trust {
        self.trust
    }

    /// Its name as its author spells it.
    #[must_use]
    pub const fn wire(&self) -> &WireName {
        &self.wire
    }

    /// Its name as agents and policies spell it.
    #[must_use]
    pub const fn shown(&self) -> &ToolName {
        &self.shown
    }

    /// SHA-256 over the whole definition with keys sorted and white space removed.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.digest
    }

    /// What calling it does, and whose word that is.
    #[must_use]
    pub const fn classified(&self) -> Classified {
        self.classified
    }

    /// The definition's JSON text, as sent.
    #[must_use]
    pub const fn raw(&self) -> &RawValue {
        &self.raw
    }

    /// The definition as a value; numbers may have lost their spelling.
    #[must_use]
    pub const fn definition(&self) -> &Value {
        &self.definition
    }

    /// The title or description that its author gave it.
    #[must_use]
    pub fn description(&self) -> Option<&str> {
        self.definition.get("description").and_then(Value::as_str)
    }

    /// Its input schema.
    #[must_use]
    pub fn input_schema(&self) -> &Value {
        self.definition.get("inputSchema").unwrap_or(&Value::Null)
    }

    /// Its output schema, if it has one.
    #[must_use]
    pub fn output_schema(&self) -> Option<&Value> {
        self.definition
            .get("outputSchema")
            .filter(|schema| schema.is_object())
    }

    /// Its input schema compiled, at first use.
    #[must_use]
    pub fn arguments(&self) -> &ArgumentSchema {
        self.arguments
            .get_or_init(|| ArgumentSchema::new(self.input_schema()))
    }
}

/// The tools of all sources under their shown names, and whether a listing was cut.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    tools: BTreeMap<ToolName, Arc<Tool>>,
    collided: Vec<ToolName>,
    truncated: bool,
}

impl Catalog {
    /// A catalog of these tools; two under one name are both left out.
    #[must_use]
    pub fn new(tools: impl IntoIterator<Item = Arc<Tool>>, truncated: bool) -> Self {
        let mut kept: BTreeMap<ToolName, Arc<Tool>> = BTreeMap::new();
        let mut collided = Vec::new();
        for tool in tools {
            let name = tool.shown().clone();
            if kept.insert(name.clone(), tool).is_some() {
                collided.push(name);
            }
        }
        for name in &collided {
            kept.remove(name);
        }
        Self {
            tools: kept,
            collided,
            truncated,
        }
    }

    /// The tool of that shown name.
    #[must_use]
    pub fn find(&self, shown: &str) -> Option<&Arc<Tool>> {
        self.tools.get(shown)
    }

    /// All tools, by shown name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Tool>> {
        self.tools.values()
    }

    /// Names that two tools claimed, so that neither is offered.
    #[must_use]
    pub fn collided(&self) -> &[ToolName] {
        &self.collided
    }

    /// Whether there may be tools that this catalog does not hold.
    #[must_use]
    pub const fn truncated(&self) -> bool {
        self.truncated
    }

    /// Whether a source of that id has a tool here.
    #[must_use]
    pub fn has_upstream(&self, id: &str) -> bool {
        self.iter().any(|tool| tool.upstream().as_str() == id)
    }
}

/// The name shown for a tool: its own if built in, else `upstream__name`; a pure function of both.
fn shown_name(source: &Source, wire: &WireName) -> Option<ToolName> {
    let safe: String = wire
        .as_str()
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '-' {
                c
            } else {
                '_'
            }
        })
        .collect();
    let whole = match source.provenance {
        Provenance::Builtin => safe.clone(),
        Provenance::Deployment | Provenance::User => format!("{}__{safe}", source.id),
    };
    let exact = safe == wire.as_str() && whole.len() <= MOST_SHOWN;
    if exact {
        return ToolName::new(whole).ok();
    }
    let digest = Digest::of_fields(
        "toolgate/shown/v1",
        &[source.id.as_str().as_bytes(), wire.as_str().as_bytes()],
    );
    let kept: String = whole.chars().take(MOST_SHOWN - 9).collect();
    let suffix: String = digest.short().chars().take(8).collect();
    ToolName::new(format!("{kept}_{suffix}")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(id: &str, provenance: Provenance, definition: &str) -> Tool {
        let source = Source {
            id: id.parse().unwrap(),
            provenance,
            trust: Trust::Byo,
        };
        Tool::new(&source, definition).unwrap()
    }

    #[test]
    fn shown_names_are_short_safe_and_distinct() {
        let named = |name: &str| {
            let text = serde_json::json!({"name": name, "inputSchema": {}}).to_string();
            tool("gh", Provenance::User, &text).shown().to_string()
        };
        assert_eq!(named("list_issues"), "gh__list_issues");
        let long = "a".repeat(100);
        assert_eq!(named(&long).len(), MOST_SHOWN);
        assert_ne!(named(&long), named(&"a".repeat(101)));
        assert_ne!(named("a b"), named("a_b"));
        assert_ne!(named("a b"), named("a.b"));
    }

    #[test]
    fn the_digest_covers_every_field_and_no_white_space() {
        let of = |text: &str| tool("gh", Provenance::User, text).digest();
        let plain = of(r#"{"name":"a","inputSchema":{}}"#);
        assert_eq!(plain, of(r#"{ "inputSchema": {}, "name": "a" }"#));
        assert_ne!(plain, of(r#"{"name":"a","inputSchema":{},"x":1}"#));
        assert_ne!(
            of(r#"{"name":"a","inputSchema":{},"x":1}"#),
            of(r#"{"name":"a","inputSchema":{},"x":1.0}"#)
        );
    }

    #[test]
    fn two_tools_under_one_name_are_both_left_out() {
        let make = || {
            Arc::new(tool(
                "gh",
                Provenance::User,
                r#"{"name":"a","inputSchema":{}}"#,
            ))
        };
        let catalog = Catalog::new([make(), make()], false);
        assert_eq!(catalog.iter().count(), 0);
        assert_eq!(catalog.collided().len(), 1);
    }
}
