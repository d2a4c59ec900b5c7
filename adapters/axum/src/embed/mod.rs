//! The gate before an MCP server of the same program.
//!
//! A server written with the `rmcp` SDK goes in, the gate comes out, and serves it over standard
//! input and output or over HTTP. Every tool that a policy grants is called through the whole path:
//! policy, limits, approval, filter, audit, fence. What an operator approves is called at once,
//! whether or not the agent is there.
//!
//! ```no_run
//! use rmcp::ServerHandler;
//! use toolgate_axum::embed::Embedding;
//!
//! #[derive(Clone)]
//! struct Notes;
//!
//! impl ServerHandler for Notes {}
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let gate = Embedding::memory().server("notes", Notes)?.open().await?;
//! let agent = gate.agent("assistant", r#"{"upstreams": {"notes": {"allow": "all"}}}"#).await?;
//! gate.stdio(&agent).await?;
//! # Ok(())
//! # }
//! ```

mod error;
mod lines;

use std::fmt;
use std::net::SocketAddr;
#[cfg(feature = "sqlite")]
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use toolgate_audit::Entry;
use toolgate_core::approval::Approval;
use toolgate_core::approval::ApprovalId;
use toolgate_core::approval::Status;
use toolgate_core::id::OperatorName;
use toolgate_core::id::PrincipalId;
use toolgate_core::key::AgentKey;
use toolgate_core::key::OperatorToken;
use toolgate_http::App;
use toolgate_http::Health;
use toolgate_mcp::gateway::Caller;
use toolgate_mcp::gateway::Deadlines;
use toolgate_mcp::gateway::Gate;
use toolgate_mcp::gateway::INSTRUCTIONS;
use toolgate_mcp::gateway::Parts;
use toolgate_mcp::gateway::Verification;
use toolgate_mcp::ports::Unwatched;
use toolgate_mcp::rmcp::ServerHandler;
use toolgate_mcp::store::ApprovalQuery;
use toolgate_mcp::store::Clock;
use toolgate_mcp::store::Directory;
use toolgate_mcp::store::EntryQuery;
use toolgate_mcp::store::Ledger;
use toolgate_mcp::store::Operator;
use toolgate_mcp::store::Role;
use toolgate_mcp::store::memory::MemoryStore;
use toolgate_mcp::upstream::InProcess;
use toolgate_mcp::upstream::Upstream;
use toolgate_mcp::wire::Face;
use toolgate_mcp::wire::HostRules;

pub use error::EmbedError;

use crate::hands::OsEntropy;
use crate::hands::SystemClock;
use crate::hands::TokioSpawn;
use crate::hands::TokioTimer;
use crate::metrics::Metrics;
use crate::server::Limits;
use crate::server::Live;
use crate::server::MetricsAccess;
use crate::server::Server;
use crate::server::Serving;

/// How often what is overdue is closed.
const SWEEP: Duration = Duration::from_secs(1);
/// How long calls that were made may take to be written down at the end.
const LAST_CALLS: Duration = Duration::from_secs(5);
/// Who does what the program itself asks for.
const HOST: &str = "host";

/// A gate in the making.
#[derive(Debug)]
pub struct Embedding {
    ledger: Arc<dyn Ledger>,
    directory: Arc<dyn Directory>,
    health: Arc<dyn Health>,
    upstreams: Vec<Arc<dyn Upstream>>,
    owners: Vec<Operator>,
    face: Face,
    deadlines: Deadlines,
}

/// A store in memory cannot fail.
#[derive(Debug)]
struct Always;

impl Health for Always {
    fn is_ready(&self) -> bool {
        true
    }
}

impl Embedding {
    /// A gate that keeps everything in memory: approvals, limits and the audit end with the program.
    #[must_use]
    pub fn memory() -> Self {
        let store = Arc::new(MemoryStore::new(Arc::new(SystemClock::start())));
        Self::over(store.clone(), store, Arc::new(Always))
    }

