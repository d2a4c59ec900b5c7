//! The suites of toolgate-mcp.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

mod attacks;
mod gateway;
mod host;
mod hostile;
mod naive;
mod slow;
mod store;
mod trouble;
mod wire;
