//! The one thread that writes, with group commit.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

use rusqlite::Connection;
use rusqlite::ffi;
use tokio::sync::mpsc;
use tokio::sync::oneshot;
use toolgate_core::id::PrincipalId;
use toolgate_core::unit::Head;
use toolgate_core::unit::Move;
use toolgate_mcp::store::Advance;
use toolgate_mcp::store::Clock;
use toolgate_mcp::store::Moved;
use toolgate_mcp::store::StoreError;
use toolgate_mcp::store::Wait;
use toolgate_mcp::store::advance;

use super::Durability;
use super::error::OpenError;
use super::error::store_error;
use super::readers::Readers;
use super::rows;
use super::rows::Unit;

/// Moves that may wait for the writer; a further one waits for a place.
const QUEUE: usize = 4_096;
/// Moves that one transaction takes.
const BATCH: usize = 256;

/// How the writer fares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "three states, all told to operators"
)]
pub enum Health {
    /// The last write failed; the next may succeed.
    Failing,
    /// The last write succeeded.
    Ok,
    /// A write may have been lost by the disk: nothing is written until a restart.
    Poisoned,
}

type Finish = Box<dyn FnOnce(bool) + Send>;
type Work = Box<dyn FnOnce(&Connection) -> (bool, Finish) + Send>;

enum Job {
    Apply(
        PrincipalId,
        Box<Move>,
        Wait,
        oneshot::Sender<Result<Moved, StoreError>>,
    ),
    Stop,
    Work(Work),
}

/// The writer's handle.
pub(super) struct Writer {
    jobs: mpsc::Sender<Job>,
    health: Arc<AtomicU8>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer")
            .field("health", &self.health())
            .finish_non_exhaustive()
    }
}

fn stopped() -> StoreError {
    StoreError::unavailable("the writer has stopped")
}

fn not_written() -> StoreError {
    StoreError::unavailable("the write failed")
}

impl Writer {
    pub(super) fn start(
        connection: Connection,
        durability: Durability,
        clock: Arc<dyn Clock>,
        readers: Arc<Readers>,
    ) -> Result<Self, OpenError> {
        let (jobs, queue) = mpsc::channel(QUEUE);
        let health = Arc::new(AtomicU8::new(Health::Ok as u8));
        let mut thread = Thread {
            connection,
            durability,
            flushes: true,
            clock,
            readers,
            units: HashMap::new(),
            health: Arc::clone(&health),
        };
        let thread = std::thread::Builder::new()
            .name("toolgate-writer".to_owned())
            .spawn(move || thread.run(queue))
            .map_err(OpenError::Folder)?;
        Ok(Self {
            jobs,
            health,
            thread: Mutex::new(Some(thread)),
        })
    }

    pub(super) fn health(&self) -> Health {
        match self.health.load(Ordering::Acquire) {
            0 => Health::Failing,
            1 => Health::Ok,
            _ => Health::Poisoned,
        }
    }

    pub(super) async fn apply(
        &self,
        id: &PrincipalId,
        asked: Move,
        wait: Wait,
    ) -> Result<Moved, StoreError> {
        let (tell, told) = oneshot::channel();
        let job = Job::Apply(id.clone(), Box::new(asked), wait, tell);
        self.jobs.send(job).await.map_err(|_| stopped())?;
        told.await.map_err(|_| stopped())?
    }

