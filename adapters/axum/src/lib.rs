//! toolgate on one machine: SQLite store, local files, guarded HTTP client and the server.
//!
//! With the feature `rmcp`, the module `embed` puts the gate before an MCP server of the same
//! program.

/// The libraries that this one is made of, so that a program can name their types.
#[doc(no_inline)]
pub use toolgate_audit;
#[doc(no_inline)]
pub use toolgate_core;
#[doc(no_inline)]
pub use toolgate_mcp;

#[cfg(feature = "rmcp")]
pub mod embed;
#[cfg(feature = "native")]
pub mod fetch;
#[cfg(feature = "native")]
pub mod files;
pub mod hands;
#[cfg(feature = "native")]
pub mod logs;
pub mod metrics;
#[cfg(feature = "native")]
pub mod native;
pub mod server;
#[cfg(feature = "sqlite")]
pub mod sqlite;