    /// A gate that keeps everything in a folder, which is made if it is not there. One process has
    /// it at a time.
    ///
    /// # Errors
    /// [`EmbedError::Folder`] if another process has it, or it cannot be used.
    #[cfg(feature = "sqlite")]
    pub fn sqlite(folder: impl AsRef<Path>) -> Result<Self, EmbedError> {
        let clock = Arc::new(SystemClock::start());
        let durability = crate::sqlite::Durability::Strict;
        let folder = folder.as_ref();
        let store = crate::sqlite::SqliteStore::open(folder, durability, clock);
        let store = store.map_err(|why| EmbedError::Folder(folder.to_owned(), Box::new(why)))?;
        let store = Arc::new(store);
        Ok(Self::over(store.clone(), store.clone(), store))
    }

    /// A gate over a store of one's own.
    #[must_use]
    pub fn over(
        ledger: Arc<dyn Ledger>,
        directory: Arc<dyn Directory>,
        health: Arc<dyn Health>,
    ) -> Self {
        let face = Face::new("toolgate", env!("CARGO_PKG_VERSION"));
        Self {
            ledger,
            directory,
            health,
            upstreams: Vec::new(),
            owners: Vec::new(),
            face: face.instructions(INSTRUCTIONS),
            deadlines: Deadlines::default(),
        }
    }

    /// Puts the gate before a server. Its tools keep their names.
    ///
    /// # Errors
    /// [`EmbedError::Name`] if that is no id of a source, or is taken.
    pub fn server<S: ServerHandler>(self, id: &str, server: S) -> Result<Self, EmbedError> {
        let upstream = InProcess::new(id, server).map_err(|rule| EmbedError::name(id, rule))?;
        self.upstream(Arc::new(upstream))
    }

    /// Puts the gate before another source of tools.
    ///
    /// # Errors
    /// [`EmbedError::Name`] if its id is taken.
    pub fn upstream(mut self, upstream: Arc<dyn Upstream>) -> Result<Self, EmbedError> {
        let id = upstream.source().id;
        if self.upstreams.iter().any(|known| known.source().id == id) {
            return Err(EmbedError::name(id.as_str(), "is the id of another source"));
        }
        self.upstreams.push(upstream);
        Ok(self)
    }

    /// Opens the admin API of [`Embedded::http`] to an owner with this token. Without one it is
    /// closed, and requests are decided by [`Embedded::decide`] alone.
    ///
    /// # Errors
    /// [`EmbedError::Name`] if it is no name of an operator, or the token has fewer than 24
    /// characters or others than letters, digits and `-._~+/=`.
    pub fn owner(mut self, name: &str, token: &str) -> Result<Self, EmbedError> {
        let owner = operator(name)?;
        let token = OperatorToken::chosen(token).ok_or_else(|| {
            let rule = "needs a token of 24 or more letters, digits and `-._~+/=`";
            EmbedError::name(name, rule)
        })?;
        self.owners.push(Operator {
            name: owner,
            role: Role::Owner,
            token: token.hash(),
            created_at: SystemClock::start().now(),
        });
        Ok(self)
    }

    /// How long things may take.
    #[must_use]
    pub fn deadlines(mut self, deadlines: Deadlines) -> Self {
        self.deadlines = deadlines;
        self
    }

    /// Starts the servers, learns their tools, and begins to close what is overdue.
    ///
    /// # Errors
    /// [`EmbedError::Unavailable`] if a server does not say which tools it has, [`EmbedError::Name`]
    /// if two tools have one name.
    pub async fn open(self) -> Result<Embedded, EmbedError> {
        let spawn = TokioSpawn::new(Handle::current());
        let gate = Gate::new(Parts {
            ledger: self.ledger,
            directory: self.directory,
            upstreams: self.upstreams,
            spawn: Arc::new(spawn.clone()),
            timer: Arc::new(TokioTimer::start()),
            entropy: Arc::new(OsEntropy),
            watch: Arc::new(Unwatched),
            deadlines: self.deadlines,
            unstored_owners: self.owners.len(),
        });
        let report = gate.refresh().await;
        if let Some(id) = report.unavailable.first() {
            return Err(EmbedError::Unavailable(id.clone()));
        }
        if let Some(name) = gate.catalog().collided().first() {
            return Err(EmbedError::name(name.as_str(), "is the name of two tools"));
        }
        Ok(Embedded {
            sweeper: tokio::spawn(sweep(gate.clone())),
            gate,
            spawn,
            face: self.face,
            owners: self.owners,
            health: self.health,
        })
    }
}

