//! The one thread that writes, with group commit.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::ffi;
use tokio::runtime;
use tokio::sync::mpsc;
use tokio::sync::oneshot;
use toolgate_core::id::PrincipalId;
use toolgate_core::unit::Head;
use toolgate_core::unit::Move;
use toolgate_mcp::store::Advance;
use toolgate_mcp::store::Clock;
use toolgate_mcp::store::Moved;
use toolgate_mcp::store::StoreError;
use toolgate_mcp::store::StoreErrorKind;
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
/// Quiet after which erased arguments leave the log, too.
const QUIET: Duration = Duration::from_secs(1);
/// How long the writer waits for another connection's lock.
pub(super) const BUSY: Duration = Duration::from_secs(5);

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

/// How the next commit fails, to rehearse what a disk can do.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "made by tests alone")]
pub enum Fault {
    /// The flush fails; what was written may be lost.
    Flush,
    /// It is made, and told as if it were not.
    Kept,
    /// It is not made.
    Undone,
}

type Finish = Box<dyn FnOnce(Result<(), StoreError>) + Send>;
type Work = Box<dyn FnOnce(&Connection) -> (Result<(), StoreError>, Finish) + Send>;

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
    fault: Arc<Mutex<Option<Fault>>>,
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
        let fault = Arc::new(Mutex::new(None));
        let pause = runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .map_err(OpenError::Folder)?;
        let mut thread = Thread {
            connection,
            durability,
            flushes: true,
            erased: false,
            spoilt: false,
            pause,
            clock,
            readers,
            units: HashMap::new(),
            health: Arc::clone(&health),
            fault: Arc::clone(&fault),
        };
        let thread = std::thread::Builder::new()
            .name("toolgate-writer".to_owned())
            .spawn(move || thread.run(queue))
            .map_err(OpenError::Folder)?;
        Ok(Self {
            jobs,
            health,
            fault,
            thread: Mutex::new(Some(thread)),
        })
    }

    pub(super) fn health(&self) -> Health {
        if self.jobs.is_closed() {
            return Health::Poisoned;
        }
        match self.health.load(Ordering::Acquire) {
            0 => Health::Failing,
            1 => Health::Ok,
            _ => Health::Poisoned,
        }
    }

    pub(super) fn rehearse(&self, fault: Fault) {
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(fault);
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
            let (done, value) = match work(connection) {
                Ok(value) => (Ok(()), Some(value)),
                Err(error) => (Err(store_error(error)), None),
            };
            let finish: Finish = Box::new(move |kept| {
                // Whoever asked may be gone; the write stands.
                let _ = tell.send(kept.and_then(|()| value.ok_or_else(not_written)));
            });
            (done, finish)
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
    /// Whether the log holds arguments that were erased.
    erased: bool,
    /// Whether the open transaction can only be given up.
    spoilt: bool,
    pause: runtime::Runtime,
    clock: Arc<dyn Clock>,
    readers: Arc<Readers>,
    /// Heads as the open transaction has them; dropped after any failure.
    units: HashMap<PrincipalId, Unit>,
    health: Arc<AtomicU8>,
    fault: Arc<Mutex<Option<Fault>>>,
}

/// An answer that waits for the commit.
enum Waiting {
    Moved(oneshot::Sender<Result<Moved, StoreError>>, Moved),
    Work(Finish),
}

