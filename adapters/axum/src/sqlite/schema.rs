//! The tables, and how an older file gets them.

use std::path::Path;

use rusqlite::Connection;
use rusqlite::backup::Backup;

use super::error::OpenError;

/// What each version adds, in order.
const STEPS: &[&str] = &["
    CREATE TABLE units (
        id TEXT PRIMARY KEY, head TEXT NOT NULL, size INTEGER NOT NULL, hash BLOB NOT NULL,
        policy TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE approvals (
        id TEXT PRIMARY KEY, principal TEXT NOT NULL, request TEXT NOT NULL,
        generation INTEGER NOT NULL, status TEXT NOT NULL, created_at INTEGER NOT NULL,
        due_at INTEGER, row TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX approvals_by_request ON approvals (principal, request, generation);
    CREATE INDEX approvals_by_status ON approvals (status, created_at, id);
    CREATE INDEX approvals_by_principal ON approvals (principal, created_at, id);
    CREATE INDEX approvals_due ON approvals (due_at) WHERE due_at IS NOT NULL;
    CREATE TABLE calls (
        principal TEXT NOT NULL, call TEXT NOT NULL, lease_until INTEGER NOT NULL,
        row TEXT NOT NULL, PRIMARY KEY (principal, call)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX calls_due ON calls (lease_until);
    CREATE TABLE entries (
        position INTEGER PRIMARY KEY, chain TEXT NOT NULL, seq INTEGER NOT NULL,
        bytes BLOB NOT NULL, hash BLOB NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX entries_by_chain ON entries (chain, seq);
    CREATE TABLE salts (
        chain TEXT NOT NULL, seq INTEGER NOT NULL, salt TEXT NOT NULL, PRIMARY KEY (chain, seq)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE keys (hash TEXT PRIMARY KEY, principal TEXT NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE names (name TEXT PRIMARY KEY, principal TEXT NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE operators (
        name TEXT PRIMARY KEY, token TEXT NOT NULL UNIQUE, row TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE policies (
        name TEXT PRIMARY KEY, text TEXT NOT NULL, version INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE records (
        collection TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
        PRIMARY KEY (collection, key)
    ) STRICT, WITHOUT ROWID;
"];

/// Brings the file to the newest schema, after a copy of it.
pub(super) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), OpenError> {
    let newest = i64::try_from(STEPS.len()).unwrap_or(i64::MAX);
    let found = version(connection)?;
    if found > newest {
        return Err(OpenError::Newer(found));
    }
    if found > 0 && found < newest {
        let beside = path.with_extension(format!("sqlite3.v{found}.bak"));
        if !beside.exists() {
            copy(connection, &beside)?;
        }
    }
    for (to, step) in (1_i64..).zip(STEPS) {
        if to > found {
            let transaction = connection.transaction()?;
            transaction.execute_batch(step)?;
            transaction.pragma_update(None, "user_version", to)?;
            transaction.commit()?;
        }
    }
    Ok(())
}

fn version(connection: &Connection) -> Result<i64, rusqlite::Error> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Whether a file's schema is one that this version reads.
pub(super) fn check(connection: &Connection) -> Result<(), OpenError> {
    let found = version(connection)?;
    let newest = i64::try_from(STEPS.len()).unwrap_or(i64::MAX);
    if found > newest {
        Err(OpenError::Newer(found))
    } else {
        Ok(())
    }
}

/// Copies a database that may be in use.
pub(super) fn copy(from: &Connection, to: &Path) -> Result<(), OpenError> {
    if to.exists() {
        return Err(OpenError::Exists);
    }
    super::touch_private(to)?;
    let mut copy = Connection::open(to)?;
    let backup = Backup::new(from, &mut copy)?;
    backup.run_to_completion(256, std::time::Duration::ZERO, None)?;
    Ok(())
}
