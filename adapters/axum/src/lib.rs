//! toolgate on one machine: SQLite store, local files, guarded HTTP client and the server.
