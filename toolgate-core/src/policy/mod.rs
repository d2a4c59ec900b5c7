//! What one principal may do: a document that people write, and its compiled form.

mod compile;
mod document;
mod error;
mod read;
mod template;

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;

use crate::catalog::Catalog;
use crate::catalog::Provenance;
use crate::catalog::Tool;
use crate::catalog::Trust;
use crate::classify::Mode;
use crate::id::ToolName;
use crate::id::UpstreamId;
use crate::id::WireName;
use crate::rules::AllowedHosts;
use crate::rules::ArgumentRules;

pub use document::Allow;
pub use document::Approvers;
pub use document::AskWhen;
pub use document::Fence;
pub use document::OnInjection;
pub use document::OtherArgs;
pub use document::Pii;
pub use document::PolicyDocument;
pub use document::ToolPolicy;
pub use document::UnknownArgs;
pub use document::UpstreamPolicy;
pub use error::PolicyError;
pub use error::PolicyErrors;
pub use template::Template;
pub use template::TemplateError;
pub use template::template;

/// The largest policy text, in bytes.
pub const MOST_TEXT: usize = 256 * 1024;
/// The most tools that a policy names.
pub const MOST_TOOLS: usize = 2_000;
/// The most argument rules of one tool.
pub const MOST_RULES: usize = 256;
/// The longest time for which a stored result is replayed, in seconds.
pub const MOST_REPLAY: u32 = 7 * 24 * 60 * 60;

const DEFAULT_PER_MINUTE: u32 = 60;
const DEFAULT_PER_DAY: u32 = 2_000;
const DEFAULT_REPLAY: u32 = 600;

/// How often a principal may call; none at all for 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::exhaustive_structs, reason = "crosses the wire to a unit")]
pub struct Limits {
    /// Calls a minute, of all tools together.
    pub per_minute: u32,
    /// Calls a UTC day, of all tools together.
    pub per_day: u32,
    /// Calls a minute of this tool, if it has a limit of its own.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tool_per_minute: Option<u32>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            per_minute: DEFAULT_PER_MINUTE,
            per_day: DEFAULT_PER_DAY,
            tool_per_minute: None,
        }
    }
}

/// A policy compiled against a catalog; it never changes.
///
/// ```
/// use std::sync::Arc;
/// use toolgate_core::catalog::{Catalog, Provenance, Source, Tool, Trust};
/// use toolgate_core::policy;
///
/// let source = Source {
///     id: "files".parse()?,
///     provenance: Provenance::Builtin,
///     trust: Trust::Vetted,
/// };
/// let tool = r#"{"name":"files_read","inputSchema":{"type":"object",
///     "properties":{"path":{"type":"string"}}}}"#;
/// let catalog = Catalog::new([Arc::new(Tool::new(&source, tool)?)], false);
///
/// let text = r#"{"tools":{"files_read":{"args":{"path":{"prefix":"docs/"}}}}}"#;
/// let policy = policy::parse(text, &catalog)?;
/// assert_eq!(policy.view(&catalog).count(), 1);
///
/// let errors = policy::parse(r#"{"tools":{"file_read":{}}}"#, &catalog).unwrap_err();
/// assert_eq!(errors.as_slice()[0].path, "/tools/file_read");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Policy {
    document: PolicyDocument,
    tools: BTreeMap<String, Entry>,
    upstreams: BTreeMap<String, Grant>,
    stale: Vec<PolicyError>,
}

/// What the policy says of one tool.
#[derive(Debug, Clone, Default)]
struct Entry {
    /// Whether it allows nothing, because it does not fit the catalog any more.
    is_stale: bool,
    rules: ArgumentRules,
    policy: ToolPolicy,
}

/// What the policy says of one source.
#[derive(Debug, Clone)]
struct Grant {
    allow: Allow,
    except: BTreeSet<String>,
}

/// Reads a policy and compiles it against the tools that exist.
///
/// # Errors
/// Everything that is wrong with it, each with its place.
pub fn parse(text: &str, catalog: &Catalog) -> Result<Policy, PolicyErrors> {
    let (document, mut errors) = read::text(text)?;
    let policy = compile::compile(document, catalog, &mut errors);
    if errors.is_empty() {
        Ok(policy)
    } else {
        Err(PolicyErrors::new(errors))
    }
}

/// [`parse`] for a policy that was already read as JSON.
///
/// # Errors
/// Everything that is wrong with it, each with its place.
pub fn parse_value(value: &Value, catalog: &Catalog) -> Result<Policy, PolicyErrors> {
    parse(&value.to_string(), catalog)
}

/// Compiles a policy that was accepted earlier, against the tools that exist now.
///
/// What does not fit them any more stays in the document, is reported by [`Policy::stale`] and
/// allows nothing.
#[must_use]
pub fn compile_stored(text: &str, catalog: &Catalog) -> Policy {
    match read::text(text) {
        Ok((document, errors)) if errors.is_empty() => compile::stored(document, catalog),
        Ok((_, errors)) => Policy {
            stale: errors,
            ..Policy::deny_all()
        },
        Err(errors) => Policy {
            stale: errors.into_vec(),
            ..Policy::deny_all()
        },
    }
}

/// The JSON Schema of a policy.
#[must_use]
pub fn schema() -> Value {
    schemars::schema_for!(PolicyDocument).to_value()
}

impl Policy {
    /// The policy that grants nothing.
    #[must_use]
    pub fn deny_all() -> Self {
        Self::default()
    }

    /// The policy as it was written.
    #[must_use]
    pub const fn document(&self) -> &PolicyDocument {
        &self.document
    }