impl Thread {
    fn run(&mut self, mut queue: mpsc::Receiver<Job>) {
        while let Some(first) = self.next(&mut queue) {
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

    /// The next job; when none comes for a while, the log is emptied of what was erased.
    fn next(&mut self, queue: &mut mpsc::Receiver<Job>) -> Option<Job> {
        while self.erased {
            let wait = async { tokio::time::timeout(QUIET, queue.recv()).await };
            match self.pause.block_on(wait) {
                Ok(job) => return job,
                Err(_) => self.erased = !self.empty_log(),
            }
        }
        queue.blocking_recv()
    }

    /// Whether the log is empty now; a reader or a failing disk may be in the way.
    fn empty_log(&self) -> bool {
        let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
        let emptied = self.connection.busy_timeout(Duration::ZERO).and_then(|()| {
            self.connection
                .query_row(sql, (), |row| row.get::<_, i64>(0))
        });
        let ready = self.connection.busy_timeout(BUSY);
        ready.is_ok() && matches!(emptied, Ok(0))
    }

    fn batch(&mut self, batch: Vec<Job>) {
        if self.health.load(Ordering::Acquire) == Health::Poisoned as u8 {
            return refuse(batch);
        }
        self.spoilt = false;
        let begun = self
            .flush(self.durability == Durability::Strict || batch.iter().any(must_flush))
            .and_then(|()| self.connection.execute_batch("BEGIN IMMEDIATE"));
        if let Err(error) = begun {
            self.failed(health_after(&error));
            return refuse(batch);
        }
        let mut kept = Kept::default();
        let mut jobs = batch.into_iter();
        while !self.spoilt
            && let Some(job) = jobs.next()
        {
            match job {
                Job::Stop => {}
                Job::Apply(id, asked, wait, tell) => self.moved(&mut kept, id, &asked, wait, tell),
                Job::Work(work) => self.worked(&mut kept, work),
            }
        }
        let committed = if self.spoilt {
            Err(Health::Failing)
        } else {
            self.commit().map_err(|error| health_after(&error))
        };
        match committed {
            Ok(()) => {
                if kept.failures {
                    self.worsen(Health::Failing);
                } else if kept.writes {
                    self.health.store(Health::Ok as u8, Ordering::Release);
                }
                self.publish(kept.shown);
                settle(kept.waiting, true);
            }
            Err(state) => {
                self.failed(state);
                settle(kept.waiting, false);
                refuse(jobs.collect());
            }
        }
    }

    fn moved(
        &mut self,
        kept: &mut Kept,
        id: PrincipalId,
        asked: &Move,
        wait: Wait,
        tell: oneshot::Sender<Result<Moved, StoreError>>,
    ) {
        let cached = self.units.contains_key(&id);
        match self.within(kept, |thread| thread.apply(&id, asked)) {
            Ok(done) => {
                kept.writes |= !done.changes_nothing();
                self.erased |= !done.changes.dropped.is_empty()
                    || done.changes.approvals.iter().any(|a| a.args.is_none());
                if done.changes.head.is_some() || !cached {
                    let policy = kept.shown.entry(id).or_default();
                    if done.changes.policy.is_some() {
                        *policy = done.changes.policy;
                    }
                }
                // An entry is told of when it is kept: a refusal waits even if it is only ordered.
                if wait == Wait::Ordered && done.rows.is_empty() {
                    let _ = tell.send(Ok(done.moved));
                } else {
                    kept.waiting.push(Waiting::Moved(tell, done.moved));
                }
            }
            Err(error) => {
                let _ = tell.send(Err(error));
            }
        }
    }

    fn worked(&mut self, kept: &mut Kept, work: Work) {
        let mut finish = None;
        let done = self.within(kept, |thread| {
            let (done, end) = work(&thread.connection);
            finish = Some(end);
            done
        });
        match (done, finish) {
            (Ok(()), Some(finish)) => {
                kept.writes = true;
                kept.waiting.push(Waiting::Work(finish));
            }
            (Err(error), Some(finish)) => finish(Err(error)),
            // Dropping the work drops its sender, which its caller reads as a stopped writer.
            (_, None) => {}
        }
    }

    fn commit(&mut self) -> rusqlite::Result<()> {
        let fault = self
            .fault
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let failure = |code| Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None));
        match fault {
            None => self.connection.execute_batch("COMMIT"),
            Some(Fault::Flush) => failure(ffi::SQLITE_IOERR_FSYNC),
            Some(Fault::Kept) => {
                self.connection.execute_batch("COMMIT")?;
                failure(ffi::SQLITE_IOERR)
            }
            Some(Fault::Undone) => failure(ffi::SQLITE_FULL),
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
    ///
    /// A full or failing disk can make the database give up the whole transaction by itself. A
    /// savepoint after that would open one of its own, so the batch ends there.
    fn within<T>(
        &mut self,
        kept: &mut Kept,
        job: impl FnOnce(&mut Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let begun = self.connection.execute_batch("SAVEPOINT job");
        let done = begun.map_err(store_error).and_then(|()| job(self));
        let end = match &done {
            Ok(_) => "RELEASE job",
            Err(_) => "ROLLBACK TO job; RELEASE job",
        };
        let ended = self.connection.execute_batch(end).map_err(store_error);
        self.spoilt |= ended.is_err() || self.connection.is_autocommit();
        let done = done.and_then(|value| ended.map(|()| value));
        if let Err(error) = &done {
            self.units.clear();
            match trouble(error) {
                Health::Ok => {}
                Health::Failing => kept.failures = true,
                Health::Poisoned => self.spoilt = true,
            }
            self.worsen(trouble(error));
        }
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

    /// Gives the transaction up, with all that was remembered: what the file holds is only known
    /// by reading it.
    fn failed(&mut self, state: Health) {
        if !self.connection.is_autocommit() && self.connection.execute_batch("ROLLBACK").is_err() {
            self.worsen(Health::Poisoned);
        }
        self.units.clear();
        self.readers.forget();
        self.worsen(state);
        tracing::error!(state = ?state, "the store could not write");
    }

    /// Reports a trouble; one that only a restart ends is never taken back.
    fn worsen(&self, state: Health) {
        let poisoned = self.health.load(Ordering::Acquire) == Health::Poisoned as u8;
        if state != Health::Ok && !poisoned {
            self.health.store(state as u8, Ordering::Release);
        }
    }
}

/// What a batch has come to so far.
#[derive(Default)]
struct Kept {
    /// Answers that wait for the commit.
    waiting: Vec<Waiting>,
    /// Units to show to readers, with their policies if those changed.
    shown: HashMap<PrincipalId, Option<String>>,
    /// Whether something was written.
    writes: bool,
    /// Whether a job failed for want of a disk.
    failures: bool,
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

/// What a failure says of the store: after a failed flush nobody knows what the disk holds.
fn health_after(error: &rusqlite::Error) -> Health {
    let lost = [
        ffi::SQLITE_IOERR_FSYNC,
        ffi::SQLITE_IOERR_DIR_FSYNC,
        ffi::SQLITE_IOERR_CLOSE,
    ];
    match error {
        rusqlite::Error::SqliteFailure(code, _) if lost.contains(&code.extended_code) => {
            Health::Poisoned
        }
        _ => Health::Failing,
    }
}

/// What one job's failure says of the store: nothing if only its own rows are unreadable.
fn trouble(error: &StoreError) -> Health {
    if error.kind() != StoreErrorKind::Unavailable {
        return Health::Ok;
    }
    std::error::Error::source(error)
        .and_then(|source| source.downcast_ref())
        .map_or(Health::Failing, health_after)
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
            Waiting::Work(finish) if committed => finish(Ok(())),
            Waiting::Work(finish) => finish(Err(not_written())),
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
