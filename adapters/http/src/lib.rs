//! toolgate's MCP endpoint and admin API as one function from an HTTP request to a response.
//!
//! [`handle`] needs no server framework and no runtime: an adapter collects a request's body
//! within its limits, calls it, and sends what comes back. What is allowed is decided in the
//! gate; here a request is matched to one [`Route`], the caller is told apart, and shapes are
//! translated.

mod answer;
mod approvals;
mod audit;
mod body;
mod enter;
mod mcp;
mod operators;
mod policies;
mod principals;
mod prompt;
mod route;
mod status;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use http::Request;
use http::Response;
use serde_json::Value;
use toolgate_core::id::OperatorName;
use toolgate_mcp::gateway::Gate;
use toolgate_mcp::gateway::OperateError;
use toolgate_mcp::store::Operator;
use toolgate_mcp::wire::Face;
use toolgate_mcp::wire::HostRules;

pub use enter::handle;
pub use route::Access;
pub use route::Route;

/// Makes the demo's agents and data.
#[async_trait]
pub trait Seed: Send + Sync + fmt::Debug {
    /// Makes them in the name of an operator. The answer has each agent's key, this once.
    async fn seed(&self, gate: &Gate, by: &OperatorName) -> Result<Value, OperateError>;
}

/// How the process fares.
pub trait Health: Send + Sync + fmt::Debug {
    /// Whether calls can be written down.
    fn is_ready(&self) -> bool;
}

/// What answers requests.
#[derive(Debug, Clone)]
#[expect(clippy::exhaustive_structs, reason = "an adapter states every part")]
pub struct App {
    /// The gate.
    pub gate: Gate,
    /// The MCP endpoint's face.
    pub face: Face,
    /// The hosts and origins that requests may name.
    pub hosts: HostRules,
    /// Operators that are not stored: from the environment, or a demo's.
    pub owners: Vec<Operator>,
    /// Makes the demo's data; in a demo alone.
    pub seed: Option<Arc<dyn Seed>>,
    /// How the process fares.
    pub health: Arc<dyn Health>,
    /// Whether a safeguard is off.
    pub insecure: bool,
}

type Asked = Request<Bytes>;
type Answered = Response<Bytes>;
