//! What the operating system tells the process.

use std::io;

#[cfg(unix)]
use tokio::signal::unix::Signal;
#[cfg(unix)]
use tokio::signal::unix::SignalKind;
#[cfg(unix)]
use tokio::signal::unix::signal;

/// The wishes that reach a process as signals, from when this value was made on.
#[derive(Debug)]
pub struct Signals {
    #[cfg(unix)]
    terminate: Signal,
    #[cfg(unix)]
    interrupt: Signal,
    hangups: Hangups,
}

/// Wishes that the configuration be read again.
#[derive(Debug)]
pub struct Hangups(#[cfg(unix)] Signal);

impl Signals {
    /// Listens for the signals that end a process or have it read its configuration again.
    ///
    /// # Errors
    /// If the operating system does not allow it.
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            #[cfg(unix)]
            terminate: signal(SignalKind::terminate())?,
            #[cfg(unix)]
            interrupt: signal(SignalKind::interrupt())?,
            hangups: Hangups(
                #[cfg(unix)]
                signal(SignalKind::hangup())?,
            ),
        })
    }

    /// The wishes to read the configuration again, and a future that is ready once the process is
    /// asked to end.
    #[cfg(unix)]
    pub fn split(self) -> (Hangups, impl Future<Output = ()> + Send) {
        let Self {
            mut terminate,
            mut interrupt,
            hangups,
        } = self;
        let end = async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        };
        (hangups, end)
    }

    /// The wishes to read the configuration again, and a future that is ready once the process is
    /// asked to end.
    #[cfg(not(unix))]
    pub fn split(self) -> (Hangups, impl Future<Output = ()> + Send) {
        let end = async {
            tokio::signal::ctrl_c().await.ok();
        };
        (self.hangups, end)
    }
}

impl Hangups {
    /// Ready with the next wish; never, where there are no such signals.
    pub async fn next(&mut self) {
        #[cfg(unix)]
        let more = self.0.recv().await.is_some();
        #[cfg(not(unix))]
        let more = false;
        if !more {
            std::future::pending::<()>().await;
        }
    }
}