    /// Writes something that is no move, and answers when it is durable.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (tell, told) = oneshot::channel();
        let job: Work = Box::new(move |connection| {
            let done = work(connection).map_err(store_error);
            let ok = done.is_ok();
            let finish: Finish = Box::new(move |committed| {
                let done = if committed || done.is_err() {
                    done
                } else {
                    Err(not_written())
                };
                // Whoever asked may be gone; the write stands.
                let _ = tell.send(done);
            });
            (ok, finish)
        });
        self.jobs
            .send(Job::Work(job))
            .await
            .map_err(|_| stopped())?;
        told.await.map_err(|_| stopped())?
    }

    /// Finishes what waits, and ends the thread.
    pub(super) fn stop(&self) {
        let thread = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Some(thread) = thread else { return };
        let jobs = self.jobs.clone();
        // The queue may be full; the thread is draining it.
        let mut stop = Job::Stop;
        while let Err(mpsc::error::TrySendError::Full(back)) = jobs.try_send(stop) {
            stop = back;
            std::thread::yield_now();
        }
        if thread.join().is_err() {
            tracing::error!("the writer ended in a panic");
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.stop();
    }
}

struct Thread {
    connection: Connection,
    durability: Durability,
    /// Whether a commit is flushed to the disk before it is answered.
    flushes: bool,
    clock: Arc<dyn Clock>,
    readers: Arc<Readers>,
    /// Heads as the open transaction has them; dropped after any failure.
    units: HashMap<PrincipalId, Unit>,
    health: Arc<AtomicU8>,
}

/// An answer that waits for the commit.
enum Waiting {
    Moved(oneshot::Sender<Result<Moved, StoreError>>, Moved),
    Work(Finish),
}

impl Thread {
    fn run(&mut self, mut queue: mpsc::Receiver<Job>) {
        while let Some(first) = queue.blocking_recv() {
            let mut batch = vec![first];
            while batch.len() < BATCH {
                match queue.try_recv() {
                    Ok(job) => batch.push(job),
                    Err(_) => break,
                }
            }
            let stops = batch.iter().any(|job| matches!(job, Job::Stop));
            self.batch(batch);
            if stops {
                queue.close();
                let mut rest = Vec::new();
                while let Ok(job) = queue.try_recv() {
                    rest.push(job);
                }
                self.batch(rest);
                break;
            }
        }
        let _ = self
            .connection
            .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
    }

    fn batch(&mut self, batch: Vec<Job>) {
        if self.health.load(Ordering::Acquire) == Health::Poisoned as u8 {
            return refuse(batch);
        }
        let begun = self
            .flush(self.durability == Durability::Strict || batch.iter().any(must_flush))
            .and_then(|()| self.connection.execute_batch("BEGIN IMMEDIATE"));
        if let Err(error) = begun {
            self.failed(&error);
            return refuse(batch);
        }
        let mut waiting = Vec::new();
        let mut changed: HashMap<PrincipalId, Option<String>> = HashMap::new();
        for job in batch {
            match job {
                Job::Stop => {}
                Job::Apply(id, asked, wait, tell) => match self.within(|t| t.apply(&id, &asked)) {
                    Ok(done) => {
                        if done.changes.head.is_some() {
                            let policy = changed.entry(id).or_default();
                            if done.changes.policy.is_some() {
                                *policy = done.changes.policy;
                            }
                        }
                        if wait == Wait::Ordered {
                            let _ = tell.send(Ok(done.moved));
                        } else {
                            waiting.push(Waiting::Moved(tell, done.moved));
                        }
                    }
                    Err(error) => {
                        let _ = tell.send(Err(error));
                    }
                },
                Job::Work(work) => {
                    let mut finish = None;
                    let done = self.within(|t| {
                        let (ok, end) = work(&t.connection);
                        finish = Some(end);
                        if ok { Ok(()) } else { Err(not_written()) }
                    });
                    match (done, finish) {
                        (Ok(()), Some(finish)) => waiting.push(Waiting::Work(finish)),
                        (Err(_), Some(finish)) => finish(false),
                        (_, None) => {}
                    }
                }
            }
        }
        match self.connection.execute_batch("COMMIT") {
            Ok(()) => {
                self.health.store(Health::Ok as u8, Ordering::Release);
                self.publish(changed);
                settle(waiting, true);
            }
            Err(error) => {
                self.failed(&error);
                let _ = self.connection.execute_batch("ROLLBACK");
                settle(waiting, false);
            }
        }
    }

