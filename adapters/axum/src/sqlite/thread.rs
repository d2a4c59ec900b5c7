//! The one thread that writes, with group commit.

mod moves;

use std::collections::HashMap;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::PoisonError;
use std::time::Duration;
use std::time::Instant;

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use rusqlite::ffi;
use toolgate_core::id::PrincipalId;
use toolgate_core::unit::Move;
use toolgate_mcp::store::Moved;
use toolgate_mcp::store::StoreError;
use toolgate_mcp::store::Wait;

use super::Durability;
use super::checkpoints::Checkpoints;
use super::error::store_error;
use super::readers::Readers;
use super::rows;
use super::stage::Answer;
use super::stage::Round;
use super::stage::Saved;
use super::stage::Write;
use super::stage::YOUNG;
use super::trouble::health_after;
use super::trouble::trouble;
use super::trouble::worse;
use super::writer::Fault;
use super::writer::Finish;
use super::writer::Health;
use super::writer::Job;
use super::writer::Shared;
use super::writer::not_written;
use super::writer::now;

/// Jobs that one transaction takes.
const BATCH: usize = 256;
/// Quiet after which erased arguments leave the log, too.
const QUIET: Duration = Duration::from_secs(1);
/// How long they stay at most, where it is never quiet.
const LATEST: Duration = Duration::from_secs(5);
/// How long the writer waits for another connection's lock.
pub(super) const BUSY: Duration = Duration::from_secs(5);

/// An answer that waits for the commit.
enum Waiting {
    Moved(Answer, Moved),
    Work(Finish),
}

/// When the log is emptied of arguments that were erased.
#[derive(Debug, Clone, Copy)]
struct Emptying {
    at: Instant,
    latest: Instant,
}

/// What a batch has come to so far.
#[derive(Default)]
struct Kept {
    /// Answers that wait for the commit.
    waiting: Vec<Waiting>,
    /// Policies that changed.
    policies: HashMap<PrincipalId, String>,
    /// Units of which rows are in the transaction already.
    written: HashSet<PrincipalId>,
    /// Whether something was written.
    writes: bool,
    /// Whether a job failed for want of a disk.
    failures: bool,
}

pub(super) struct Thread {
    connection: Connection,
    checkpoints: Checkpoints,
    durability: Durability,
    readers: Arc<Readers>,
    shared: Arc<Shared>,
    /// Whether a commit is flushed to the disk before it is answered.
    flushes: bool,
    /// Set if the log may hold arguments that were erased.
    empties: Option<Emptying>,
    /// Whether the open transaction can only be given up.
    spoilt: bool,
}

/// Refuses whoever waits for a thread that is gone, however it went.
struct Gone(Arc<Shared>);

impl Drop for Gone {
    fn drop(&mut self) {
        let mut desk = self.0.desk();
        desk.gone = true;
        self.0.worsen(Health::Poisoned);
        desk.jobs.clear();
        drop(desk.stage.failed());
    }
}

impl Thread {
    pub(super) fn new(
        connection: Connection,
        checkpoints: Checkpoints,
        durability: Durability,
        readers: Arc<Readers>,
        shared: Arc<Shared>,
    ) -> Self {
        Self {
            connection,
            checkpoints,
            durability,
            readers,
            shared,
            flushes: true,
            // A process that was killed has left its log.
            empties: Some(Emptying::by(now())),
            spoilt: false,
        }
    }

    pub(super) fn run(mut self) {
        let _gone = Gone(Arc::clone(&self.shared));
        while let Some(jobs) = self.next() {
            self.batch(jobs);
        }
        drop(self.checkpoints);
        if self.shared.health() == Health::Poisoned {
            // The next start reads the log and leaves what did not reach the disk.
            let kept = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
            let _ = self.connection.set_db_config(kept, true);
            return;
        }
        let _ = self
            .connection
            .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
    }

