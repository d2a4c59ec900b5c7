//! What a source of tools implements.

pub(crate) mod bounds;
#[cfg(feature = "rmcp")]
mod in_process;
#[cfg(feature = "rmcp")]
mod measured;

use std::fmt;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;

use async_trait::async_trait;
use serde_json::Map;
use serde_json::Value;
use toolgate_core::catalog::Source;
use toolgate_core::id::CallId;
use toolgate_core::id::PrincipalId;
use toolgate_core::id::WireName;
use toolgate_core::policy::Pii;
use toolgate_core::rules::AllowedHosts;
use toolgate_core::verdict::Retry;
use toolgate_filter::Finding;
use toolgate_filter::Kind;
use toolgate_filter::Settings;

#[cfg(feature = "rmcp")]
pub use in_process::InProcess;

/// A source's tools as it lists them right now.
#[derive(Debug, Clone, Default)]
#[expect(clippy::exhaustive_structs, reason = "made by every source")]
pub struct Listing {
    /// Each tool's definition as JSON text, as sent.
    pub definitions: Vec<String>,
    /// Whether there may be more.
    pub truncated: bool,
}

/// One call that passed the gate.
///
/// Its `Debug` form leaves the arguments out.
#[derive(Clone)]
#[non_exhaustive]
pub struct ToolCall {
    /// The call; the same for every try of it.
    pub call: CallId,
    /// For whom.
    pub principal: PrincipalId,
    /// The tool as its author spells it.
    pub tool: WireName,
    /// The arguments that policy and approval saw.
    pub arguments: Map<String, Value>,
    /// The hosts that the policy allows the tool to reach, if it has such a rule.
    pub hosts: Option<AllowedHosts>,
    /// What the policy says of personal data.
    pub pii: Pii,
    found: Arc<Mutex<Vec<Finding>>>,
}

impl fmt::Debug for ToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolCall")
            .field("call", &self.call)
            .field("principal", &self.principal)
            .field("tool", &self.tool)
            .finish_non_exhaustive()
    }
}

impl ToolCall {
    /// A call without a rule about hosts.
    #[must_use]
    pub fn new(
        call: CallId,
        principal: PrincipalId,
        tool: WireName,
        arguments: Map<String, Value>,
    ) -> Self {
        Self {
            call,
            principal,
            tool,
            arguments,
            hosts: None,
            pii: Pii::Redact,
            found: Arc::default(),
        }
    }

    /// A text as the gate's filter leaves it.
    ///
    /// A source that answers in pages cuts the cleaned text: the gate sees one page at a time, and
    /// would miss a secret of which a page holds a part. What is found is counted with the call.
    #[must_use]
    pub fn clean(&self, text: &str) -> String {
        let cleaned = toolgate_filter::clean_text(text, &settings(self.pii));
        let removed = cleaned
            .findings
            .into_iter()
            .filter(|finding| finding.kind != Kind::Injection);
        self.found
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend(removed);
        cleaned.value
    }

    /// Where the findings of [`ToolCall::clean`] gather.
    pub(crate) fn found(&self) -> Arc<Mutex<Vec<Finding>>> {
        Arc::clone(&self.found)
    }
}

/// How the filter cleans for a policy.
pub(crate) const fn settings(pii: Pii) -> Settings {
    Settings::new(match pii {
        Pii::Allow => toolgate_filter::Pii::Allow,
        Pii::Redact => toolgate_filter::Pii::Redact,
    })
}

/// Whether a failed call may have had an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "the two must never be confused")]
pub enum Dispatched {
    /// It may have been made.
    Maybe,
    /// It was certainly not made.
    No,
}

/// A call that has no result.
#[derive(Debug)]
pub struct UpstreamError {
    dispatched: Dispatched,
    message: String,
    retry: Retry,
    is_too_large: bool,
}

impl UpstreamError {
    /// The call was certainly not made. `message` is the gate's own words, never the source's.
    pub fn not_made(message: impl Into<String>) -> Self {
        Self {
            dispatched: Dispatched::No,
            message: message.into(),
            retry: Retry::After,
            is_too_large: false,
        }
    }

    /// The call may have been made. `message` is the gate's own words, never the source's.
    pub fn unknown(message: impl Into<String>) -> Self {
        Self {
            dispatched: Dispatched::Maybe,
            message: message.into(),
            retry: Retry::After,
            is_too_large: false,
        }
    }

    /// The call was made, and its result is more than the gate takes. Each result is measured, so a
    /// source says this only of one that it does not hold as a value.
    #[must_use]
    pub fn too_large() -> Self {
        let bounds = bounds::Bounds::RESULT;
        let message = format!("the tool's result is too large ({bounds}), so it is not shown");
        Self {
            is_too_large: true,
            ..Self::unknown(message).with_retry(Retry::Never)
        }
    }

    pub(crate) const fn is_too_large(&self) -> bool {
        self.is_too_large
    }

    /// What the agent may hope for if it calls again; by itself an error says *after*.
    #[must_use]
    pub const fn with_retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// What the agent may hope for if it calls again.
    #[must_use]
    pub const fn retry(&self) -> Retry {
        self.retry
    }

    /// Whether the call may have had an effect.
    #[must_use]
    pub const fn dispatched(&self) -> Dispatched {
        self.dispatched
    }
}

impl fmt::Display for UpstreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for UpstreamError {}

/// A source of tools.
#[async_trait]
pub trait Upstream: Send + Sync + fmt::Debug {
    /// What the operator configured.
    fn source(&self) -> Source;

    /// The tools that it has right now. Of a list that is too long the gate takes the first; a
    /// source that asks for page after page stops once [`Listing::add`] says that there is no room.
    async fn tools(&self) -> Result<Listing, UpstreamError>;

    /// Makes a call and answers with a `CallToolResult` object (MCP, server/tools). A tool that
    /// fails says so in the result (`isError`); an error means that there is no result. A result
    /// that is too large is not shown, see [`UpstreamError::too_large`].
    async fn call(&self, call: ToolCall) -> Result<Value, UpstreamError>;
}