async fn sweep(gate: Gate) {
    let mut ticks = tokio::time::interval(SWEEP);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if gate.sweep().await.is_err() {
            tracing::error!("what is overdue cannot be closed");
        }
    }
}

fn operator(name: &str) -> Result<OperatorName, EmbedError> {
    name.parse().map_err(|rule| EmbedError::name(name, rule))
}

/// A gate before the servers of this program. It sweeps for as long as it lives.
pub struct Embedded {
    gate: Gate,
    spawn: TokioSpawn,
    face: Face,
    owners: Vec<Operator>,
    health: Arc<dyn Health>,
    sweeper: JoinHandle<()>,
}

impl fmt::Debug for Embedded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Embedded")
            .field("gate", &self.gate)
            .finish_non_exhaustive()
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        self.sweeper.abort();
    }
}

impl Embedded {
    /// The gate: to decide requests, switch agents off, read the audit.
    #[must_use]
    pub const fn gate(&self) -> &Gate {
        &self.gate
    }

    /// The agent of that name under this policy, in JSON: made, or put under it from now on.
    ///
    /// # Errors
    /// [`EmbedError::Policy`] with everything that is wrong with it; the one in force stays.
    pub async fn agent(&self, name: &str, policy: &str) -> Result<PrincipalId, EmbedError> {
        let by = operator(HOST)?;
        let wrong = |rule| EmbedError::name(name, rule);
        let agent = name.parse().map_err(wrong)?;
        let known = self.gate.directory().principal_of_name(&agent).await;
        let known = known.map_err(EmbedError::store)?;
        let head = match &known {
            Some(id) => self
                .gate
                .ledger()
                .head(id)
                .await
                .map_err(EmbedError::store)?,
            None => None,
        };
        match known.filter(|_| head.is_some()) {
            Some(id) => {
                let in_force = self.gate.ledger().policy(&id).await;
                let in_force = in_force.map_err(EmbedError::store)?;
                if in_force.is_none_or(|(_, text)| text != policy) {
                    self.gate.set_policy(&id, policy, None, &by).await?;
                }
                Ok(id)
            }
            None => {
                let made = self
                    .gate
                    .create_principal(&agent, Some(policy), None, None, &by);
                Ok(made.await?.id)
            }
        }
    }

    /// What waits for a person, newest first, at most 500.
    ///
    /// # Errors
    /// [`EmbedError::Store`] if the store does not answer.
    pub async fn pending(&self) -> Result<Vec<Approval>, EmbedError> {
        let query = ApprovalQuery {
            principal: None,
            status: Some(Status::Pending),
            before: None,
            limit: 500,
        };
        let found = self.gate.ledger().approvals(&query).await;
        let found = found.map_err(EmbedError::store)?;
        Ok(found.into_iter().map(|(_, approval)| approval).collect())
    }

    /// Answers a request in a person's name. A yes makes the call at once, and this waits for its
    /// outcome; others can be answered meanwhile.
    ///
    /// # Errors
    /// [`EmbedError::Decide`] if it was decided before or is none of this gate.
    pub async fn decide(
        &self,
        id: &ApprovalId,
        approved: bool,
        by: &str,
    ) -> Result<Approval, EmbedError> {
        let by = operator(by)?;
        let decided = self.gate.decide(id, approved, &by, None).await?;
        Ok(decided.approval)
    }

    /// Whether an agent has a key that is good now.
    ///
    /// # Errors
    /// [`EmbedError::Store`] if the store does not answer.
    pub async fn has_key(&self, agent: &PrincipalId) -> Result<bool, EmbedError> {
        let ledger = self.gate.ledger();
        let head = ledger.head(agent).await.map_err(EmbedError::store)?;
        let now = ledger.now();
        Ok(head.is_some_and(|head| head.keys.iter().any(|key| key.is_good(now))))
    }

