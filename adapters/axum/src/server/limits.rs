//! How much a client may ask of the server.

use std::time::Duration;

/// Bounds of everything that a client can make long, large or many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The largest body, in bytes.
    pub body: usize,
    /// How long a body may take to arrive.
    pub body_time: Duration,
    /// Connections at once. A further one takes the place of the one least worth keeping: first one
    /// that nobody known has used, then an idle one, last one whose request is being answered.
    pub connections: usize,
    /// How long what is under way may take to end once the server stops.
    pub drain: Duration,
    /// The most bytes of a request line with its headers.
    pub header_bytes: usize,
    /// The most headers.
    pub header_count: usize,
    /// How long headers may take to arrive, and how long a connection may stay idle.
    pub header_time: Duration,
    /// How long an answer may take.
    pub request_time: Duration,
    /// How long the server pauses when the operating system accepts no connection.
    pub accept_pause: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 1024 * 1024,
            body_time: Duration::from_secs(20),
            connections: 256,
            drain: Duration::from_secs(8),
            header_bytes: 32 * 1024,
            header_count: 64,
            header_time: Duration::from_secs(10),
            request_time: Duration::from_secs(90),
            accept_pause: Duration::from_millis(50),
        }
    }
}
