//! toolgate on one machine: SQLite store, local files, guarded HTTP client and the server.

pub mod hands;
pub mod logs;
pub mod metrics;
pub mod server;
pub mod sqlite;
