//! Where units live: the roles that a store plays, and the one way a unit changes.
//!
//! A store implements [`Ledger::apply`]: in one transaction it loads the rows that the move
//! [names](toolgate_core::unit::Move::needs), calls [`advance`], and saves what comes back.

mod advance;
#[cfg(feature = "contract")]
pub mod contract;
mod directory;
mod error;
mod ledger;
pub mod memory;

pub use advance::Advance;
pub use advance::advance;
pub use directory::Directory;
pub use directory::NamedPolicy;
pub use directory::Operator;
pub use directory::Role;
pub use error::StoreError;
pub use error::StoreErrorKind;
pub use ledger::ApprovalQuery;
pub use ledger::Clock;
pub use ledger::EntryQuery;
pub use ledger::Filed;
pub use ledger::Ledger;
pub use ledger::LedgerExt;
pub use ledger::Moved;
pub use ledger::Position;
pub use ledger::Wait;
