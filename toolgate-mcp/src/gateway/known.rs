//! What the gate keeps in memory: the catalog, and policies compiled against it, by version.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::RwLock;

use futures_channel::oneshot;
use futures_util::future::Either;
use futures_util::future::join_all;
use futures_util::future::select;
use serde::Serialize;
use serde_json::Map;
use serde_json::Value;
use toolgate_core::catalog::Catalog;
use toolgate_core::catalog::DefinitionError;
use toolgate_core::catalog::Source;
use toolgate_core::catalog::Tool;
use toolgate_core::digest::Digest;
use toolgate_core::id::PrincipalId;
use toolgate_core::id::UpstreamId;
use toolgate_core::policy;
use toolgate_core::policy::Policy;
use toolgate_core::schema;
use toolgate_core::schema::ArgumentSchema;
use toolgate_filter::Settings;

use super::Gate;
use super::definition::screened;
use crate::store::StoreError;
use crate::store::StoreErrorKind;
use crate::upstream::Listing;
use crate::upstream::Upstream;

/// The most compiled policies kept at once.
const MOST_POLICIES: usize = 10_000;
/// The most work that the input schemas of one source may be, in visits: fifty for each of as many
/// tools as it may have. A schema of a kilobyte can be fifty thousand.
const MOST_WORK: u64 = 250_000;
/// Why a tool is left out for that.
const TOO_MUCH_WORK: &str = "the input schemas of its source are too much work to compile";

#[derive(Debug, Default)]
struct Current {
    catalog: Arc<Catalog>,
    generation: u64,
    /// What agents may see of a definition, by its digest.
    screened: HashMap<Digest, Map<String, Value>>,
    report: Arc<CatalogReport>,
    /// Sources that did not answer when they were last asked.
    silent: Vec<UpstreamId>,
}

#[derive(Debug)]
struct Compiled {
    version: u64,
    generation: u64,
    policy: Arc<Policy>,
}

#[derive(Debug, Default)]
pub(super) struct Known {
    current: RwLock<Current>,
    policies: Mutex<HashMap<PrincipalId, Compiled>>,
}

impl Known {
    pub(super) fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(
            &self
                .current
                .read()
                .unwrap_or_else(PoisonError::into_inner)
                .catalog,
        )
    }

    fn generation(&self) -> u64 {
        self.current
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .generation
    }

    /// Whether a source did not answer when it was last asked for its tools.
    pub(super) fn is_silent(&self, upstream: &UpstreamId) -> bool {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        current.silent.contains(upstream)
    }

    /// What an agent may see of a tool's definition; nothing if the tool is held.
    pub(super) fn screened(&self, tool: &Tool) -> Option<Map<String, Value>> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        let known = current.screened.get(&tool.digest()).cloned();
        known.or_else(|| screened(tool.definition()).ok())
    }

    pub(super) fn report(&self) -> Arc<CatalogReport> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&current.report)
    }

    fn replace(&self, found: Found) {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        current.catalog = Arc::new(found.catalog);
        current.screened = found.screened;
        current.silent.clone_from(&found.report.unavailable);
        current.report = Arc::new(found.report);
        current.generation = current.generation.saturating_add(1);
    }

    fn find(&self, id: &PrincipalId, version: u64) -> Option<Arc<Policy>> {
        let generation = self.generation();
        let policies = self.policies.lock().unwrap_or_else(PoisonError::into_inner);
        policies
            .get(id)
            .filter(|found| found.version == version && found.generation == generation)
            .map(|found| Arc::clone(&found.policy))
    }

    fn keep(&self, id: &PrincipalId, version: u64, generation: u64, policy: &Arc<Policy>) {
        let mut policies = self.policies.lock().unwrap_or_else(PoisonError::into_inner);
        if policies.len() >= MOST_POLICIES && !policies.contains_key(id) {
            policies.clear();
        }
        let policy = Arc::clone(policy);
        policies.insert(
            id.clone(),
            Compiled {
                version,
                generation,
                policy,
            },
        );
    }
}

/// What a refresh of the catalog found.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CatalogReport {
    /// Tools that are offered.
    pub offered: usize,
    /// Tools that are not, with the reason.
    pub left_out: Vec<(UpstreamId, String)>,
    /// Sources of whose tools there may be more than the gate took.
    pub truncated: Vec<UpstreamId>,
    /// Sources that did not answer.
    pub unavailable: Vec<UpstreamId>,
}

struct Found {
    catalog: Catalog,
    screened: HashMap<Digest, Map<String, Value>>,
    report: CatalogReport,
}

