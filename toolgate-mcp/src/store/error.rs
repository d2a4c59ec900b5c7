//! Why a store did not do what it was asked.

use std::error::Error;
use std::fmt;

/// What kind of failure it is. None of them ever allows a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "callers tell the three apart")]
pub enum StoreErrorKind {
    /// Another writer was faster; the move may be tried again.
    Conflict,
    /// What is stored cannot be read back.
    Corrupt,
    /// The store does not answer; the move may have been persisted or not.
    Unavailable,
}

/// A store's failure.
#[derive(Debug)]
pub struct StoreError {
    kind: StoreErrorKind,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl StoreError {
    /// A failure of that kind, with what caused it.
    pub fn new(kind: StoreErrorKind, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            kind,
            source: Some(source.into()),
        }
    }

    /// The store does not answer.
    pub fn unavailable(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(StoreErrorKind::Unavailable, source)
    }

    /// What is stored cannot be read back.
    pub fn corrupt(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(StoreErrorKind::Corrupt, source)
    }

    /// What kind of failure it is.
    #[must_use]
    pub const fn kind(&self) -> StoreErrorKind {
        self.kind
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            StoreErrorKind::Conflict => "another writer was faster",
            StoreErrorKind::Corrupt => "what is stored cannot be read back",
            StoreErrorKind::Unavailable => "the store does not answer",
        })
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source
            .as_deref()
            .map(|source| source as &(dyn Error + 'static))
    }
}
