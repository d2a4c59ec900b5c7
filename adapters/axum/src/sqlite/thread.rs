//! The one thread that writes, with group commit.

use std::collections::HashMap;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::PoisonError;
use std::time::Duration;
use std::time::Instant;

use rusqlite::Connection;
use rusqlite::ffi;
use toolgate_core::id::PrincipalId;
use toolgate_core::unit::Move;
use toolgate_core::verdict::Decision;
use toolgate_mcp::store::Moved;
use toolgate_mcp::store::StoreError;
use toolgate_mcp::store::StoreErrorKind;
use toolgate_mcp::store::Wait;
use toolgate_mcp::store::advance;

use super::Durability;
use super::checkpoints::Checkpoints;
use super::error::store_error;
use super::readers::Readers;
use super::rows;
use super::stage::Answer;
use super::stage::Round;
use super::stage::Saved;
use super::stage::Unit;
use super::stage::Write;
use super::stage::YOUNG;
use super::writer::Fault;
use super::writer::Finish;
use super::writer::Health;
use super::writer::Job;
use super::writer::Shared;
use super::writer::Work;
use super::writer::not_written;
use super::writer::now;

/// Jobs that one transaction takes.
const BATCH: usize = 256;
/// Quiet after which erased arguments leave the log, too.
const QUIET: Duration = Duration::from_secs(1);
/// How long the writer waits for another connection's lock.
pub(super) const BUSY: Duration = Duration::from_secs(5);

/// An answer that waits for the commit.
enum Waiting {
    Moved(Answer, Moved),
    Work(Finish),
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
    /// When the log is emptied of arguments that were erased, if it holds any.
    empties: Option<Instant>,
    /// Whether the open transaction can only be given up.
    spoilt: bool,
}

/// Refuses whoever waits for a thread that is gone, however it went.
struct Gone(Arc<Shared>);

impl Drop for Gone {
    fn drop(&mut self) {
        let mut desk = self.0.desk();
        desk.gone = true;
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
            empties: None,
            spoilt: false,
        }
    }

    pub(super) fn run(mut self) {
        let _gone = Gone(Arc::clone(&self.shared));
        while let Some(jobs) = self.next() {
            self.batch(jobs);
        }
        drop(self.checkpoints);
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
            let due = desk.stage.due();
            if !desk.jobs.is_empty() || desk.stage.is_waited_for() {
                break;
            }
            let time = now();
            if due.is_some_and(|at| desk.stops || at <= time) {
                break;
            }
            if desk.stops {
                return None;
            }
            if self.empties.is_some_and(|at| at <= time) {
                drop(desk);
                self.empties = if self.empty_log() {
                    None
                } else {
                    Some(time + QUIET)
                };
                desk = shared.desk();
                continue;
            }
            desk = match due.into_iter().chain(self.empties).min() {
                None => {
                    desk.sleeps = true;
                    shared
                        .bell
                        .wait(desk)
                        .unwrap_or_else(PoisonError::into_inner)
                }
                Some(at) => {
                    desk.dozes = true;
                    let wait = shared.bell.wait_timeout(desk, at.duration_since(time));
                    wait.unwrap_or_else(PoisonError::into_inner).0
                }
            };
            desk.sleeps = false;
            desk.dozes = false;
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

    fn moved(&mut self, kept: &mut Kept, id: &PrincipalId, asked: &Move, wait: Wait, tell: Answer) {
        self.save_earlier(kept, id);
        match self.within(kept, |thread, kept| thread.apply(kept, id, asked, wait)) {
            Ok((moved, true)) => {
                let _ = tell.send(Ok(moved));
            }
            Ok((moved, false)) => kept.waiting.push(Waiting::Moved(tell, moved)),
            Err(error) => {
                self.shared.desk().stage.forget_unchanged(id);
                let _ = tell.send(Err(error));
            }
        }
    }

    /// Saves what was worked out of a unit in memory before a move that takes rows of its own: the
    /// entries of a chain are in the order of their numbers.
    fn save_earlier(&mut self, kept: &mut Kept, id: &PrincipalId) {
        let writes = self.shared.desk().stage.writes_of(id);
        if writes.is_empty() {
            return;
        }
        kept.written.insert(id.clone());
        let saved = self.within(kept, |thread, _| {
            let db = &thread.connection;
            writes
                .iter()
                .try_for_each(|write| rows::save_write(db, write))
        });
        match saved {
            Ok(()) => kept.waits_for(writes),
            Err(error) => self.forget_spoilt(id, writes, &error),
        }
    }

    /// Works a move out and saves what it changes beside the head. Says whether it may be told at
    /// once.
    fn apply(
        &mut self,
        kept: &mut Kept,
        id: &PrincipalId,
        asked: &Move,
        wait: Wait,
    ) -> Result<(Moved, bool), StoreError> {
        let shared = Arc::clone(&self.shared);
        let stage = &mut shared.desk().stage;
        let db = &self.connection;
        let unknown = Unit::default();
        if stage.unit(id).is_none() {
            let unit = rows::unit(db, id)?;
            if unit.head.is_some() {
                stage.keep(id, unit);
            }
        }
        let unit = stage.unit(id).unwrap_or(&unknown);
        let stamp = shared.clock.now();
        let now_there = unit.head.as_ref().map_or(stamp, |head| head.at.max(stamp));
        let loaded = rows::load(db, id, unit, asked, now_there)?;
        let mut done = advance(id, &loaded, &unit.chain, asked, stamp)?;
        let silent = done.rows.is_empty();
        let changed = !done.changes_nothing();
        let policy = done.changes.policy.take();
        if changed {
            // A unit's other rows need the row of its head, so the first one is saved at once.
            if let (None, Some(head)) = (&loaded.head, &done.changes.head) {
                let (id, head, chain) = (id.clone(), Arc::new(head.clone()), done.chain);
                rows::save_unit(db, &Saved { id, head, chain })?;
            }
            rows::save(db, id, &done.changes, policy.as_deref())?;
            rows::append(db, id, &done.rows, &done.salts)?;
        }
        kept.writes |= changed;
        let erases = |changes: &toolgate_core::unit::Changes| {
            !changes.dropped.is_empty() || changes.approvals.iter().any(|a| a.args.is_none())
        };
        if erases(&done.changes) {
            self.empties = Some(now() + QUIET);
        }
        if let Some(policy) = policy {
            kept.policies.insert(id.clone(), policy);
        }
        if changed {
            kept.written.insert(id.clone());
        }
        let (_, _, moved) = stage.take(id, done, !is_read(asked), now());
        let told = wait == Wait::Ordered && silent && stage.is_settled(id);
        Ok((moved, told))
    }

    fn worked(&mut self, kept: &mut Kept, work: Work) {
        let mut finish = None;
        let done = self.within(kept, |thread, _| {
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

/// Whether a move is a read that may run, or its record.
fn is_read(asked: &Move) -> bool {
    match asked {
        Move::Admit(admit) => admit.verdict.decision == Decision::Run,
        Move::Record(_) => true,
        _ => false,
    }
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

/// What a failure says of the store: after a failed flush nobody knows what the disk holds.
pub(super) fn health_after(error: &rusqlite::Error) -> Health {
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

/// What a failure says of the store that makes a whole batch fail.
fn worse(error: &StoreError) -> Health {
    match trouble(error) {
        Health::Poisoned => Health::Poisoned,
        Health::Failing | Health::Ok => Health::Failing,
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
