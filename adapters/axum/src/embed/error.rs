//! Why a gate was not embedded.

use std::error::Error;
use std::fmt;

use toolgate_core::id::UpstreamId;
use toolgate_core::policy::PolicyError;
use toolgate_mcp::gateway::DecideError;
use toolgate_mcp::gateway::OperateError;

/// Why a gate was not embedded, or an agent not made.
#[derive(Debug)]
#[non_exhaustive]
pub enum EmbedError {
    /// The request was not answered.
    Decide(DecideError),
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

impl fmt::Display for EmbedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decide(error) => error.fmt(f),
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
            Self::Decide(error) => Some(error),
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
