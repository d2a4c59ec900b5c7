//! What the gate asks of its host: to run a task, to wait, to give entropy, to count.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use toolgate_core::verdict::Code;

/// A future that a host can run anywhere.
pub type Task = Pin<Box<dyn Future<Output = ()> + Send + 'static>>;

/// Runs a task to its end, whoever waits for it: a dropped connection must not lose an outcome.
pub trait Spawn: Send + Sync + fmt::Debug {
    /// Runs the task.
    fn spawn(&self, task: Task);
}

/// Waits, and measures.
pub trait Timer: Send + Sync + fmt::Debug {
    /// Time since some fixed moment; it never goes back.
    fn elapsed(&self) -> Duration;

    /// A future that is ready after that long.
    fn sleep(&self, time: Duration) -> Task;
}

/// Gives entropy from the operating system's random source.
pub trait Entropy: Send + Sync + fmt::Debug {
    /// Fills the bytes.
    ///
    /// # Errors
    /// [`EntropyError`] if there is none; then nothing that needs it is done.
    fn fill(&self, bytes: &mut [u8]) -> Result<(), EntropyError>;
}

/// The host has no entropy to give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "made by every host")]
pub struct EntropyError;

impl fmt::Display for EntropyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the host has no entropy to give")
    }
}

impl std::error::Error for EntropyError {}

/// What became of a call, for counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a new outcome must be counted")]
pub enum Counted {
    /// Its result was disclosed.
    Answered,
    /// Its tool failed, or said that it failed.
    Failed,
    /// There is no such tool for this principal.
    Hidden,
    /// It waits for a person.
    Pending,
    /// It was refused.
    Refused(Code),
    /// The key was not good.
    Unauthorised,
}

impl Counted {
    /// The word of the outcome.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Failed => "failed",
            Self::Hidden => "hidden",
            Self::Pending => "pending",
            Self::Refused(code) => code.as_str(),
            Self::Unauthorised => "unauthorised",
        }
    }
}

/// Counts what the gate does.
pub trait Watch: Send + Sync + fmt::Debug {
    /// A call ended; `added` is what the gate added to the time that the tool took.
    fn call(&self, outcome: Counted, added: Duration);
    /// A request became unknown.
    fn unknown(&self);
    /// An entry could not be appended.
    fn append_failed(&self);
    /// How long a durable move took.
    fn append(&self, took: Duration);
}

/// Counts nothing.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::exhaustive_structs, reason = "a unit value")]
pub struct Unwatched;

impl Watch for Unwatched {
    fn call(&self, _: Counted, _: Duration) {}
    fn unknown(&self) {}
    fn append_failed(&self) {}
    fn append(&self, _: Duration) {}
}
