//! The built binary, from the outside.

#![expect(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test says what went wrong by failing"
)]

mod configured;
mod copies;
mod demo;
mod filter;
mod gate;
mod http;
mod limits;
mod offline;
mod operate;
mod restart;
mod secrets;
mod walk;
mod wrong;
