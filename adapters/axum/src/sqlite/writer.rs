//! The writer's handle: asks for moves and other writes, and waits for their commit.

use std::fmt;
use std::sync::Arc;
use std::sync::Condvar;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Instant;

use rusqlite::Connection;
use tokio::sync::Semaphore;
use tokio::sync::oneshot;
use toolgate_core::id::PrincipalId;
use toolgate_core::unit::Move;
use toolgate_mcp::store::Clock;
use toolgate_mcp::store::Moved;
use toolgate_mcp::store::StoreError;
use toolgate_mcp::store::Wait;

use super::Durability;
use super::checkpoints::Checkpoints;
use super::error::OpenError;
use super::error::store_error;
use super::readers::Readers;
use super::stage::Answer;
use super::stage::Stage;
use super::stage::Taken;
use super::thread::Thread;

/// Writes that may wait for their commit; a further one waits for a place.
const PLACES: usize = 4_096;

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

pub(super) type Finish = Box<dyn FnOnce(Result<(), StoreError>) + Send>;
pub(super) type Work = Box<dyn FnOnce(&Connection) -> (Result<(), StoreError>, Finish) + Send>;

/// What only the writer's thread can do.
pub(super) enum Job {
    Apply(PrincipalId, Box<Move>, Wait, Answer),
    Work(Work),
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Apply(..) => "Apply",
            Self::Work(_) => "Work",
        })
    }
}

/// What waits for the writer's thread.
#[derive(Debug, Default)]
pub(super) struct Desk {
    pub(super) stage: Stage,
    pub(super) jobs: Vec<Job>,
    /// Whether the thread sleeps, and has not been woken.
    pub(super) sleeps: bool,
    pub(super) stops: bool,
    /// Whether the thread is gone.
    pub(super) gone: bool,
}

/// What the handle and the thread share.
#[derive(Debug)]
pub(super) struct Shared {
    desk: Mutex<Desk>,
    pub(super) bell: Condvar,
    pub(super) clock: Arc<dyn Clock>,
    health: AtomicU8,
    fault: Mutex<Option<Fault>>,
}

/// The time by which the writer waits; it is not the store's.
pub(super) fn now() -> Instant {
    #[expect(
        clippy::disallowed_methods,
        reason = "how long a thread sleeps is nothing that is written or decided by"
    )]
    Instant::now()
}

pub(super) fn not_written() -> StoreError {
    StoreError::unavailable("the write failed")
}

fn stopped() -> StoreError {
    StoreError::unavailable("the writer has stopped")
}

impl Shared {
    pub(super) fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn health(&self) -> Health {
        match self.health.load(Ordering::Acquire) {
            0 => Health::Failing,
            1 => Health::Ok,
            _ => Health::Poisoned,
        }
    }

    /// Reports that a write was kept.
    pub(super) fn heal(&self) {
        self.turn(Health::Failing, Health::Ok);
    }

    /// Reports a trouble; one that only a restart ends is never taken back.
    pub(super) fn worsen(&self, state: Health) {
        match state {
            Health::Ok => {}
            Health::Failing => self.turn(Health::Ok, Health::Failing),
            Health::Poisoned => self.health.store(state as u8, Ordering::Release),
        }
    }

    /// INVARIANT: two threads report, so nothing turns what another has made worse.
    fn turn(&self, from: Health, to: Health) {
        let turned = (from as u8, to as u8);
        let _ =
            self.health
                .compare_exchange(turned.0, turned.1, Ordering::AcqRel, Ordering::Acquire);
    }

    pub(super) fn fault(&self) -> Option<Fault> {
        let mut fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        fault.take()
    }

    /// Wakes the thread for what somebody waits for.
    fn wake(&self, desk: &mut Desk) {
        if std::mem::take(&mut desk.sleeps) {
            self.bell.notify_one();
        }
    }
}

