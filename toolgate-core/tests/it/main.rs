//! What the crate promises, through its public surface.

#![expect(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "a test that cannot go on fails"
)]

mod json;
mod judge;
mod limits;
mod policy;
mod rules;
mod schema;
mod support;
mod unit;
