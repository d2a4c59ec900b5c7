//! What a source of tools implements.

use std::fmt;

use async_trait::async_trait;
use serde_json::Map;
use serde_json::Value;
use toolgate_core::catalog::Source;
use toolgate_core::id::CallId;
use toolgate_core::id::PrincipalId;
use toolgate_core::id::WireName;
use toolgate_core::rules::HostRules;

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
#[derive(Debug, Clone)]
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
    pub hosts: Option<HostRules>,
}

impl ToolCall {
    /// A call without a rule about hosts.
    #[must_use]
    pub const fn new(
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
        }
    }
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
}

impl UpstreamError {
    /// The call was certainly not made. `message` is the gate's own words, never the source's.
    pub fn not_made(message: impl Into<String>) -> Self {
        Self {
            dispatched: Dispatched::No,
            message: message.into(),
        }
    }

    /// The call may have been made. `message` is the gate's own words, never the source's.
    pub fn unknown(message: impl Into<String>) -> Self {
        Self {
            dispatched: Dispatched::Maybe,
            message: message.into(),
        }
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

    /// The tools that it has right now.
    async fn tools(&self) -> Result<Listing, UpstreamError>;

    /// Makes a call and answers with a `CallToolResult` object (MCP, server/tools). A tool that
    /// fails says so in the result (`isError`); an error means that there is no result.
    async fn call(&self, call: ToolCall) -> Result<Value, UpstreamError>;
}
