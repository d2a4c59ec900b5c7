//! The native server: HTTP/1.1 in front of [`toolgate_http::handle`], within limits.

mod connection;
mod limits;
mod metrics;
mod places;
mod signals;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::PoisonError;
use std::sync::RwLock;

use bytes::Bytes;
use http::Request;
use http::Response;
use tokio::net::TcpListener;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinSet;
use toolgate_http::App;

pub use limits::Limits;
pub use metrics::MetricsAccess;
pub use signals::Hangups;
pub use signals::Signals;

use crate::metrics::Metrics;
use places::Places;

/// What is served right now; it can be replaced while the server runs.
#[derive(Debug)]
pub struct Live {
    current: RwLock<Arc<Serving>>,
    metrics: Arc<Metrics>,
}

/// A gate and who may read its figures.
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "a host states every part")]
pub struct Serving {
    /// The gate with its routes.
    pub app: App,
    /// Who may read the figures.
    pub access: MetricsAccess,
}

impl Live {
    /// Serves this from now on.
    #[must_use]
    pub fn new(serving: Serving, metrics: Arc<Metrics>) -> Self {
        Self {
            current: RwLock::new(Arc::new(serving)),
            metrics,
        }
    }

    /// What is served right now.
    #[must_use]
    pub fn current(&self) -> Arc<Serving> {
        // The value is replaced whole, so a writer that panicked left a good one behind.
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&current)
    }

    /// Serves this instead. Requests that are under way end with what they began with.
    pub fn replace(&self, serving: Serving) {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(serving);
    }

    /// Answers one request of that peer.
    pub async fn answer(&self, peer: SocketAddr, request: Request<Bytes>) -> Response<Bytes> {
        let serving = self.current();
        if request.uri().path() == "/metrics" {
            return metrics::answer(&serving, &self.metrics, peer, &request).await;
        }
        toolgate_http::handle(&serving.app, request).await
    }
}

/// A listening server.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    limits: Limits,
}

impl Server {
    /// Listens on that address.
    ///
    /// # Errors
    /// If the address cannot be listened on.
    pub async fn bind(address: SocketAddr, limits: Limits) -> io::Result<Self> {
        Ok(Self {
            listener: TcpListener::bind(address).await?,
            limits,
        })
    }

    /// The address that it listens on, with the port that it was given.
    ///
    /// # Errors
    /// If the operating system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `stop` is ready, then lets what is under way end, for as long as the limits
    /// allow. Answers whether everything ended in time.
    pub async fn run(self, live: Arc<Live>, stop: impl Future<Output = ()>) -> bool {
        let places = Places::new(self.limits.connections);
        let mut served = JoinSet::new();
        let (stopping, stopped) = watch::channel(false);
        let mut stop = std::pin::pin!(stop);
        loop {
            let accepted = tokio::select! {
                biased;
                () = &mut stop => break,
                accepted = accept(&self.listener) => accepted,
            };
            while served.try_join_next().is_some() {}
            let Some((stream, peer)) = accepted else {
                tokio::time::sleep(self.limits.accept_pause).await;
                continue;
            };
            let live = Arc::clone(&live);
            let answer = move |request| {
                let live = Arc::clone(&live);
                async move { live.answer(peer, request).await }
            };
            let (place, stopped) = (places.enter(), stopped.clone());
            served.spawn(connection::serve(
                stream,
                self.limits,
                answer,
                place,
                stopped,
            ));
        }
        drop(self.listener);
        stopping.send_replace(true);
        let all = async { while served.join_next().await.is_some() {} };
        tokio::time::timeout(self.limits.drain, all).await.is_ok()
    }
}

/// The next connection; nothing if the system has no room.
async fn accept(listener: &TcpListener) -> Option<(TcpStream, SocketAddr)> {
    match listener.accept().await {
        Ok((stream, peer)) => {
            stream.set_nodelay(true).ok();
            Some((stream, peer))
        }
        Err(error) => {
            tracing::warn!(kind = ?error.kind(), "a connection could not be accepted");
            None
        }
    }
}

/// The gate's routes for a host that has an axum server of its own, with that server's limits and
/// this body limit. It serves no figures.
pub fn router(app: App, limits: Limits) -> axum::Router {
    let app = Arc::new(app);
    axum::Router::new().fallback(move |request: Request<axum::body::Body>| {
        let app = Arc::clone(&app);
        async move {
            let answer = move |request| async move { toolgate_http::handle(&app, request).await };
            let response = connection::whole(request, limits, answer).await;
            response.map(axum::body::Body::from)
        }
    })
}
