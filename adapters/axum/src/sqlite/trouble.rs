//! What a failure says of the store.

use rusqlite::ffi;
use toolgate_mcp::store::StoreError;
use toolgate_mcp::store::StoreErrorKind;

use super::writer::Health;

/// What a failure says of the store: after a failed flush nobody knows what the disk holds.
pub(super) fn health_after(error: &rusqlite::Error) -> Health {
    let lost = [
        ffi::SQLITE_IOERR_FSYNC,
        ffi::SQLITE_IOERR_DIR_FSYNC,
        ffi::SQLITE_IOERR_CLOSE,
    ];
    match error {
        rusqlite::Error::SqliteFailure(code, _) if lost.contains(&code.extended_code) => {
            Health::Poisoned
        }
        _ => Health::Failing,
    }
}

/// What one job's failure says of the store: nothing if only its own rows are unreadable.
pub(super) fn trouble(error: &StoreError) -> Health {
    if error.kind() != StoreErrorKind::Unavailable {
        return Health::Ok;
    }
    std::error::Error::source(error)
        .and_then(|source| source.downcast_ref())
        .map_or(Health::Failing, health_after)
}

/// What a failure says of the store that makes a whole batch fail.
pub(super) fn worse(error: &StoreError) -> Health {
    match trouble(error) {
        Health::Poisoned => Health::Poisoned,
        Health::Failing | Health::Ok => Health::Failing,
    }
}