    /// What does not fit the catalog any more, and so allows nothing.
    #[must_use]
    pub fn stale(&self) -> &[PolicyError] {
        &self.stale
    }

    /// Whether this principal has that tool at all.
    #[must_use]
    pub fn grants(&self, tool: &Tool) -> bool {
        if let Some(entry) = self.tools.get(tool.shown().as_str()) {
            return !entry.is_stale;
        }
        let Some(grant) = self.upstreams.get(tool.upstream().as_str()) else {
            return false;
        };
        let by_mode = match grant.allow {
            Allow::All => true,
            Allow::None => false,
            Allow::Reads => tool.classified().mode == Mode::Observation,
        };
        by_mode
            && !grant.except.contains(tool.wire().as_str())
            && !grant.except.contains(tool.shown().as_str())
    }

    /// The tools of a catalog that this principal has.
    pub fn view<'a>(&'a self, catalog: &'a Catalog) -> impl Iterator<Item = &'a Arc<Tool>> {
        catalog.iter().filter(|tool| self.grants(tool))
    }

    /// Whether a call of that tool may end in a question to a person.
    #[must_use]
    pub fn may_ask(&self, tool: &Tool) -> bool {
        match self.approval(tool) {
            AskWhen::Always => true,
            AskWhen::Auto => asks_by_itself(tool),
            AskWhen::Never => false,
        }
    }

    /// Whether a call of that tool may be answered by where a request stands: it waits for a
    /// person, or for an equal action that is being made.
    #[must_use]
    pub fn may_answer_later(&self, tool: &Tool) -> bool {
        self.may_ask(tool) || tool.classified().mode == Mode::Action
    }

    /// How often this principal may call that tool.
    #[must_use]
    pub fn limits(&self, shown: &ToolName) -> Limits {
        Limits {
            per_minute: self.document.per_minute.unwrap_or(DEFAULT_PER_MINUTE),
            per_day: self.document.per_day.unwrap_or(DEFAULT_PER_DAY),
            tool_per_minute: self.entry(shown).and_then(|entry| entry.policy.per_minute),
        }
    }

    /// For how long a stored result of that tool is replayed once it was handed over.
    #[must_use]
    pub fn replay_ms(&self, shown: &ToolName) -> i64 {
        let seconds = self.entry(shown).and_then(|entry| entry.policy.replay);
        i64::from(seconds.unwrap_or(DEFAULT_REPLAY)) * crate::time::SECOND
    }

    /// What happens to personal data in results.
    #[must_use]
    pub fn pii(&self) -> Pii {
        self.document.pii.unwrap_or_default()
    }

    /// What happens to a result that reads like instructions.
    #[must_use]
    pub fn on_injection(&self) -> OnInjection {
        self.document.on_injection.unwrap_or_default()
    }

    /// Whether text goes out fenced.
    #[must_use]
    pub fn fence(&self) -> Fence {
        self.document.fence.unwrap_or_default()
    }

    /// Who may decide this principal's requests.
    #[must_use]
    pub fn approvers(&self) -> Approvers {
        self.document.approvers.unwrap_or_default()
    }

    /// The hosts that a tool is bound to, if rules of it name any: those that all of them name.
    #[must_use]
    pub fn hosts(&self, shown: &ToolName) -> Option<AllowedHosts> {
        let rules = self.entry(shown).map(|entry| &entry.rules)?;
        rules.hosts().cloned().reduce(AllowedHosts::and)
    }

    /// Whether this principal has a tool of that name, or had it while it existed.
    #[must_use]
    pub fn names(&self, shown: &ToolName, upstream: &UpstreamId, wire: &WireName) -> bool {
        if self.entry(shown).is_some() {
            return true;
        }
        self.upstreams.get(upstream.as_str()).is_some_and(|grant| {
            grant.allow != Allow::None
                && !grant.except.contains(wire.as_str())
                && !grant.except.contains(shown.as_str())
        })
    }

    /// Its rules about a tool's arguments.
    #[must_use]
    pub fn rules(&self, shown: &ToolName) -> Option<&ArgumentRules> {
        self.entry(shown).map(|entry| &entry.rules)
    }

    /// When a person is asked about a tool.
    ///
    /// That nobody is asked holds only while the tool's author is vouched for.
    #[must_use]
    pub fn approval(&self, tool: &Tool) -> AskWhen {
        let said = self
            .entry(tool.shown())
            .and_then(|entry| entry.policy.approval);
        match said.unwrap_or_default() {
            AskWhen::Never if !is_vouched(tool) => AskWhen::Auto,
            said => said,
        }
    }

    /// What happens to arguments of a tool that its schema does not name.
    #[must_use]
    pub fn unknown_args(&self, shown: &ToolName) -> UnknownArgs {
        let said = self
            .entry(shown)
            .and_then(|entry| entry.policy.unknown_args);
        said.or(self.document.unknown_args).unwrap_or_default()
    }

    fn entry(&self, shown: &ToolName) -> Option<&Entry> {
        self.tools.get(shown.as_str())
    }
}

/// Whether somebody in the deployment vouches for what a tool's author says of it.
fn is_vouched(tool: &Tool) -> bool {
    tool.provenance() == Provenance::Builtin || tool.trust() == Trust::Vetted
}

/// Whether a person is asked about a tool when the policy says nothing.
pub(crate) fn asks_by_itself(tool: &Tool) -> bool {
    tool.classified().mode == Mode::Action || is_doubtful(tool)
}

/// A read by its own word only, under a name that says it changes something.
pub(crate) fn is_doubtful(tool: &Tool) -> bool {
    tool.classified().suspicious && !is_vouched(tool)
}