    /// Waits until there is something to write, and takes the jobs. Nothing when all is written
    /// and no more comes.
    fn next(&mut self) -> Option<Vec<Job>> {
        let shared = Arc::clone(&self.shared);
        let mut desk = shared.desk();
        loop {
            let time = now();
            let due = desk.stage.due();
            let waits = !desk.jobs.is_empty() || desk.stage.is_waited_for();
            let empties = self.empties.filter(|_| !desk.stops);
            if waits && empties.is_none_or(|empties| empties.latest > time) {
                break;
            }
            if !waits && due.is_some_and(|at| desk.stops || at <= time) {
                break;
            }
            if !waits && desk.stops {
                return None;
            }
            if waits || empties.is_some_and(|empties| empties.at <= time) {
                drop(desk);
                self.empties = (!self.empty_log()).then(|| Emptying::by(time + QUIET));
                desk = shared.desk();
                continue;
            }
            desk.sleeps = true;
            let at = due.into_iter().chain(empties.map(|empties| empties.at));
            desk = match at.min() {
                None => {
                    let rung = shared.bell.wait(desk);
                    rung.unwrap_or_else(PoisonError::into_inner)
                }
                Some(at) => {
                    let rung = shared.bell.wait_timeout(desk, at.duration_since(time));
                    rung.unwrap_or_else(PoisonError::into_inner).0
                }
            };
            desk.sleeps = false;
        }
        drop(desk);
        // Whoever is about to ask for a move may do so now, and shares the commit.
        std::thread::yield_now();
        let mut desk = shared.desk();
        let most = desk.jobs.len().min(BATCH);
        Some(desk.jobs.drain(..most).collect())
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
        if self.shared.health() == Health::Poisoned {
            refuse(self.shared.desk().stage.failed());
            return refuse_jobs(batch);
        }
        self.spoilt = false;
        let begun = self
            .flush(self.durability == Durability::Strict || batch.iter().any(must_flush))
            .and_then(|()| run(&self.connection, "BEGIN IMMEDIATE"));
        if let Err(error) = begun {
            self.failed(health_after(&error));
            return refuse_jobs(batch);
        }
        let mut kept = Kept::default();
        let mut jobs = batch.into_iter();
        while !self.spoilt
            && let Some(job) = jobs.next()
        {
            match job {
                Job::Apply(id, asked, wait, tell) => self.moved(&mut kept, &id, &asked, wait, tell),
                Job::Work(work) => self.worked(&mut kept, work),
            }
        }
        let mut round = {
            let mut desk = self.shared.desk();
            // What runs on when the store is closed is found by the next start.
            let by = if desk.stops { now() + YOUNG } else { now() };
            desk.stage.end_round(by)
        };
        let committed = self
            .save_round(&mut kept, &mut round)
            .and_then(|()| self.commit().map_err(|error| health_after(&error)));
        match committed {
            Ok(()) => {
                if kept.failures {
                    self.shared.worsen(Health::Failing);
                } else if kept.writes {
                    self.shared.heal();
                }
                self.publish(&round.heads, &mut kept.policies);
                self.shared.desk().stage.committed(round.number);
                settle(kept.waiting, true);
                // What was committed stands, whatever becomes of the log.
                if let Err(error) = self.checkpoints.committed(&self.connection) {
                    self.shared.worsen(health_after(&error));
                }
            }
            Err(state) => {
                self.failed(state);
                settle(kept.waiting, false);
                refuse(round.writes);
                refuse_jobs(jobs.collect());
            }
        }
    }

    /// Saves a round. One unit whose rows are in the way of each other spoils no other unit.
    fn save_round(&mut self, kept: &mut Kept, round: &mut Round) -> Result<(), Health> {
        if self.spoilt {
            return Err(Health::Failing);
        }
        let nothing = round.heads.is_empty() && round.writes.is_empty() && round.calls.is_empty();
        if nothing {
            return Ok(());
        }
        kept.writes = true;
        match self.within(kept, |thread, _| save_all(&thread.connection, round, None)) {
            Ok(()) => {}
            Err(error) if trouble(&error) == Health::Ok && !self.spoilt => {
                self.save_apart(kept, round)?;
            }
            Err(error) => return Err(worse(&error)),
        }
        kept.waits_for(std::mem::take(&mut round.writes));
        Ok(())
    }

    /// Saves a round unit by unit, and forgets those that cannot be saved.
    fn save_apart(&mut self, kept: &mut Kept, round: &mut Round) -> Result<(), Health> {
        let heads = round.heads.iter().map(|saved| &saved.id);
        let writes = round.writes.iter().map(|write| &write.id);
        let calls = round.calls.iter().map(|(id, _)| id);
        let units: HashSet<_> = heads.chain(writes).chain(calls).cloned().collect();
        for id in units {
            let saved = self.within(kept, |thread, _| {
                save_all(&thread.connection, round, Some(&id))
            });
            let Err(error) = saved else { continue };
            if kept.written.contains(&id) || self.spoilt || trouble(&error) != Health::Ok {
                return Err(worse(&error));
            }
            let writes = round
                .writes
                .extract_if(.., |write| write.id == id)
                .collect();
            round.heads.retain(|saved| saved.id != id);
            self.forget_spoilt(&id, writes, &error);
        }
        Ok(())
    }

