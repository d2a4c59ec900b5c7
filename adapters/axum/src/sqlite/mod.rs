//! Units, directory and records in one SQLite file.
//!
//! One thread writes, for all principals: it takes every move that waits into one transaction, and
//! answers when the transaction is durable. Reads and their record are worked out in memory by
//! whoever asks (`stage`), everything else by that thread. Readers are beside it.
//!
//! What may be wrong, and why that is safe: an answer of "unavailable" may belong to a move that
//! was persisted; moves are idempotent by call id and fence, so asking again is harmless. An
//! ordered move is answered before its transaction commits; if the commit then fails, the move
//! never was, and what depends on it (the record of an observation) finds nothing.

mod checkpoints;
mod clock;
mod directory;
mod error;
mod ledger;
mod readers;
mod records;
mod rows;
mod schema;
mod stage;
mod thread;
mod trouble;
mod writer;

use std::fs::File;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use toolgate_mcp::store::Clock;
use toolgate_mcp::store::StoreError;

pub use error::OpenError;
pub use readers::ReadOnly;
#[doc(hidden)]
pub use writer::Fault;
pub use writer::Health;

use clock::Caught;
use readers::Readers;
use writer::Writer;

/// The database's name inside the data folder.
pub const DATABASE: &str = "toolgate.sqlite3";
/// The lock's name inside the data folder.
const LOCK: &str = "toolgate.lock";

/// What an answer waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "two modes, both documented")]
pub enum Durability {
    /// Observations are answered when they survive the process; a power cut may lose the last of
    /// them. Everything else survives a power cut.
    Relaxed,
    /// Every answer survives a power cut.
    #[default]
    Strict,
}

/// A store in one folder, for one process.
#[derive(Debug)]
pub struct SqliteStore {
    folder: PathBuf,
    writer: Writer,
    readers: Arc<Readers>,
    clock: Arc<dyn Clock>,
    lock: Mutex<Option<File>>,
}

/// Copies a database that may be in use to a file that must not exist, all of it or nothing.
#[cfg(feature = "native")]
pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), OpenError> {
    let from = Connection::open_with_flags(from, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    schema::copy(&from, to)
}

/// Makes a file that nobody else can read, and that must not exist.
#[cfg(feature = "native")]
pub(crate) fn create(path: &Path) -> Result<File, OpenError> {
    schema::create(path)
}

impl toolgate_http::Health for SqliteStore {
    fn is_ready(&self) -> bool {
        self.health() == Health::Ok
    }
}

impl SqliteStore {
    /// Opens the store in a folder, which is made if it is not there.
    ///
    /// # Errors
    /// [`OpenError`] if another process has it, its schema is newer, or it cannot be read.
    pub fn open(
        folder: &Path,
        durability: Durability,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, OpenError> {
        let lock = lock(folder)?;
        let path = folder.join(DATABASE);
        touch_private(&path)?;
        let mut connection = Connection::open(&path)?;
        configure(&connection)?;
        schema::migrate(&mut connection, &path)?;
        for suffix in ["-wal", "-shm"] {
            let beside = folder.join(format!("{DATABASE}{suffix}"));
            if beside.exists() {
                private(&beside, 0o600)?;
            }
        }
        let clock: Arc<dyn Clock> = match clock::newest(&connection)? {
            Some(newest) => Arc::new(Caught::new(clock, newest)),
            None => clock,
        };
        let readers = Arc::new(Readers::new(path));
        let writer = Writer::start(
            connection,
            durability,
            Arc::clone(&clock),
            Arc::clone(&readers),
        )?;
        Ok(Self {
            folder: folder.to_owned(),
            writer,
            readers,
            clock,
            lock: Mutex::new(Some(lock)),
        })
    }

    /// How the writer fares.
    #[must_use]
    pub fn health(&self) -> Health {
        self.writer.health()
    }

    /// The folder that holds the store.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Copies the store while it runs, to a file that must not exist.
    ///
    /// # Errors
    /// [`OpenError`] if the file exists or cannot be written.
    pub async fn backup(&self, to: PathBuf) -> Result<(), OpenError> {
        let from = self.readers.path().to_owned();
        tokio::task::spawn_blocking(move || schema::copy(&Connection::open(from)?, &to))
            .await
            .map_err(|_| OpenError::Stopped)?
    }

    /// Lets the database grow to that many pages only, to rehearse a full disk.
    ///
    /// # Errors
    /// [`StoreError`] if the writer does not answer.
    #[doc(hidden)]
    pub async fn limit_pages(&self, pages: u32) -> Result<(), StoreError> {
        self.writer
            .write(move |connection| connection.pragma_update(None, "max_page_count", pages))
            .await
    }

    /// Lets the next commit fail.
    #[doc(hidden)]
    pub fn rehearse(&self, fault: Fault) {
        self.writer.rehearse(fault);
    }

    /// Finishes what waits, writes the log back into the file and lets the lock go.
    pub fn close(&self) {
        self.writer.stop();
        self.readers.clear();
        *self.lock.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        self.close();
    }
}

fn configure(connection: &Connection) -> Result<(), OpenError> {
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "secure_delete", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.busy_timeout(thread::BUSY)?;
    connection.set_prepared_statement_cache_capacity(64);
    // The log is written back beside the writer.
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    // Plans do not hang on the values that are asked for, so statements are prepared once.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

/// Takes the lock of a data folder, which is made if it is not there.
pub(crate) fn lock(folder: &Path) -> Result<File, OpenError> {
    make_private(folder)?;
    take_lock(&folder.join(LOCK))
}

fn take_lock(path: &Path) -> Result<File, OpenError> {
    touch_private(path)?;
    let file = File::options()
        .read(true)
        .write(true)
        .open(path)
        .map_err(OpenError::Folder)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => Err(OpenError::Taken),
        Err(std::fs::TryLockError::Error(error)) => Err(OpenError::Folder(error)),
    }
}

#[cfg(unix)]
fn private(path: &Path, mode: u32) -> Result<(), OpenError> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).map_err(OpenError::Folder)
}

#[cfg(not(unix))]
fn private(_: &Path, _: u32) -> Result<(), OpenError> {
    Ok(())
}

/// Makes a folder that nobody else can enter; who may enter one that is there is for others to
/// say.
fn make_private(folder: &Path) -> Result<(), OpenError> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(OpenError::Folder)
}

/// Makes a file that nobody else can read, or closes one that is there.
fn touch_private(path: &Path) -> Result<(), OpenError> {
    let mut options = File::options();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(OpenError::Folder)?;
    private(path, 0o600)
}
