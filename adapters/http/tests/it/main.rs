//! What the adapter promises, through its one function.

#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

mod api;
mod approvals;
mod calls;
mod doors;
mod faults;
mod host;
mod traces;