    /// Says whether the next commit is flushed. A flush takes in all that was committed before.
    fn flush(&mut self, flushes: bool) -> rusqlite::Result<()> {
        if self.flushes != flushes {
            let level = if flushes { "FULL" } else { "NORMAL" };
            self.connection.pragma_update(None, "synchronous", level)?;
            self.flushes = flushes;
        }
        Ok(())
    }

    /// Runs one job so that its failure undoes it alone.
    fn within<T>(
        &mut self,
        job: impl FnOnce(&mut Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.connection
            .execute_batch("SAVEPOINT job")
            .map_err(store_error)?;
        let done = job(self);
        if done.is_err() {
            self.units.clear();
            self.health.store(Health::Failing as u8, Ordering::Release);
            self.connection
                .execute_batch("ROLLBACK TO job; RELEASE job")
                .map_err(store_error)?;
            return done;
        }
        self.connection
            .execute_batch("RELEASE job")
            .map_err(store_error)?;
        done
    }

    fn apply(&mut self, id: &PrincipalId, asked: &Move) -> Result<Advance, StoreError> {
        let unit = match self.units.get(id) {
            Some(unit) => unit.clone(),
            None => rows::unit(&self.connection, id)?,
        };
        let stamp = self.clock.now();
        let now = unit.head.as_ref().map_or(stamp, |head| head.at.max(stamp));
        let loaded = rows::load(&self.connection, id, unit.head, asked, now)?;
        let done = advance(id, &loaded, &unit.chain, asked, stamp)?;
        if !done.changes_nothing() {
            rows::save(&self.connection, id, &done)?;
        }
        let head = done.changes.head.clone().or(loaded.head);
        self.units.insert(
            id.clone(),
            Unit {
                head,
                chain: done.chain,
            },
        );
        Ok(done)
    }

    /// Shows readers what was committed.
    fn publish(&self, changed: HashMap<PrincipalId, Option<String>>) {
        for (id, policy) in changed {
            let head: Option<Arc<Head>> = self
                .units
                .get(&id)
                .and_then(|unit| unit.head.clone())
                .map(Arc::new);
            self.readers.publish(id, head, policy);
        }
    }

    fn failed(&mut self, error: &rusqlite::Error) {
        self.units.clear();
        let state = if lost_by_disk(error) {
            Health::Poisoned
        } else {
            Health::Failing
        };
        self.health.store(state as u8, Ordering::Release);
        tracing::error!(?state, "the store could not write");
    }
}

/// Whether a job must survive a power cut whatever the mode: all but reads and their record.
fn must_flush(job: &Job) -> bool {
    match job {
        Job::Apply(_, asked, wait, _) => {
            *wait == Wait::Durable && !matches!(**asked, Move::Record(_))
        }
        Job::Stop | Job::Work(_) => true,
    }
}

/// After a failed flush nobody knows what the disk holds.
fn lost_by_disk(error: &rusqlite::Error) -> bool {
    let rusqlite::Error::SqliteFailure(code, _) = error else {
        return false;
    };
    matches!(
        code.extended_code,
        ffi::SQLITE_IOERR_FSYNC | ffi::SQLITE_IOERR_DIR_FSYNC | ffi::SQLITE_IOERR_CLOSE
    )
}

fn settle(waiting: Vec<Waiting>, committed: bool) {
    for answer in waiting {
        match answer {
            Waiting::Moved(tell, moved) => {
                let _ = tell.send(if committed {
                    Ok(moved)
                } else {
                    Err(not_written())
                });
            }
            Waiting::Work(finish) => finish(committed),
        }
    }
}

fn refuse(batch: Vec<Job>) {
    for job in batch {
        match job {
            Job::Apply(_, _, _, tell) => {
                let _ = tell.send(Err(not_written()));
            }
            // Dropping the work drops its sender, which its caller reads as a stopped writer.
            Job::Work(_) | Job::Stop => {}
        }
    }
}
