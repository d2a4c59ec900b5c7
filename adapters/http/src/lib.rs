//! toolgate's MCP endpoint and admin API as one function from an HTTP request to a response.
//!
//! [`handle`] needs no server framework and no runtime: an adapter collects a request's body
//! within its limits, calls it, and sends what comes back. What is allowed is decided in the
//! gate; here a request is matched to one [`Route`], the caller is told apart, and shapes are
//! translated.
//!
//! ```
//! use std::sync::Arc;
//! use bytes::Bytes;
//! use http::Request;
//! use toolgate_core::key::OperatorToken;
//! use toolgate_http::{App, Health, handle};
//! use toolgate_mcp::gateway::{Deadlines, Gate, INSTRUCTIONS, Parts};
//! use toolgate_mcp::ports::Unwatched;
//! use toolgate_mcp::store::{Operator, Role, memory::MemoryStore};
//! use toolgate_mcp::wire::{Face, HostRules};
//! # use std::time::Duration;
//! # use toolgate_core::time::Timestamp;
//! # use toolgate_mcp::ports::{Entropy, EntropyError, Spawn, Task, Timer};
//! # use toolgate_mcp::store::Clock;
//! # #[derive(Debug)]
//! # struct Hands;
//! # impl Spawn for Hands {
//! #     fn spawn(&self, task: Task) { tokio::spawn(task); }
//! # }
//! # impl Timer for Hands {
//! #     fn elapsed(&self) -> Duration { Duration::ZERO }
//! #     fn sleep(&self, time: Duration) -> Task { Box::pin(tokio::time::sleep(time)) }
//! # }
//! # impl Entropy for Hands {
//! #     fn fill(&self, bytes: &mut [u8]) -> Result<(), EntropyError> { bytes.fill(7); Ok(()) }
//! # }
//! # impl Clock for Hands {
//! #     fn now(&self) -> Timestamp { Timestamp::from_millis(1_767_225_600_000) }
//! # }
//!
//! #[derive(Debug)]
//! struct AlwaysReady;
//!
//! impl Health for AlwaysReady {
//!     fn is_ready(&self) -> bool {
//!         true
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let token = "a-long-token-from-the-environment";
//! let owner = Operator {
//!     name: "ann".parse()?,
//!     role: Role::Owner,
//!     token: OperatorToken::presented(token).ok_or("too short")?.hash(),
//!     created_at: Timestamp::default(),
//! };
//! let store = Arc::new(MemoryStore::new(Arc::new(Hands)));
//! let gate = Gate::new(Parts {
//!     ledger: store.clone(),
//!     directory: store,
//!     upstreams: vec![],
//!     spawn: Arc::new(Hands),
//!     timer: Arc::new(Hands),
//!     entropy: Arc::new(Hands),
//!     watch: Arc::new(Unwatched),
//!     deadlines: Deadlines::default(),
//!     unstored_owners: 1,
//! });
//! let app = App {
//!     gate,
//!     face: Face::new("toolgate", "1.0.0").instructions(INSTRUCTIONS),
//!     hosts: HostRules::loopback(),
//!     owners: vec![owner],
//!     seed: None,
//!     health: Arc::new(AlwaysReady),
//!     insecure: false,
//! };
//!
//! let ask = || Request::get("/api/principals").header("host", "127.0.0.1:8787");
//! let refused = handle(&app, ask().body(Bytes::new())?).await;
//! assert_eq!(refused.status(), 401);
//!
//! let with_token = ask().header("authorization", format!("Bearer {token}"));
//! let answered = handle(&app, with_token.body(Bytes::new())?).await;
//! assert_eq!(answered.body().as_ref(), br#"{"principals":[]}"#);
//! # Ok(())
//! # }
//! ```

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
pub use mcp::line;
pub use route::Access;
pub use route::Route;

/// Makes the demo's agents and data.
#[async_trait]
pub trait Seed: Send + Sync + fmt::Debug {
    /// Makes them in the name of an operator. The answer has each agent's key, this once.
    async fn seed(&self, gate: &Gate, by: &OperatorName) -> Result<Value, OperateError>;
}

/// What a response carries, as an extension, whose caller was known: an agent by its key or an
/// operator by a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a mark")]
pub struct Known;

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
