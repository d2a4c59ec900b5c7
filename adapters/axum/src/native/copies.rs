//! Copies of a store, and the way back from one.

use std::fmt;
use std::fs;
use std::fs::File;
use std::io;
use std::io::Read as _;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use rusqlite::Connection;
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
/// What a database begins with.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// Why a file cannot be restored from.
#[derive(Debug)]
#[non_exhaustive]
pub enum CopyError {
    /// It is no store, or a damaged one.
    Foreign,
    /// It was written by a newer toolgate, with this schema.
    Newer(i64),
    /// It is not there, or cannot be read.
    Unreadable(io::Error),
}

impl fmt::Display for CopyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign => f.write_str("the copy is no store of toolgate, or a damaged one"),
            Self::Newer(version) => {
                write!(
                    f,
                    "the copy has schema {version}, written by a newer toolgate"
                )
            }
            Self::Unreadable(error) => write!(f, "the copy cannot be read: {}", error.kind()),
        }
    }
}

impl std::error::Error for CopyError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unreadable(error) => Some(error),
            Self::Foreign | Self::Newer(_) => None,
        }
    }
}

/// Why a copy was not restored.
#[derive(Debug)]
#[non_exhaustive]
pub enum RestoreError {
    /// The copy cannot be restored from.
    Copy(CopyError),
    /// The folder or a file in it cannot be read or written.
    Folder(io::Error),
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
            Self::Copy(error) => error.fmt(f),
            Self::Folder(error) => write!(f, "the data folder cannot be used: {}", error.kind()),
            Self::Open(error) => error.fmt(f),
            Self::Rollback => f.write_str("the copy lacks entries of the audit that are there"),
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for RestoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Copy(error) => Some(error),
            Self::Folder(error) => Some(error),
            Self::Open(error) => Some(error),
            Self::Rollback => None,
            Self::Store(error) => Some(error),
        }
    }
}

impl From<CopyError> for RestoreError {
    fn from(error: CopyError) -> Self {
        Self::Copy(error)
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

impl From<io::Error> for RestoreError {
    fn from(error: io::Error) -> Self {
        Self::Folder(error)
    }
}

/// A restore that was done.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Restored {
    /// Where the database that was there is kept.
    pub kept: Option<PathBuf>,
    /// Whether entries of the audit were lost, and with them what they tell of.
    pub rollback: bool,
}

/// Copies the store of a data folder to a file that must not exist. A gate may be running.
///
/// # Errors
/// [`OpenError`] if there is no store, or the file exists or cannot be written.
pub fn backup(data: &Path, to: &Path) -> Result<(), OpenError> {
    sqlite::copy(&data.join(DATABASE), to)
}

/// Puts a copy in the place of the store of a data folder over which no gate runs, and writes
/// that down in the restored audit. A restore that fails leaves the folder as it was.
///
/// # Errors
/// [`RestoreError::Rollback`] if entries would be lost and that is not accepted.
pub async fn restore(
    from: &Path,
    data: &Path,
    accept_rollback: bool,
) -> Result<Restored, RestoreError> {
    let (from, data) = (from.to_owned(), data.to_owned());
    let unpack = move || Unpacked::new(&from, &data, accept_rollback);
    let unpacked = tokio::task::spawn_blocking(unpack).await;
    let unpacked = unpacked.map_err(|_| OpenError::Stopped)??;
    unpacked.note().await?;
    let swapped = tokio::task::spawn_blocking(move || unpacked.swap()).await;
    swapped.map_err(|_| OpenError::Stopped)?
}

/// A copy that is about to take its place. What was made for it goes away with it.
#[derive(Debug)]
struct Unpacked {
    folder: PathBuf,
    _passing: Passing,
    rollback: bool,
    data: PathBuf,
    /// The data folder and those above it, as far as they are only made for the copy.
    made: Passing,
    /// Held to the end, so that no gate comes in between.
    _lock: File,
}

/// A folder that is removed with all that is in it, and those above it that are then empty.
#[derive(Debug)]
struct Passing(Vec<PathBuf>);

impl Drop for Passing {
    fn drop(&mut self) {
        let mut folders = self.0.iter();
        if let Some(folder) = folders.next() {
            fs::remove_dir_all(folder).ok();
        }
        for above in folders {
            fs::remove_dir(above).ok();
        }
    }
}

impl Unpacked {
    fn new(from: &Path, data: &Path, accept_rollback: bool) -> Result<Self, RestoreError> {
        looks_like_one(from)?;
        let made = data.ancestors().take_while(|folder| !exists(folder));
        let made = Passing(made.map(Path::to_owned).collect());
        let lock = sqlite::lock(data)?;
        let path = data.join(UNPACKED);
        if path.exists() {
            fs::remove_dir_all(&path)?;
        }
        make_private(&path)?;
        let mut unpacked = Self {
            _passing: Passing(vec![path.clone()]),
            folder: path,
            rollback: false,
            data: data.to_owned(),
            made,
            _lock: lock,
        };
        let copy = unpacked.database();
        if ["-wal", "-journal"]
            .iter()
            .any(|end| beside(from, end).exists())
        {
            // It is in use, or was left in the middle of something: its file is not all of it.
            sqlite::copy(from, &copy)?;
        } else {
            let mut whole = File::open(from).map_err(CopyError::Unreadable)?;
            io::copy(&mut whole, &mut sqlite::create(&copy)?)?;
        }
        examine(&unpacked.folder)?;
        let place = data.join(DATABASE);
        if place.exists() {
            // Opened first and closed last, it leaves no log behind, whoever reads meanwhile.
            let there = Connection::open(&place).map_err(OpenError::from)?;
            settle(&there)?;
            unpacked.rollback = loses(data, &unpacked.folder)?;
            drop(there);
        }
        if unpacked.rollback && !accept_rollback {
            return Err(RestoreError::Rollback);
        }
        Ok(unpacked)
    }

