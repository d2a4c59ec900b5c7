//! Copies of a store, and the way back from one.

use std::fmt;
use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use rusqlite::Connection;
use rusqlite::OpenFlags;
use rusqlite::backup::Backup;
use toolgate_core::id::PrincipalId;
use toolgate_core::unit::Event;
use toolgate_mcp::store::LedgerExt as _;
use toolgate_mcp::store::StoreError;

use crate::hands::SystemClock;
use crate::sqlite;
use crate::sqlite::DATABASE;
use crate::sqlite::Durability;
use crate::sqlite::OpenError;
use crate::sqlite::ReadOnly;
use crate::sqlite::SqliteStore;

/// Where a copy is unpacked before it takes its place, inside the data folder.
const UNPACKED: &str = "restoring";

/// Why a copy was not restored.
#[derive(Debug)]
#[non_exhaustive]
pub enum RestoreError {
    /// The folder or a file in it cannot be read or written.
    Folder(std::io::Error),
    /// The store cannot be opened.
    Open(OpenError),
    /// The copy is older than what is there, or of another history.
    Rollback,
    /// The store cannot be read, or the restore cannot be written down.
    Store(StoreError),
}

impl fmt::Display for RestoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(error) => write!(f, "the data folder cannot be used: {}", error.kind()),
            Self::Open(error) => error.fmt(f),
            Self::Rollback => f.write_str(
                "the copy lacks entries of the audit that are there; to lose them, accept the \
                 rollback",
            ),
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for RestoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Folder(error) => Some(error),
            Self::Open(error) => Some(error),
            Self::Rollback => None,
            Self::Store(error) => Some(error),
        }
    }
}

impl From<OpenError> for RestoreError {
    fn from(error: OpenError) -> Self {
        Self::Open(error)
    }
}

impl From<StoreError> for RestoreError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<std::io::Error> for RestoreError {
    fn from(error: std::io::Error) -> Self {
        Self::Folder(error)
    }
}

/// A restore that was done.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Restored {
    /// Where the database that was there is kept.
    pub kept: Option<PathBuf>,
}

/// Copies the store of a data folder to a file that must not exist. A gate may be running.
///
/// # Errors
/// [`OpenError`] if there is no store, or the file exists or cannot be written.
pub fn backup(data: &Path, to: &Path) -> Result<(), OpenError> {
    copy(&data.join(DATABASE), to)
}

/// Puts a copy in the place of the store of a data folder over which no gate runs, and writes
/// that down in the restored audit.
///
/// # Errors
/// [`RestoreError::Rollback`] if entries would be lost and that is not accepted.
pub async fn restore(
    from: &Path,
    data: &Path,
    accept_rollback: bool,
) -> Result<Restored, RestoreError> {
    let (data, from) = (data.to_owned(), from.to_owned());
    let folder = data.clone();
    let swap = move || swap(&from, &data, accept_rollback);
    let swapped = tokio::task::spawn_blocking(swap).await;
    let (kept, rollback) = swapped.map_err(|_| OpenError::Stopped)??;
    let clock = Arc::new(SystemClock::start());
    let store = SqliteStore::open(&folder, Durability::Strict, clock)?;
    let event = Event::note("restored").with("rollback", rollback);
    store.note(&PrincipalId::system(), event).await?;
    store.close();
    Ok(Restored { kept })
}

fn swap(
    from: &Path,
    data: &Path,
    accept_rollback: bool,
) -> Result<(Option<PathBuf>, bool), RestoreError> {
    let lock = sqlite::lock(data)?;
    let unpacked = data.join(UNPACKED);
    if unpacked.exists() {
        fs::remove_dir_all(&unpacked)?;
    }
    fs::create_dir(&unpacked)?;
    copy(from, &unpacked.join(DATABASE))?;
    let place = data.join(DATABASE);
    let mut kept = None;
    let mut rollback = false;
    if place.exists() {
        rollback = loses(data, &unpacked)?;
        if rollback && !accept_rollback {
            fs::remove_dir_all(&unpacked)?;
            return Err(RestoreError::Rollback);
        }
        // Opened and closed by one alone, a database takes its log in.
        let there = Connection::open(&place).map_err(OpenError::from)?;
        there
            .pragma_update(None, "wal_checkpoint", "TRUNCATE")
            .map_err(OpenError::from)?;
        drop(there);
        let aside = free_name(data);
        fs::rename(&place, &aside)?;
        kept = Some(aside);
    }
    for suffix in ["-wal", "-shm"] {
        let beside = data.join(format!("{DATABASE}{suffix}"));
        if beside.exists() {
            fs::remove_file(beside)?;
        }
    }
    fs::rename(unpacked.join(DATABASE), &place)?;
    fs::remove_dir_all(&unpacked)?;
    drop(lock);
    Ok((kept, rollback))
}

/// Whether entries that are in one folder's store are not in the other's.
fn loses(there: &Path, copy: &Path) -> Result<bool, RestoreError> {
    let there = ReadOnly::open(there)?;
    let copy = ReadOnly::open(copy)?;
    for (chain, head) in there.chains()? {
        if head.size == 0 {
            continue;
        }
        let same = copy.slice(&chain, head.size, 1)?;
        if same.first().is_none_or(|row| row.hash != head.hash) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn free_name(data: &Path) -> PathBuf {
    let mut number = 1_u32;
    loop {
        let path = data.join(format!("{DATABASE}.before-restore-{number}"));
        if !path.exists() {
            return path;
        }
        number = number.saturating_add(1);
    }
}

/// Copies a database that may be in use to a file that must not exist, all of it or nothing.
fn copy(from: &Path, to: &Path) -> Result<(), OpenError> {
    let from = Connection::open_with_flags(from, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(to).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => OpenError::Exists,
        _ => OpenError::Folder(error),
    })?;
    drop(file);
    let copied = fill(&from, to);
    if copied.is_err() {
        fs::remove_file(to).ok();
    }
    copied
}

fn fill(from: &Connection, to: &Path) -> Result<(), OpenError> {
    let mut copy = Connection::open(to)?;
    let backup = Backup::new(from, &mut copy)?;
    // In one step: a copy in parts begins anew with every write beside it, and may never end.
    backup.run_to_completion(i32::MAX, std::time::Duration::from_millis(50), None)?;
    drop(backup);
    copy.close().map_err(|(_, error)| error)?;
    fs::File::open(to)
        .and_then(|file| file.sync_all())
        .map_err(OpenError::Folder)
}
