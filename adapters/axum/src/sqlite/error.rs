//! Why a store does not open.

use std::fmt;

use toolgate_mcp::store::StoreError;

/// Why a store does not open, or cannot be copied.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// The database cannot be read or written.
    Database(rusqlite::Error),
    /// A file is in the way.
    Exists,
    /// The folder or a file in it cannot be read or written.
    Folder(std::io::Error),
    /// The database was written by a newer toolgate, with this schema.
    Newer(i64),
    /// The writer has stopped.
    Stopped,
    /// Another process has the store.
    Taken,
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Database(_) => f.write_str("the database cannot be read or written"),
            Self::Exists => f.write_str("the file exists already"),
            Self::Folder(error) => write!(f, "the data folder cannot be used: {}", error.kind()),
            Self::Newer(version) => {
                write!(
                    f,
                    "the database has schema {version}, written by a newer toolgate"
                )
            }
            Self::Stopped => f.write_str("the store has stopped"),
            Self::Taken => f.write_str("another process has this data folder open"),
        }
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Database(error) => Some(error),
            Self::Folder(error) => Some(error),
            Self::Exists | Self::Newer(_) | Self::Stopped | Self::Taken => None,
        }
    }
}

impl From<rusqlite::Error> for OpenError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error)
    }
}

/// What the database says, as a store says it.
pub(super) fn store_error(error: rusqlite::Error) -> StoreError {
    use rusqlite::Error;
    match &error {
        Error::FromSqlConversionFailure(..)
        | Error::IntegralValueOutOfRange(..)
        | Error::InvalidColumnType(..) => StoreError::corrupt(error),
        Error::SqliteFailure(code, _)
            if matches!(
                code.code,
                // There is one writer: what stands in its way was put there by somebody else.
                rusqlite::ErrorCode::ConstraintViolation
                    | rusqlite::ErrorCode::DatabaseCorrupt
                    | rusqlite::ErrorCode::NotADatabase
            ) =>
        {
            StoreError::corrupt(error)
        }
        _ => StoreError::unavailable(error),
    }
}
