//! The tables, and how an older file gets them.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::backup::Backup;

use super::error::OpenError;

/// What each version adds, in order.
const STEPS: &[&str] = &[
    "
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
",
    "
    ALTER TABLE units ADD COLUMN due_at INTEGER;
    CREATE INDEX units_due ON units (due_at) WHERE due_at IS NOT NULL;
",
];

/// Brings the file to the newest schema, after a copy of it.
pub(super) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), OpenError> {
    bring(connection, path, STEPS)
}

fn bring(connection: &mut Connection, path: &Path, steps: &[&str]) -> Result<(), OpenError> {
    let newest = i64::try_from(steps.len()).unwrap_or(i64::MAX);
    let found = version(connection)?;
    if found > newest {
        return Err(OpenError::Newer(found));
    }
    for (to, step) in (1_i64..).zip(steps) {
        if to <= found {
            continue;
        }
        // A file that was empty holds nothing to keep.
        if found > 0 {
            keep(connection, path, to - 1)?;
        }
        let transaction = connection.transaction()?;
        transaction.execute_batch(step)?;
        transaction.pragma_update(None, "user_version", to)?;
        transaction.commit()?;
    }
    Ok(())
}

/// Copies a file before it changes its schema, all of it or nothing, over an earlier copy.
fn keep(connection: &Connection, path: &Path, version: i64) -> Result<(), OpenError> {
    let kept = path.with_extension(format!("sqlite3.v{version}.bak"));
    let part = path.with_extension(format!("sqlite3.v{version}.part"));
    if part.exists() {
        fs::remove_file(&part).map_err(OpenError::Folder)?;
    }
    copy(connection, &part)?;
    fs::rename(&part, &kept).map_err(OpenError::Folder)
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

/// Copies a database that may be in use to a file that must not exist, all of it or nothing.
pub(super) fn copy(from: &Connection, to: &Path) -> Result<(), OpenError> {
    drop(create(to)?);
    let copied = fill(from, to);
    if copied.is_err() {
        fs::remove_file(to).ok();
    }
    copied
}

/// Makes a file that nobody else can read, and that must not exist.
pub(super) fn create(path: &Path) -> Result<fs::File, OpenError> {
    let mut options = fs::File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => OpenError::Exists,
        _ => OpenError::Folder(error),
    })
}

/// Copies all pages in one step: between two of them a writer would let the copy begin again,
/// and a busy gate would never let it end. A reader holds no writer up.
fn fill(from: &Connection, to: &Path) -> Result<(), OpenError> {
    let mut copy = Connection::open(to)?;
    let backup = Backup::new(from, &mut copy)?;
    backup.run_to_completion(i32::MAX, Duration::from_millis(50), None)?;
    drop(backup);
    copy.close().map_err(|(_, error)| error)?;
    fs::File::open(to)
        .and_then(|file| file.sync_all())
        .map_err(OpenError::Folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "CREATE TABLE one (word TEXT) STRICT; INSERT INTO one VALUES ('kept')";
    const SECOND: &str = "ALTER TABLE one RENAME TO two";

    fn word(path: &Path, table: &str) -> String {
        let sql = format!("SELECT word FROM {table}");
        let db = Connection::open(path).unwrap();
        db.query_row(&sql, (), |row| row.get(0)).unwrap()
    }

    #[test]
    fn every_change_of_the_schema_leaves_a_copy_of_what_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("toolgate.sqlite3");
        let kept = folder.path().join("toolgate.sqlite3.v1.bak");
        let mut db = Connection::open(&path).unwrap();
        bring(&mut db, &path, &[FIRST]).unwrap();
        assert!(!kept.exists());
        fs::write(folder.path().join("toolgate.sqlite3.v1.part"), "cut short").unwrap();
        bring(&mut db, &path, &[FIRST, SECOND]).unwrap();
        bring(&mut db, &path, &[FIRST, SECOND]).unwrap();
        assert_eq!((version(&db), word(&path, "two")), (Ok(2), "kept".into()));
        assert_eq!(word(&kept, "one"), "kept");
        assert_eq!(version(&Connection::open(&kept).unwrap()), Ok(1));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = fs::metadata(&kept).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        let older = bring(&mut db, &path, &[FIRST]);
        assert!(matches!(older, Err(OpenError::Newer(2))));
    }

    #[test]
    fn a_change_that_fails_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("toolgate.sqlite3");
        let mut db = Connection::open(&path).unwrap();
        bring(&mut db, &path, &[FIRST]).unwrap();
        let broken = "DROP TABLE one; SELECT nonsense";
        assert!(bring(&mut db, &path, &[FIRST, broken]).is_err());
        assert_eq!((version(&db), word(&path, "one")), (Ok(1), "kept".into()));
    }
}
