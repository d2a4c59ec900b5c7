//! Why a command did not do what it was asked, and the code that it exits with.

use std::process::ExitCode;

/// What scripts can tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// What was read is sound so far, but does not reach its end.
    Incomplete,
    /// Done.
    Ok,
    /// The gate refused, or what was read was tampered with.
    Refused,
    /// A file, folder or gate cannot be read or reached.
    Unreachable,
    /// The command line or a file that it names is wrong.
    Usage,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Ok => 0,
            Exit::Refused => 1,
            Exit::Incomplete => 2,
            Exit::Unreachable => 3,
            Exit::Usage => 64,
        })
    }
}

impl Exit {
    const fn code(self) -> &'static str {
        match self {
            Self::Incomplete => "incomplete",
            Self::Ok => "ok",
            Self::Refused => "refused",
            Self::Unreachable => "unreachable",
            Self::Usage => "usage",
        }
    }
}

/// A command's failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    /// A word for programs; the gate's own where it refused.
    pub(crate) code: String,
    pub(crate) message: String,
    /// Each thing that is wrong, if there are several.
    pub(crate) details: Vec<String>,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self {
            exit,
            code: exit.code().to_owned(),
            message: message.into(),
            details: Vec::new(),
        }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    pub(crate) fn unreachable(message: impl Into<String>) -> Self {
        Self::new(Exit::Unreachable, message)
    }

    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Self::new(Exit::Refused, message)
    }

    pub(crate) fn with(mut self, details: impl IntoIterator<Item = String>) -> Self {
        self.details.extend(details);
        self
    }

    /// All of it, fit for a line of a log.
    pub(crate) fn one_line(&self) -> String {
        let parts = std::iter::once(&self.message).chain(&self.details);
        parts.map(String::as_str).collect::<Vec<_>>().join("; ")
    }
}
