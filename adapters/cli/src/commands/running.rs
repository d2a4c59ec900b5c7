//! A gate in this process: opened, served, reloaded, closed.

use std::net::SocketAddr;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use toolgate_axum::hands::SystemClock;
use toolgate_axum::logs;
use toolgate_axum::native::Native;
use toolgate_axum::native::Settings;
use toolgate_axum::server::Limits;
use toolgate_axum::server::Live;
use toolgate_axum::server::Server;
use toolgate_axum::server::Signals;
use toolgate_axum::sqlite::Durability;
use toolgate_core::id::OperatorName;
use toolgate_core::key::OperatorToken;
use toolgate_mcp::gateway::Gate;
use toolgate_mcp::store::Clock as _;
use toolgate_mcp::store::Operator;
use toolgate_mcp::store::Role;

use super::process;
use crate::failure::Failure;
use crate::words;

/// A gate that listens.
pub(crate) struct Running {
    native: Arc<Native>,
    live: Arc<Live>,
    server: Server,
    signals: Signals,
    process: process::Here,
}

impl Running {
    /// Listens. Who looks for this process finds the file that it serves by.
    pub(crate) async fn start(
        native: Arc<Native>,
        settings: &Settings,
        listen: SocketAddr,
        config: Option<&Path>,
    ) -> Result<Self, Failure> {
        let process = process::Here::write(native.folder(), config)?;
        let signals = Signals::listen()
            .map_err(|_| Failure::unreachable("signals cannot be listened for"))?;
        let live = native.live(settings).await;
        let live = live.map_err(|error| Failure::unreachable(error.to_string()))?;
        let live = Arc::new(live);
        let server = Server::bind(listen, Limits::default()).await;
        let server = server.map_err(|error| {
            let why = words::why(&error);
            Failure::unreachable(format!("{listen} cannot be listened on: {why}"))
        })?;
        Ok(Self {
            native,
            live,
            server,
            signals,
            process,
        })
    }

    pub(crate) fn url(&self) -> Result<String, Failure> {
        let address = self.server.address();
        let address =
            address.map_err(|_| Failure::unreachable("the listening address is not known"))?;
        Ok(format!("http://{address}"))
    }

    pub(crate) fn gate(&self) -> Gate {
        self.live.current().app.gate.clone()
    }

    /// Serves until the process is asked to end. `reload` answers what is to be served after a
    /// hang-up, or why what is served stays.
    pub(crate) async fn serve(
        self,
        reload: impl Fn() -> Result<Settings, Failure>,
    ) -> Result<(), Failure> {
        let Self {
            native,
            live,
            server,
            signals,
            process,
        } = self;
        let (mut hangups, end) = signals.split();
        let served = server.run(Arc::clone(&live), end);
        let mut served = std::pin::pin!(served);
        let sweeper = tokio::spawn(native.sweeper(Arc::clone(&live)));
        let drained = loop {
            tokio::select! {
                drained = &mut served => break drained,
                () = hangups.next() => {
                    let outcome = match reload() {
                        Ok(settings) => native
                            .replace(&live, &settings)
                            .await
                            .map_err(|error| Failure::refused(error.to_string())),
                        Err(why) => Err(why),
                    };
                    match &outcome {
                        Ok(()) => tracing::info!("the configuration is applied"),
                        Err(why) => {
                            let words = why.one_line();
                            tracing::warn!(why = words, "the configuration is not applied");
                        }
                    }
                    process.tell(&outcome);
                }
            }
        };
        sweeper.abort();
        native.close().await;
        drop(process);
        if !drained {
            tracing::warn!("connections were cut at the end");
        }
        Ok(())
    }
}

/// Opens the store of a data folder.
pub(crate) fn open(data: &Path, durability: Durability) -> Result<Native, Failure> {
    Native::open(data, durability).map_err(|error| words::unopened(data, &error))
}

/// An owner who is not stored.
pub(crate) fn owner(name: &str, token: &str) -> Result<Operator, Failure> {
    let name = OperatorName::new(name);
    let name = name.map_err(|error| Failure::usage(format!("the owner's name {error}")))?;
    let token = OperatorToken::presented(token)
        .ok_or_else(|| Failure::usage("the owner's token is not visible ASCII"))?;
    Ok(Operator {
        name,
        role: Role::Owner,
        token: token.hash(),
        created_at: SystemClock::start().now(),
    })
}

/// Starts logging at the level of the environment.
pub(crate) fn start_logs() -> Result<(), Failure> {
    let level = std::env::var(logs::LEVEL_VARIABLE).unwrap_or_else(|_| "info".to_owned());
    logs::start(&level).map_err(|error| Failure::usage(error.to_string()))
}

/// A new folder of this process alone.
pub(crate) fn temporary_folder() -> Result<PathBuf, Failure> {
    let failed = || Failure::unreachable("a temporary folder cannot be made");
    let mut word = [0; 8];
    getrandom::fill(&mut word).map_err(|_| failed())?;
    let word: String = word.iter().map(|byte| format!("{byte:02x}")).collect();
    let folder = std::env::temp_dir().join(format!("toolgate-demo-{word}"));
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(&folder).map_err(|_| failed())?;
    Ok(folder)
}