    /// Forgets a unit whose rows could not be written, and refuses what was built on them.
    fn forget_spoilt(&self, id: &PrincipalId, writes: Vec<Write>, error: &StoreError) {
        let later = self.shared.desk().stage.spoilt(id);
        for write in writes.into_iter().chain(later) {
            if let Some((tell, _)) = write.waiting {
                let why = "what stands in the file is in the way";
                let _ = tell.send(Err(StoreError::new(error.kind(), why)));
            }
        }
    }

    fn commit(&self) -> rusqlite::Result<()> {
        let failure = |code| Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None));
        match self.shared.fault() {
            None => run(&self.connection, "COMMIT"),
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
        job: impl FnOnce(&mut Self, &mut Kept) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let begun = run(&self.connection, "SAVEPOINT job");
        let done = begun.map_err(store_error).and_then(|()| job(self, kept));
        let undone = match &done {
            Ok(_) => Ok(()),
            Err(_) => run(&self.connection, "ROLLBACK TO job"),
        };
        let ended = undone
            .and_then(|()| run(&self.connection, "RELEASE job"))
            .map_err(store_error);
        self.spoilt |= ended.is_err() || self.connection.is_autocommit();
        let done = done.and_then(|value| ended.map(|()| value));
        if let Err(error) = &done {
            match trouble(error) {
                Health::Ok => {}
                Health::Failing => kept.failures = true,
                Health::Poisoned => self.spoilt = true,
            }
            self.shared.worsen(trouble(error));
        }
        done
    }

    /// Shows readers what was committed.
    fn publish(&self, heads: &[Saved], policies: &mut HashMap<PrincipalId, String>) {
        for saved in heads {
            let policy = policies.remove(&saved.id);
            let head = Some(Arc::clone(&saved.head));
            self.readers.publish(saved.id.clone(), head, policy);
        }
    }

    /// Gives the transaction up, with all that was remembered: what the file holds is only known
    /// by reading it.
    fn failed(&mut self, state: Health) {
        if !self.connection.is_autocommit() && self.connection.execute_batch("ROLLBACK").is_err() {
            self.shared.worsen(Health::Poisoned);
        }
        refuse(self.shared.desk().stage.failed());
        self.readers.forget();
        self.shared.worsen(state);
        tracing::error!(state = ?state, "the store could not write");
    }
}

impl Emptying {
    /// As soon as it is quiet from then on.
    fn by(at: Instant) -> Self {
        Self {
            at,
            latest: at + LATEST,
        }
    }

    /// Something more was erased.
    fn postponed(self, at: Instant) -> Self {
        Self {
            at: at.min(self.latest),
            ..self
        }
    }
}

impl Kept {
    fn waits_for(&mut self, writes: Vec<Write>) {
        let waiting = writes.into_iter().filter_map(|write| write.waiting);
        self.waiting
            .extend(waiting.map(|(tell, moved)| Waiting::Moved(tell, moved)));
    }
}

/// Saves what a round holds, or what it holds of one unit.
fn save_all(db: &Connection, round: &Round, only: Option<&PrincipalId>) -> Result<(), StoreError> {
    let wanted = |id: &PrincipalId| only.is_none_or(|only| only == id);
    for saved in round.heads.iter().filter(|saved| wanted(&saved.id)) {
        rows::save_unit(db, saved)?;
    }
    for write in round.writes.iter().filter(|write| wanted(&write.id)) {
        rows::save_write(db, write)?;
    }
    for (id, running) in round.calls.iter().filter(|(id, _)| wanted(id)) {
        rows::save_call(db, id, running)?;
    }
    Ok(())
}

/// Runs a statement without values that is run again and again.
fn run(db: &Connection, sql: &str) -> rusqlite::Result<()> {
    db.prepare_cached(sql)?.execute(()).map(|_| ())
}

/// Whether a job must survive a power cut whatever the mode: all but reads and their record.
fn must_flush(job: &Job) -> bool {
    match job {
        Job::Apply(_, asked, wait, _) => {
            *wait == Wait::Durable && !matches!(**asked, Move::Record(_))
        }
        Job::Work(_) => true,
    }
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

fn refuse(writes: Vec<Write>) {
    for (tell, _) in writes.into_iter().filter_map(|write| write.waiting) {
        let _ = tell.send(Err(not_written()));
    }
}

fn refuse_jobs(batch: Vec<Job>) {
    for job in batch {
        match job {
            Job::Apply(_, _, _, tell) => {
                let _ = tell.send(Err(not_written()));
            }
            // Dropping the work drops its sender, which its caller reads as a stopped writer.
            Job::Work(_) => {}
        }
    }
}
