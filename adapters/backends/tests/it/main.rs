//! What the built-in tools do, called as the gate calls them.

#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

mod desk;
mod files;
mod flags;
mod host;
mod seed;
mod stores;
mod tools;
mod web;
