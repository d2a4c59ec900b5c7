//! The gate before MCP tools: policy, limits, approvals, filter, fence and audit around a call.
//!
//! - [`gateway`] drives a call through the gate, in typed stages;
//! - [`store`] holds the roles of a store and the one way a unit changes;
//! - [`upstream`] is what a source of tools implements;
//! - [`wire`] is JSON-RPC and the two eras of the protocol;
//! - [`ports`] are the few things that the gate asks of its host: time, entropy, tasks.

/// The SDK whose servers [`upstream::InProcess`] takes: a server must be of this very version.
#[cfg(feature = "rmcp")]
pub use rmcp;

pub mod gateway;
pub mod ports;
pub mod store;
pub mod upstream;
pub mod wire;
