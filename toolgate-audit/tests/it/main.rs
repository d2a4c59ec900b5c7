//! What the crate promises, through its public surface.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod format;
mod properties;
mod support;
mod tamper;
