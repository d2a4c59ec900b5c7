#![doc = include_str!("../README.md")]

mod chain;
pub mod commitment;
mod entry;
mod export;
mod hash;
mod json;
mod verify;

pub use chain::ChainId;
pub use chain::ChainIdError;
pub use chain::Head;
pub use chain::Row;
pub use chain::append;
pub use entry::Body;
pub use entry::DecodeError;
pub use entry::EncodeError;
pub use entry::Entry;
pub use entry::EntryKind;
pub use entry::HashedEntry;
pub use entry::KindError;
pub use entry::decode;
pub use export::ExportVerifier;
pub use export::head_line;
pub use export::row_line;
pub use export::verify_export;
pub use hash::Hash;
pub use hash::HashError;
pub use json::canonical;
pub use verify::ChainHead;
pub use verify::ChainProblem;
pub use verify::Problem;
pub use verify::ProblemKind;
pub use verify::Report;
pub use verify::StoredRow;
pub use verify::Summary;
pub use verify::Verifier;
