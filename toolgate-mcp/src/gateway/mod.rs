//! Drives a call through the gate: key, kill switch, view, argument rules, limits, approval, tool,
//! filter, audit, fence, agent.
//!
//! The order is held by types. A call is *received*, becomes *cleared* only by the unit's answer,
//! *ran*, *filtered*, and *recorded* only by the audit's append; nothing but a recorded result is
//! ever disclosed. This module is the only place where that order meets I/O.

mod answer;
mod call;
mod caller;
mod decide;
mod definition;
mod disclose;
mod known;
mod leaving;
mod operate;
mod outcome;
mod quote;
mod run;
mod stage;
mod verify;
mod view;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use toolgate_core::catalog::Catalog;
use toolgate_core::id::CallId;
use toolgate_core::id::UpstreamId;

pub use answer::Reply;
pub use call::CallRequest;
pub use caller::Caller;
pub use caller::Unauthenticated;
pub use decide::DecideError;
pub use decide::Decided;
pub use known::CatalogReport;
pub use operate::Checked;
pub use operate::Created;
pub use operate::NewKey;
pub use operate::OperateError;
pub use outcome::OUTCOME_TOOL;
pub use verify::Verification;
pub use verify::verify;
pub use view::INSTRUCTIONS;

use crate::ports::Entropy;
use crate::ports::EntropyError;
use crate::ports::Spawn;
use crate::ports::Timer;
use crate::ports::Watch;
use crate::store::Directory;
use crate::store::Ledger;
use crate::upstream::Upstream;

/// How long things may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Deadlines {
    /// The longest that a tool may take.
    pub call: Duration,
    /// The longest that a source may take to list its tools.
    pub list: Duration,
    /// How long a caller waits for an approved call that is being made, before it is told to come
    /// back. A person is never waited for.
    pub wait: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            call: Duration::from_secs(30),
            list: Duration::from_secs(30),
            wait: Duration::from_secs(30),
        }
    }
}

impl Deadlines {
    /// A lease: the longest call and ten seconds to write its outcome down.
    fn lease_ms(self) -> i64 {
        i64::try_from(self.call.as_millis())
            .unwrap_or(i64::MAX / 4)
            .saturating_add(10_000)
    }
}

/// What a gate is made of.
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "a host states every part")]
pub struct Parts {
    /// Keeps the units.
    pub ledger: Arc<dyn Ledger>,
    /// Finds them.
    pub directory: Arc<dyn Directory>,
    /// The sources of tools.
    pub upstreams: Vec<Arc<dyn Upstream>>,
    /// Runs tasks.
    pub spawn: Arc<dyn Spawn>,
    /// Waits and measures.
    pub timer: Arc<dyn Timer>,
    /// Gives entropy.
    pub entropy: Arc<dyn Entropy>,
    /// Counts.
    pub watch: Arc<dyn Watch>,
    /// How long things may take.
    pub deadlines: Deadlines,
    /// Owners that the directory does not hold, such as one from the environment.
    pub unstored_owners: usize,
}

struct Inner {
    ledger: Arc<dyn Ledger>,
    directory: Arc<dyn Directory>,
    upstreams: BTreeMap<UpstreamId, Arc<dyn Upstream>>,
    spawn: Arc<dyn Spawn>,
    timer: Arc<dyn Timer>,
    entropy: Arc<dyn Entropy>,
    watch: Arc<dyn Watch>,
    deadlines: Deadlines,
    unstored_owners: usize,
    known: known::Known,
    leaving: leaving::Leaving,
}

