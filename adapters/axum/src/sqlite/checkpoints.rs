//! Writes the log back into the database beside the writer, so that no commit waits for it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;

use super::error::OpenError;
use super::thread::BUSY;
use super::trouble::health_after;
use super::writer::Shared;

/// Commits after which the log is looked at.
const LOOK: u32 = 16;
/// Pages that wait in the log until they are written back. While they are, a commit that is
/// flushed takes longer, so this is seldom.
const WAITING: i64 = 8_000;
/// Pages in the log from which the writer writes the last of them back itself: while it goes on
/// writing, nobody else comes to the log's end, and only from there it begins anew.
const LONG: i64 = 12_000;
/// Pages in the log from which the writer waits for those who read it: readers that overlap would
/// keep it from its beginning for ever.
const FULL: i64 = 48_000;
/// How long it waits for them, each time that so many pages have come.
const PATIENCE: Duration = Duration::from_millis(100);

/// The log, in pages.
struct Log {
    /// Whether somebody was in the way.
    busy: bool,
    pages: i64,
    written_back: i64,
}

impl Log {
    fn waiting(&self) -> i64 {
        self.pages - self.written_back
    }
}

/// The thread that writes back, and what it says.
#[derive(Debug)]
pub(super) struct Checkpoints {
    bell: Option<mpsc::SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    /// Whether the thread could not do its work.
    fails: Arc<AtomicBool>,
    /// Commits since the log was looked at.
    commits: u32,
    /// Pages in the log at which readers are waited for next.
    full: i64,
}

impl Checkpoints {
    pub(super) fn start(path: &Path, shared: Arc<Shared>) -> Result<Self, OpenError> {
        let connection = Connection::open(path)?;
        connection.pragma_update(None, "trusted_schema", false)?;
        let (bell, rung) = mpsc::sync_channel(1);
        let fails = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&fails);
        let thread = std::thread::Builder::new()
            .name("toolgate-log".to_owned())
            .spawn(move || {
                while rung.recv().is_ok() {
                    if let Err(error) = checkpoint(&connection, "PASSIVE") {
                        tracing::error!(%error, "the log could not be written back");
                        shared.worsen(health_after(&error));
                        told.store(true, Ordering::Release);
                    }
                }
            })
            .map_err(OpenError::Folder)?;
        Ok(Self {
            bell: Some(bell),
            thread: Some(thread),
            fails,
            commits: 0,
            full: FULL,
        })
    }

    /// Counts a commit of the writer, and lets it do what is left to it.
    pub(super) fn committed(&mut self, writer: &Connection) -> rusqlite::Result<()> {
        self.commits += 1;
        if self.commits < LOOK {
            return Ok(());
        }
        self.commits = 0;
        let log = checkpoint(writer, "NOOP")?;
        let alone = self.fails.swap(false, Ordering::AcqRel);
        let alone = alone || log.waiting() >= WAITING && !self.ring();
        if log.pages >= self.full {
            writer.busy_timeout(PATIENCE)?;
            let left = checkpoint(writer, "RESTART");
            writer.busy_timeout(BUSY)?;
            let left = left?;
            self.full = if left.busy { left.pages + FULL } else { FULL };
        } else if alone || log.pages >= LONG && (log.waiting() < WAITING || log.pages >= 2 * LONG) {
            checkpoint(writer, "PASSIVE")?;
        }
        Ok(())
    }

    /// Whether the thread is there to hear it. One that is at work, or rung for, takes these
    /// pages, too, or the next does.
    fn ring(&self) -> bool {
        let rung = self.bell.as_ref().map(|bell| bell.try_send(()));
        matches!(rung, Some(Ok(()) | Err(mpsc::TrySendError::Full(()))))
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        self.bell = None;
        if self
            .thread
            .take()
            .is_some_and(|thread| thread.join().is_err())
        {
            tracing::error!("writing the log back ended in a panic");
        }
    }
}

/// One of SQLite's checkpoints, and how long the log is now.
fn checkpoint(connection: &Connection, how: &str) -> rusqlite::Result<Log> {
    connection
        .prepare_cached(&format!("PRAGMA wal_checkpoint({how})"))?
        .query_row((), |row| {
            Ok(Log {
                busy: row.get(0)?,
                pages: row.get(1)?,
                written_back: row.get(2)?,
            })
        })
}
