//! Writes the log back into the database beside the writer, so that no commit waits for it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::thread::JoinHandle;

use rusqlite::Connection;

use super::error::OpenError;
use super::thread::health_after;
use super::writer::Shared;

/// Commits after which the log is written back. While it is, a commit that is flushed takes longer,
/// so this is seldom.
const EVERY: u32 = 2_000;
/// Pages in the log from which the writer writes the rest back itself: while it goes on writing,
/// nobody else comes to the log's end, and only from there it begins anew.
const LONG: i64 = 8_000;

/// Writes back without waiting for anybody; the columns are busy, pages in the log, pages done.
const PASSIVE: &str = "PRAGMA wal_checkpoint(PASSIVE)";

/// The thread that writes back, and what it says.
#[derive(Debug)]
pub(super) struct Checkpoints {
    bell: Option<mpsc::SyncSender<()>>,
    is_long: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    commits: u32,
}

impl Checkpoints {
    pub(super) fn start(path: &Path, shared: Arc<Shared>) -> Result<Self, OpenError> {
        let connection = Connection::open(path)?;
        connection.pragma_update(None, "trusted_schema", false)?;
        let (bell, rung) = mpsc::sync_channel(1);
        let is_long = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&is_long);
        let thread = std::thread::Builder::new()
            .name("toolgate-log".to_owned())
            .spawn(move || {
                while rung.recv().is_ok() {
                    match write_back(&connection) {
                        Ok(pages) => told.store(pages >= LONG, Ordering::Release),
                        Err(error) => shared.worsen(health_after(&error)),
                    }
                }
            })
            .map_err(OpenError::Folder)?;
        Ok(Self {
            bell: Some(bell),
            is_long,
            thread: Some(thread),
            commits: 0,
        })
    }

    /// Counts a commit of the writer, and lets it write the log's end back when that is due.
    pub(super) fn committed(&mut self, writer: &Connection) -> rusqlite::Result<()> {
        self.commits += 1;
        if self.commits >= EVERY {
            self.commits = 0;
            // One that is under way, or waits, takes these pages, too, or the next does.
            let _ = self.bell.iter().try_for_each(|bell| bell.try_send(()));
        }
        if self.is_long.swap(false, Ordering::AcqRel) {
            write_back(writer)?;
        }
        Ok(())
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

/// How many pages the log holds.
fn write_back(connection: &Connection) -> rusqlite::Result<i64> {
    connection
        .prepare_cached(PASSIVE)?
        .query_row((), |row| row.get(1))
}
