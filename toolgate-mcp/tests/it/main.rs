//! The suites of toolgate-mcp.

mod gateway;
mod host;
mod store;
