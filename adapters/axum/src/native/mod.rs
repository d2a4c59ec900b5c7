//! A gate on one machine, put together: store, sources of tools, server.
//!
//! ```
//! use toolgate_axum::hands::SystemClock;
//! use toolgate_axum::native::{Connector, Native, Settings};
//! use toolgate_axum::sqlite::Durability;
//! use toolgate_core::key::OperatorToken;
//! use toolgate_mcp::store::{Clock, Operator, Role};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path();
//! let native = Native::open(folder, Durability::Strict)?;
//! let token = OperatorToken::from_entropy([7; 20]);
//! let mut settings = Settings::new(Operator {
//!     name: "ana".parse()?,
//!     role: Role::Owner,
//!     token: token.hash(),
//!     created_at: SystemClock::start().now(),
//! });
//! settings.connectors = vec![Connector::Desk];
//! let live = native.live(&settings).await?;
//! assert!(live.current().app.gate.catalog().find("tickets_list").is_some());
//! native.close().await;
//! # Ok(())
//! # }
//! ```

mod connector;
mod copies;
mod demo;
mod settings;
mod sources;

use std::fmt;
use std::future::Future;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use toolgate_http::App;
use toolgate_mcp::gateway::Deadlines;
use toolgate_mcp::gateway::Gate;
use toolgate_mcp::gateway::INSTRUCTIONS;
use toolgate_mcp::gateway::Parts;
use toolgate_mcp::wire::Face;

pub use connector::Connector;
pub use copies::CopyError;
pub use copies::RestoreError;
pub use copies::Restored;
pub use copies::backup;
pub use copies::restore;
pub use demo::DemoError;
pub use demo::DemoSeed;
pub use demo::is_demo;
pub use demo::mark_demo;
pub use settings::Settings;
pub use sources::ConnectorError;
pub use sources::catalog;

use crate::hands::OsEntropy;
use crate::hands::SystemClock;
use crate::hands::TokioSpawn;
use crate::hands::TokioTimer;
use crate::metrics::Metrics;
use crate::server::Live;
use crate::server::Serving;
use crate::sqlite::Durability;
use crate::sqlite::OpenError;
use crate::sqlite::SqliteStore;
use sources::Sources;

/// How often what is overdue is closed.
const SWEEP: Duration = Duration::from_secs(1);
/// How long calls that were made may take to be written down once the server has stopped.
const LAST_CALLS: Duration = Duration::from_millis(1_500);

/// The store of a data folder, and what a gate over it is made of.
pub struct Native {
    store: Arc<SqliteStore>,
    sources: Sources,
    metrics: Arc<Metrics>,
    spawn: TokioSpawn,
    timer: TokioTimer,
    folder: PathBuf,
}

impl fmt::Debug for Native {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Native")
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

impl Native {
    /// Opens the store of a data folder, for a runtime that is entered.
    ///
    /// # Errors
    /// [`OpenError`] if another process has it, or it cannot be read.
    pub fn open(folder: &Path, durability: Durability) -> Result<Self, OpenError> {
        let clock = Arc::new(SystemClock::start());
        let store = Arc::new(SqliteStore::open(folder, durability, clock)?);
        let sources = Sources::open(Arc::clone(&store), folder)?;
        Ok(Self {
            store,
            sources,
            metrics: Arc::new(Metrics::new()),
            spawn: TokioSpawn::new(Handle::current()),
            timer: TokioTimer::start(),
            folder: folder.to_owned(),
        })
    }

    /// The data folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A gate with its routes, as these settings want it.
    ///
    /// # Errors
    /// [`ConnectorError`] if a connector cannot be used on this machine.
    pub async fn live(&self, settings: &Settings) -> Result<Live, ConnectorError> {
        let serving = self.serving(settings).await?;
        Ok(Live::new(serving, Arc::clone(&self.metrics)))
    }

    /// Serves by other settings from now on. Calls that are under way end with what they began
    /// with.
    ///
    /// # Errors
    /// [`ConnectorError`] if a connector cannot be used on this machine; then nothing changes.
    pub async fn replace(&self, live: &Live, settings: &Settings) -> Result<(), ConnectorError> {
        live.replace(self.serving(settings).await?);
        Ok(())
    }

    async fn serving(&self, settings: &Settings) -> Result<Serving, ConnectorError> {
        let gate = Gate::new(Parts {
            ledger: Arc::clone(&self.store) as _,
            directory: Arc::clone(&self.store) as _,
            upstreams: self
                .sources
                .named(&settings.connectors, settings.insecure)?,
            spawn: Arc::new(self.spawn.clone()),
            timer: Arc::new(self.timer),
            entropy: Arc::new(OsEntropy),
            watch: Arc::clone(&self.metrics) as _,
            deadlines: Deadlines::default(),
            unstored_owners: 1,
        });
        let report = gate.refresh().await;
        tracing::info!(
            offered = report.offered,
            left_out = report.left_out.len(),
            truncated = report.truncated.len(),
            unavailable = report.unavailable.len(),
            "the tools are known"
        );
        let face = Face::new("toolgate", env!("CARGO_PKG_VERSION")).instructions(INSTRUCTIONS);
        Ok(Serving {
            app: App {
                gate,
                face,
                hosts: settings.hosts(),
                owners: vec![settings.owner.clone()],
                seed: settings.seed.clone(),
                health: Arc::clone(&self.store) as _,
                insecure: settings.insecure,
            },
            access: settings.access.clone(),
        })
    }

    /// Closes what is overdue, for as long as it is polled.
    pub fn sweeper(&self, live: Arc<Live>) -> impl Future<Output = ()> + Send + use<> {
        async move {
            let mut failing = false;
            let mut ticks = tokio::time::interval(SWEEP);
            ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                let gate = live.current().app.gate.clone();
                let failed = gate.sweep().await.is_err();
                if failed && !failing {
                    tracing::error!("what is overdue cannot be closed");
                }
                failing = failed;
            }
        }
    }

    /// Lets calls that were made be written down, then closes the store.
    pub async fn close(&self) {
        if tokio::time::timeout(LAST_CALLS, self.spawn.idle())
            .await
            .is_err()
        {
            tracing::warn!("calls were under way at the end; their outcome will be unknown");
        }
        let store = Arc::clone(&self.store);
        if tokio::task::spawn_blocking(move || store.close())
            .await
            .is_err()
        {
            tracing::error!("the store did not close");
        }
    }
}
