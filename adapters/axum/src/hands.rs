//! What the gate asks of its host, by tokio and the operating system.

use std::time::Duration;
use std::time::SystemTime;

use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::Instant;
use toolgate_core::time::Timestamp;
use toolgate_mcp::ports::Entropy;
use toolgate_mcp::ports::EntropyError;
use toolgate_mcp::ports::Spawn;
use toolgate_mcp::ports::Task;
use toolgate_mcp::ports::Timer;
use toolgate_mcp::store::Clock;

/// Runs tasks on a tokio runtime and knows how many of them have not ended.
#[derive(Debug, Clone)]
pub struct TokioSpawn {
    runtime: Handle,
    running: watch::Sender<usize>,
}

impl TokioSpawn {
    /// Runs tasks on that runtime.
    #[must_use]
    pub fn new(runtime: Handle) -> Self {
        Self {
            runtime,
            running: watch::Sender::new(0),
        }
    }

    /// Waits until every task has ended.
    pub async fn idle(&self) {
        let mut running = self.running.subscribe();
        // It fails only without a sender, and this value holds one.
        running.wait_for(|count| *count == 0).await.ok();
    }
}

impl Spawn for TokioSpawn {
    fn spawn(&self, task: Task) {
        let ticket = Ticket::take(&self.running);
        self.runtime.spawn(async move {
            let _ticket = ticket;
            task.await;
        });
    }
}

/// Counts a task for as long as it lives, even if it panics.
struct Ticket(watch::Sender<usize>);

impl Ticket {
    fn take(running: &watch::Sender<usize>) -> Self {
        running.send_modify(|count| *count = count.saturating_add(1));
        Self(running.clone())
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}

/// Waits and measures by tokio's clock.
#[derive(Debug, Clone, Copy)]
pub struct TokioTimer {
    began: Instant,
}

impl TokioTimer {
    /// Measures from now on.
    #[must_use]
    pub fn start() -> Self {
        Self {
            began: Instant::now(),
        }
    }
}

impl Timer for TokioTimer {
    fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    fn sleep(&self, time: Duration) -> Task {
        Box::pin(tokio::time::sleep(time))
    }
}

/// The time of day as it was at the start, carried on by a clock that nobody sets and that runs
/// while the machine sleeps.
///
/// Somebody who sets the machine's clock moves no limit, no window and no stamp with it.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    began: Timestamp,
    since: Duration,
}

impl SystemClock {
    /// Takes the time of day, this once.
    #[must_use]
    pub fn start() -> Self {
        #[expect(
            clippy::disallowed_methods,
            reason = "an adapter's clock is who may ask"
        )]
        let today = SystemTime::now();
        let passed = today
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        Self {
            began: Timestamp::from_millis(millis(passed)),
            since: running(),
        }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        self.began
            .plus(millis(running().saturating_sub(self.since)))
    }
}

/// Time since the machine was started, sleep included.
#[cfg(unix)]
fn running() -> Duration {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let clock = rustix::time::ClockId::Boottime;
    // On the BSDs and on macOS this one runs on in sleep.
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let clock = rustix::time::ClockId::Monotonic;
    let time = rustix::time::clock_gettime(clock);
    let nanos = u32::try_from(time.tv_nsec).unwrap_or(0);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), nanos)
}

/// Time since the process began.
#[cfg(not(unix))]
fn running() -> Duration {
    static BEGAN: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    BEGAN.get_or_init(Instant::now).elapsed()
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

/// The operating system's random source.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::exhaustive_structs, reason = "a unit value")]
pub struct OsEntropy;

impl Entropy for OsEntropy {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), EntropyError> {
        getrandom::fill(bytes).map_err(|_| EntropyError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn idle_waits_for_every_task_even_one_that_panics() {
        let spawn = TokioSpawn::new(Handle::current());
        let (open, gate) = tokio::sync::oneshot::channel::<()>();
        spawn.spawn(Box::pin(async move {
            gate.await.ok();
        }));
        spawn.spawn(Box::pin(async { panic!("a task that fails") }));
        let early = tokio::time::timeout(Duration::from_millis(20), spawn.idle()).await;
        assert!(early.is_err());
        open.send(()).unwrap();
        spawn.idle().await;
    }

    #[test]
    fn entropy_differs() {
        let (mut one, mut two) = ([0; 20], [0; 20]);
        OsEntropy.fill(&mut one).unwrap();
        OsEntropy.fill(&mut two).unwrap();
        assert_ne!(one, two);
    }
}
