//! The suites of toolgate-axum.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod copies;
#[cfg(feature = "rmcp")]
mod embed;
mod faults;
mod files;
#[cfg(feature = "rmcp")]
mod hostile;
mod log;
mod server;
mod sqlite;