/// The gate. Cheap to clone; all clones are one gate.
///
/// A host states its parts, asks for the tools once, and takes calls through it:
///
/// ```
/// use std::sync::Arc;
/// use serde_json::json;
/// use toolgate_mcp::gateway::{CallRequest, Deadlines, Gate, Parts, Reply};
/// use toolgate_mcp::ports::Unwatched;
/// use toolgate_mcp::store::memory::MemoryStore;
/// # use std::time::Duration;
/// # use toolgate_core::catalog::{Provenance, Source, Trust};
/// # use toolgate_core::time::Timestamp;
/// # use toolgate_mcp::ports::{Entropy, EntropyError, Spawn, Task, Timer};
/// # use toolgate_mcp::store::Clock;
/// # use toolgate_mcp::upstream::{Listing, ToolCall, Upstream, UpstreamError};
/// # #[derive(Debug)]
/// # struct Hands;
/// # impl Spawn for Hands {
/// #     fn spawn(&self, task: Task) { tokio::spawn(task); }
/// # }
/// # impl Timer for Hands {
/// #     fn elapsed(&self) -> Duration { Duration::ZERO }
/// #     fn sleep(&self, time: Duration) -> Task { Box::pin(tokio::time::sleep(time)) }
/// # }
/// # impl Entropy for Hands {
/// #     fn fill(&self, bytes: &mut [u8]) -> Result<(), EntropyError> { bytes.fill(7); Ok(()) }
/// # }
/// # impl Clock for Hands {
/// #     fn now(&self) -> Timestamp { Timestamp::from_millis(1_767_225_600_000) }
/// # }
/// # #[derive(Debug)]
/// # struct Greeter;
/// # #[async_trait::async_trait]
/// # impl Upstream for Greeter {
/// #     fn source(&self) -> Source {
/// #         Source {
/// #             id: "greeter".parse().unwrap(),
/// #             provenance: Provenance::Builtin,
/// #             trust: Trust::Vetted,
/// #         }
/// #     }
/// #     async fn tools(&self) -> Result<Listing, UpstreamError> {
/// #         let greet = json!({
/// #             "name": "greet",
/// #             "inputSchema": {"type": "object"},
/// #             "annotations": {"readOnlyHint": true},
/// #         });
/// #         Ok(Listing { definitions: vec![greet.to_string()], truncated: false })
/// #     }
/// #     async fn call(&self, _: ToolCall) -> Result<serde_json::Value, UpstreamError> {
/// #         Ok(json!({"content": [{"type": "text", "text": "hello"}]}))
/// #     }
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
///
/// let store = Arc::new(MemoryStore::new(Arc::new(Hands)));
/// let gate = Gate::new(Parts {
///     ledger: store.clone(),
///     directory: store,
///     upstreams: vec![Arc::new(Greeter)],
///     spawn: Arc::new(Hands),
///     timer: Arc::new(Hands),
///     entropy: Arc::new(Hands),
///     watch: Arc::new(Unwatched),
///     deadlines: Deadlines::default(),
///     unstored_owners: 1,
/// });
/// assert_eq!(gate.refresh().await.offered, 1);
///
/// let ann = "ann".parse()?;
/// let policy = json!({"tools": {"greet": {}}}).to_string();
/// let bot = gate.create_principal(&"bot".parse()?, Some(&policy), None, None, &ann).await?;
/// let key = gate.create_key(&bot.id, None, &ann).await?;
///
/// let caller = gate.authenticate(key.key.reveal()).await?;
/// let request = CallRequest { name: "greet".to_owned(), ..CallRequest::default() };
/// let Reply::Result(result) = gate.call(&caller, &request).await else { panic!() };
/// let text = result["content"][0]["text"].as_str().unwrap();
/// assert!(text.contains("<tool_output trust=\"untrusted\"") && text.contains("hello"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Gate(Arc<Inner>);

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate")
            .field("upstreams", &self.0.upstreams.keys())
            .finish_non_exhaustive()
    }
}

impl Gate {
    /// A gate before these sources. It knows no tool until [`Gate::refresh`].
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        Self(Arc::new(Inner {
            ledger: parts.ledger,
            directory: parts.directory,
            upstreams: parts
                .upstreams
                .into_iter()
                .map(|u| (u.source().id, u))
                .collect(),
            spawn: parts.spawn,
            timer: parts.timer,
            entropy: parts.entropy,
            watch: parts.watch,
            deadlines: parts.deadlines,
            unstored_owners: parts.unstored_owners,
            known: known::Known::default(),
            leaving: leaving::Leaving::default(),
        }))
    }

    /// The store that keeps the units.
    #[must_use]
    pub fn ledger(&self) -> &Arc<dyn Ledger> {
        &self.0.ledger
    }

    /// The store that finds them.
    #[must_use]
    pub fn directory(&self) -> &Arc<dyn Directory> {
        &self.0.directory
    }

    /// The tools that exist right now.
    #[must_use]
    pub fn catalog(&self) -> Arc<Catalog> {
        self.0.known.catalog()
    }

    fn entropy<const N: usize>(&self) -> Result<[u8; N], EntropyError> {
        let mut bytes = [0; N];
        self.0.entropy.fill(&mut bytes)?;
        Ok(bytes)
    }

    fn word<const N: usize>(&self, prefix: &str) -> Result<String, EntropyError> {
        let bytes = self.entropy::<N>()?;
        Ok(format!(
            "{prefix}{}",
            data_encoding::HEXLOWER.encode(&bytes)
        ))
    }

    fn call_id(&self) -> Result<CallId, EntropyError> {
        CallId::new(self.word::<16>("c_")?).map_err(|_| EntropyError)
    }
}