    /// The latest entries of the audit, of all agents, newest first.
    ///
    /// # Errors
    /// [`EmbedError::Store`] if the store does not answer, or an entry cannot be read; then
    /// [`verify`](Self::verify) says which.
    pub async fn audit(&self, limit: usize) -> Result<Vec<Entry>, EmbedError> {
        let query = EntryQuery {
            chain: None,
            before: None,
            limit,
        };
        let found = self.gate.ledger().entries(&query).await;
        let found = found.map_err(EmbedError::store)?;
        let entries = found.iter().map(|row| toolgate_audit::decode(&row.bytes));
        let entries: Result<_, _> = entries.collect();
        entries.map_err(EmbedError::store)
    }

    /// Checks every chain of the audit.
    ///
    /// # Errors
    /// [`EmbedError::Store`] if the store does not answer.
    pub async fn verify(&self) -> Result<Verification, EmbedError> {
        self.gate.verify().await.map_err(EmbedError::store)
    }

    /// Makes a new key of an agent, for [`Embedded::http`]; it is shown this once, and older ones
    /// stay good.
    ///
    /// # Errors
    /// [`EmbedError`] if there is no such agent, or the store does not answer.
    pub async fn new_key(&self, agent: &PrincipalId) -> Result<AgentKey, EmbedError> {
        let by = operator(HOST)?;
        Ok(self.gate.create_key(agent, None, &by).await?.key)
    }

    /// Serves an agent over standard input and output until the input ends. What is logged must go
    /// to standard error.
    ///
    /// # Errors
    /// If standard input or output fails.
    pub async fn stdio(&self, agent: &PrincipalId) -> std::io::Result<()> {
        let input = tokio::io::BufReader::new(tokio::io::stdin());
        self.lines(agent, input, tokio::io::stdout()).await
    }

    /// Serves an agent over these, one message a line, until the input ends.
    ///
    /// # Errors
    /// If one of them fails.
    pub async fn lines<R, W>(&self, agent: &PrincipalId, input: R, output: W) -> std::io::Result<()>
    where
        R: tokio::io::AsyncBufRead + Unpin + Send,
        W: tokio::io::AsyncWrite + Unpin + Send + 'static,
    {
        let caller = Caller::vouched_by_host(agent.clone());
        let served = lines::serve(&self.gate, &self.face, &caller, input, output).await;
        self.settle().await;
        served
    }

    /// Serves agents by their keys, and owners by their tokens, on that address until Ctrl-C.
    ///
    /// # Errors
    /// If the address cannot be listened on.
    pub async fn http(&self, address: SocketAddr) -> std::io::Result<()> {
        let server = Server::bind(address, Limits::default()).await?;
        let serving = Serving {
            app: self.app(),
            access: MetricsAccess::Nobody,
        };
        let live = Arc::new(Live::new(serving, Arc::new(Metrics::new())));
        let stop = async {
            tokio::signal::ctrl_c().await.ok();
        };
        server.run(live, stop).await;
        self.settle().await;
        Ok(())
    }

    /// The MCP endpoint and the admin API, for an HTTP server of one's own
    /// ([`router`](crate::server::router)). They are reached under names of this machine; add the
    /// public one to `hosts`.
    #[must_use]
    pub fn app(&self) -> App {
        App {
            gate: self.gate.clone(),
            face: self.face.clone(),
            hosts: HostRules::loopback(),
            owners: self.owners.clone(),
            seed: None,
            health: Arc::clone(&self.health),
            insecure: false,
        }
    }

    /// Lets calls that were made be written down.
    async fn settle(&self) {
        let idle = tokio::time::timeout(LAST_CALLS, self.spawn.idle()).await;
        if idle.is_err() {
            tracing::warn!("calls were under way at the end; their outcome will be unknown");
        }
    }
}