impl Gate {
    /// Asks every source for its tools, all at once. One that does not answer in time keeps the
    /// tools that it had, and empties no other.
    pub async fn refresh(&self) -> CatalogReport {
        let mut report = CatalogReport::default();
        let mut tools = Vec::new();
        let mut shown = HashMap::new();
        let before = self.catalog();
        let asked = self
            .0
            .upstreams
            .values()
            .map(|upstream| self.list(upstream));
        let listings = join_all(asked).await;
        for ((id, upstream), listing) in self.0.upstreams.iter().zip(listings) {
            let Some(listing) = listing else {
                for tool in before.iter().filter(|tool| tool.upstream() == id) {
                    shown.extend(self.0.known.screened(tool).map(|it| (tool.digest(), it)));
                    tools.push(Arc::clone(tool));
                }
                tracing::warn!(source = id.as_str(), "a source does not list its tools");
                report.unavailable.push(id.clone());
                continue;
            };
            let listing = listing.within_bounds();
            if listing.truncated {
                tracing::warn!(source = id.as_str(), "a source's list of tools was cut");
                report.truncated.push(id.clone());
            }
            let source = upstream.source();
            let mut work = MOST_WORK;
            for definition in &listing.definitions {
                match offered(&source, definition, &mut work) {
                    Ok((tool, members)) => {
                        shown.insert(tool.digest(), members);
                        tools.push(Arc::new(tool));
                    }
                    Err(why) => {
                        tracing::warn!(source = id.as_str(), why, "a tool is left out");
                        report.left_out.push((id.clone(), why));
                    }
                }
            }
        }
        let is_cut = !report.truncated.is_empty() || !report.unavailable.is_empty();
        let catalog = Catalog::new(tools, is_cut);
        report.offered = catalog.iter().count();
        self.0.known.replace(Found {
            catalog,
            screened: shown,
            report: report.clone(),
        });
        report
    }

    /// What the last [`Gate::refresh`] found.
    #[must_use]
    pub fn catalog_report(&self) -> Arc<CatalogReport> {
        self.0.known.report()
    }

    /// What a source lists, on a task of its own: one that panics, hangs or blocks its thread
    /// holds up nobody. The task ends with the waiting for it.
    async fn list(&self, upstream: &Arc<dyn Upstream>) -> Option<Listing> {
        let (mut tell, told) = oneshot::channel();
        let upstream = Arc::clone(upstream);
        self.0.spawn.spawn(Box::pin(async move {
            let listing = match select(upstream.tools(), tell.cancellation()).await {
                Either::Left((listing, _)) => listing,
                Either::Right(_) => return,
            };
            // Nobody may be waiting any more.
            let _ = tell.send(listing);
        }));
        let deadline = self.0.timer.sleep(self.0.deadlines.list);
        match select(told, deadline).await {
            Either::Left((Ok(Ok(listing)), _)) => Some(listing),
            Either::Left(_) | Either::Right(_) => None,
        }
    }

    /// The policy in force for a principal with its version, compiled against the live catalog.
    /// Nothing if there is no such principal.
    pub(super) async fn policy_in_force(
        &self,
        id: &PrincipalId,
    ) -> Result<Option<(u64, Arc<Policy>)>, StoreError> {
        let Some(head) = self.0.ledger.head(id).await? else {
            return Ok(None);
        };
        let version = head.policy.version;
        if let Some(found) = self.0.known.find(id, version) {
            return Ok(Some((version, found)));
        }
        let generation = self.0.known.generation();
        let (version, text) =
            self.0.ledger.policy(id).await?.ok_or_else(|| {
                StoreError::new(StoreErrorKind::Corrupt, "a unit without a policy")
            })?;
        let policy = Arc::new(policy::compile_stored(&text, &self.0.known.catalog()));
        self.0.known.keep(id, version, generation, &policy);
        Ok(Some((version, policy)))
    }
}

/// A tool that may be offered with what agents may see of it, or why it may not.
fn offered(
    source: &Source,
    definition: &str,
    work: &mut u64,
) -> Result<(Tool, Map<String, Value>), String> {
    let tool = Tool::new(source, definition).map_err(|why| why.to_string())?;
    if tool.shown().as_str() == super::OUTCOME_TOOL {
        return Err(DefinitionError::Name.to_string());
    }
    let members = screened(tool.definition()).map_err(|held| {
        // A name that is itself the reason is not repeated.
        let name = toolgate_filter::clean_text(tool.shown().as_str(), &Settings::strict());
        format!("`{}` is {held}", name.value)
    })?;
    let weight = schema::weight(tool.input_schema());
    let Some(left) = work.checked_sub(weight) else {
        return Err(format!("`{}`: {TOO_MUCH_WORK}", tool.shown()));
    };
    *work = left;
    // Looked at and let go: only tools that are called keep what theirs compiles to.
    if !ArgumentSchema::new(tool.input_schema()).usable() {
        let why = DefinitionError::InputSchema;
        return Err(format!("{why}: `{}`", tool.shown()));
    }
    Ok((tool, members))
}