    fn database(&self) -> PathBuf {
        self.folder.join(DATABASE)
    }

    /// Writes the restore down in the copy, which also brings it to the newest schema.
    async fn note(&self) -> Result<(), RestoreError> {
        let clock = Arc::new(SystemClock::start());
        let store = SqliteStore::open(&self.folder, Durability::Strict, clock)?;
        let event = Event::note("restored").with("rollback", self.rollback);
        let noted = store.note(&PrincipalId::system(), event).await;
        store.close();
        noted?;
        Ok(())
    }

    fn swap(mut self) -> Result<Restored, RestoreError> {
        let copy = Connection::open(self.database()).map_err(OpenError::from)?;
        settle(&copy)?;
        drop(copy);
        let place = self.data.join(DATABASE);
        let mut kept = None;
        if place.exists() {
            let aside = free_name(&self.data);
            fs::rename(&place, &aside)?;
            kept = Some(aside);
        }
        let placed = clear_beside(&place).and_then(|()| fs::rename(self.database(), &place));
        if let Err(error) = placed {
            if let Some(aside) = kept {
                fs::rename(aside, &place).ok();
            }
            return Err(error.into());
        }
        self.made.0.clear();
        Ok(Restored {
            kept,
            rollback: self.rollback,
        })
    }
}

fn exists(folder: &Path) -> bool {
    folder.as_os_str().is_empty() || folder.exists()
}

fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// A first look, before anything is made: an empty file would pass for an empty database.
fn looks_like_one(file: &Path) -> Result<(), CopyError> {
    let mut first = [0; MAGIC.len()];
    let read = File::open(file).and_then(|mut file| file.read_exact(&mut first));
    match read {
        Ok(()) if first == *MAGIC => Ok(()),
        Ok(()) => Err(CopyError::Foreign),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(CopyError::Foreign),
        Err(error) => Err(CopyError::Unreadable(error)),
    }
}

/// Whether the database in that folder is a whole store.
fn examine(folder: &Path) -> Result<(), CopyError> {
    let database = Connection::open(folder.join(DATABASE));
    let database = database.map_err(|_| CopyError::Foreign)?;
    let sound = database.query_row("PRAGMA quick_check(1)", (), |row| row.get::<_, String>(0));
    let version = database.query_row("PRAGMA user_version", (), |row| row.get::<_, i64>(0));
    if sound.ok().as_deref() != Some("ok") || version.is_ok_and(|version| version == 0) {
        return Err(CopyError::Foreign);
    }
    let store = ReadOnly::open(folder).map_err(|error| match error {
        OpenError::Newer(version) => CopyError::Newer(version),
        _ => CopyError::Foreign,
    })?;
    store.chains().map_err(|_| CopyError::Foreign)?;
    Ok(())
}

/// Takes the log of a database into its file.
fn settle(database: &Connection) -> Result<(), OpenError> {
    let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
    let busy: i64 = database.query_row(sql, (), |row| row.get(0))?;
    if busy == 0 {
        Ok(())
    } else {
        Err(OpenError::Taken)
    }
}

/// The file that SQLite keeps beside a database.
fn beside(database: &Path, end: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

fn clear_beside(database: &Path) -> io::Result<()> {
    for end in ["-wal", "-shm"] {
        match fs::remove_file(beside(database, end)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
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
