//! Runs the suites.
fn main() {}
