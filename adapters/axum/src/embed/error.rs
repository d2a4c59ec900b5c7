//! Why a gate was not embedded.

use std::error::Error;
use std::fmt;
use std::path::PathBuf;

use toolgate_core::id::UpstreamId;
use toolgate_core::policy::PolicyError;
use toolgate_mcp::gateway::DecideError;
use toolgate_mcp::gateway::OperateError;

/// Why a gate was not embedded, or an agent not made.
///
/// It is the same text for people and in `{:?}`, which a `main` that returns it prints.
#[non_exhaustive]
pub enum EmbedError {
    /// The request was not answered.
    Decide(DecideError),
    /// The data folder cannot be used.
    Folder(PathBuf, Box<dyn Error + Send + Sync>),
    /// A name is not in its form, or is taken; and why.
    Name(String, String),
    /// The policy is not accepted, with everything that is wrong with it.
    Policy(Vec<PolicyError>),
    /// The store cannot be used.
    Store(Box<dyn Error + Send + Sync>),
    /// That server does not say which tools it has.
    Unavailable(UpstreamId),
}

impl EmbedError {
    pub(super) fn name(name: &str, why: impl fmt::Display) -> Self {
        Self::Name(name.to_owned(), why.to_string())
    }

    pub(super) fn store(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Store(source.into())
    }
}

impl fmt::Debug for EmbedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)?;
        let mut cause = self.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

impl fmt::Display for EmbedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decide(error) => fmt::Display::fmt(error, f),
            Self::Folder(folder, _) => {
                write!(f, "the data folder `{}` cannot be used", folder.display())
            }
            Self::Name(name, why) => write!(f, "`{name}` {why}"),
            Self::Policy(errors) => {
                f.write_str("the policy is not accepted")?;
                for error in errors {
                    write!(f, "\n  {error}")?;
                }
                Ok(())
            }
            Self::Store(_) => f.write_str("the store cannot be used"),
            Self::Unavailable(id) => {
                write!(f, "the server `{id}` does not say which tools it has")
            }
        }
    }
}

impl Error for EmbedError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Decide(error) => error.source(),
            Self::Folder(_, source) => Some(source.as_ref()),
            Self::Store(source) => Some(source.as_ref()),
            _ => None,
        }
    }
}

impl From<DecideError> for EmbedError {
    fn from(error: DecideError) -> Self {
        Self::Decide(error)
    }
}

impl From<OperateError> for EmbedError {
    fn from(error: OperateError) -> Self {
        match error {
            OperateError::Invalid(errors) => Self::Policy(errors),
            other => Self::store(other),
        }
    }
}
