//! Why a backend's store did not do what it was asked.

use std::error::Error;
use std::fmt;

/// A store of a backend failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum BackendError {
    /// What is asked for is not allowed.
    Refused(&'static str),
    /// What is stored is larger than what is read at once.
    TooLarge,
    /// The store does not answer, or what it holds cannot be read.
    Unavailable(Box<dyn Error + Send + Sync>),
}

impl BackendError {
    /// The store does not answer.
    pub fn unavailable(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Unavailable(source.into())
    }
}

impl fmt::Display for BackendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(why) => f.write_str(why),
            Self::TooLarge => f.write_str("it is larger than what is read at once"),
            Self::Unavailable(_) => f.write_str("the store does not answer"),
        }
    }
}

impl Error for BackendError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Unavailable(source) => Some(source.as_ref()),
            Self::Refused(_) | Self::TooLarge => None,
        }
    }
}
