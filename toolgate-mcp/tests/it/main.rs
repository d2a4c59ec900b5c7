//! The suites of toolgate-mcp.

mod store;
