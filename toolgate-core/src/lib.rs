//! Policy, argument rules, classification, limits and approvals of the toolgate gateway.
//!
//! Everything here is a pure function or a value: no I/O, no clock, no randomness.
//! The time is an argument, entropy is an argument, and a deny is a value.

pub mod approval;
pub mod catalog;
pub mod classify;
pub mod digest;
pub mod endpoint;
pub mod id;
pub mod json;
pub mod judge;
pub mod key;
pub mod limits;
pub mod policy;
pub mod rules;
pub mod schema;
pub mod time;
pub mod unit;
pub mod verdict;
