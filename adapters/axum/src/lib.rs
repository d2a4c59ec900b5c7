//! toolgate on one machine: SQLite store, local files, guarded HTTP client and the server.

pub mod fetch;
pub mod files;
pub mod hands;
pub mod logs;
pub mod metrics;
pub mod native;
pub mod server;
pub mod sqlite;