/// The writer's handle.
#[derive(Debug)]
pub(super) struct Writer {
    shared: Arc<Shared>,
    places: Semaphore,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    pub(super) fn start(
        connection: Connection,
        durability: Durability,
        clock: Arc<dyn Clock>,
        readers: Arc<Readers>,
    ) -> Result<Self, OpenError> {
        let shared = Arc::new(Shared {
            desk: Mutex::default(),
            bell: Condvar::new(),
            clock,
            health: AtomicU8::new(Health::Ok as u8),
            fault: Mutex::default(),
        });
        let checkpoints = Checkpoints::start(readers.path(), Arc::clone(&shared))?;
        let mine = Arc::clone(&shared);
        let thread = Thread::new(connection, checkpoints, durability, readers, mine);
        let thread = std::thread::Builder::new()
            .name("toolgate-writer".to_owned())
            .spawn(move || thread.run())
            .map_err(OpenError::Folder)?;
        Ok(Self {
            shared,
            places: Semaphore::new(PLACES),
            thread: Mutex::new(Some(thread)),
        })
    }

    pub(super) fn health(&self) -> Health {
        self.shared.health()
    }

    pub(super) fn rehearse(&self, fault: Fault) {
        *self
            .shared
            .fault
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(fault);
    }

    /// Principals with a running call whose lease is over, of those in memory.
    pub(super) fn overdue(&self) -> Vec<PrincipalId> {
        let now = self.shared.clock.now();
        self.shared.desk().stage.overdue(now)
    }

    pub(super) async fn apply(
        &self,
        id: &PrincipalId,
        asked: Move,
        wait: Wait,
    ) -> Result<Moved, StoreError> {
        let _place = self.places.acquire().await.map_err(|_| stopped())?;
        let told = match self.ask(id, asked, wait)? {
            Taken::Answered(moved) => return Ok(moved),
            Taken::Waits(told) => told,
        };
        told.await.map_err(|_| stopped())?
    }

    /// Works a move out in memory, or leaves it to the thread.
    fn ask(&self, id: &PrincipalId, asked: Move, wait: Wait) -> Result<Taken, StoreError> {
        let desk = &mut *self.shared.desk();
        if desk.stops || desk.gone {
            return Err(stopped());
        }
        let wait = match self.shared.health() {
            Health::Poisoned => return Err(not_written()),
            // While nothing is kept, nothing is let pass on credit: what it takes of a limit would
            // be given back.
            Health::Failing => Wait::Durable,
            Health::Ok => wait,
        };
        let stamp = self.shared.clock.now();
        let idle = desk.stage.due().is_none();
        if let Some(taken) = desk.stage.quick(id, &asked, wait, stamp, now())? {
            // The thread learns that somebody waits, or when it is to look again.
            if desk.stage.is_waited_for() || idle && desk.stage.due().is_some() {
                self.shared.wake(desk);
            }
            return Ok(taken);
        }
        let (tell, told) = oneshot::channel();
        let job = Job::Apply(id.clone(), Box::new(asked), wait, tell);
        desk.jobs.push(job);
        self.shared.wake(desk);
        Ok(Taken::Waits(told))
    }

    /// Writes something that is no move, and answers when it is durable.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let _place = self.places.acquire().await.map_err(|_| stopped())?;
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
        self.leave(job)?;
        // Work that was not begun is dropped, and its sender with it.
        told.await.map_err(|_| self.dropped())?
    }

    fn dropped(&self) -> StoreError {
        if self.shared.desk().gone {
            stopped()
        } else {
            not_written()
        }
    }

    fn leave(&self, work: Work) -> Result<(), StoreError> {
        let desk = &mut *self.shared.desk();
        if desk.stops || desk.gone {
            return Err(stopped());
        }
        desk.jobs.push(Job::Work(work));
        self.shared.wake(desk);
        Ok(())
    }

    /// Finishes what waits, and ends the thread.
    pub(super) fn stop(&self) {
        let thread = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Some(thread) = thread else { return };
        {
            let desk = &mut *self.shared.desk();
            desk.stops = true;
            self.shared.wake(desk);
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

#[cfg(test)]
mod tests;
