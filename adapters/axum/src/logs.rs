//! Logs: one JSON object a line on standard error.
//!
//! Only this workspace's own events are followed below warnings. Libraries may log what passes
//! through them, and keys, tokens and arguments pass through them.

use std::fmt;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// The variable that holds the level.
pub const LEVEL_VARIABLE: &str = "TOOLGATE_LOG";

/// The logs cannot be set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogError {
    /// The level is not one of the known words.
    Level,
    /// Logs are set up already.
    Twice,
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Level => write!(
                f,
                "`{LEVEL_VARIABLE}` is not one of `off`, `error`, `warn`, `info`, `debug`, `trace`"
            ),
            Self::Twice => f.write_str("logs are set up already"),
        }
    }
}

impl std::error::Error for LogError {}

/// Sends events of this level and above to standard error.
///
/// # Errors
/// [`LogError`] if the word is no level, or this was done before.
pub fn start(level: &str) -> Result<(), LogError> {
    let level: LevelFilter = level.parse().map_err(|_| LogError::Level)?;
    let lines = tracing_subscriber::fmt::layer()
        .json()
        .flatten_event(true)
        .with_writer(std::io::stderr);
    tracing_subscriber::registry()
        .with(targets(level))
        .with(lines)
        .try_init()
        .map_err(|_| LogError::Twice)
}

fn targets(level: LevelFilter) -> Targets {
    Targets::new()
        .with_default(level.min(LevelFilter::WARN))
        .with_target("toolgate", level)
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[test]
    fn libraries_are_never_followed_below_warnings() {
        let all = targets(LevelFilter::TRACE);
        assert!(all.would_enable("toolgate_http::api", &Level::TRACE));
        assert!(all.would_enable("hyper", &Level::WARN));
        assert!(!all.would_enable("hyper", &Level::INFO));
        let none = targets(LevelFilter::OFF);
        assert!(!none.would_enable("hyper", &Level::ERROR));
        assert!(!none.would_enable("toolgate_mcp", &Level::ERROR));
    }

    #[test]
    fn a_level_is_one_of_the_known_words() {
        assert_eq!(start("loud"), Err(LogError::Level));
    }
}
