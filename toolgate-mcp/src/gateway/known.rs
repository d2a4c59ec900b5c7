//! What the gate keeps in memory: the catalog, and policies compiled against it, by version.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::RwLock;

use serde::Serialize;
use toolgate_core::catalog::Catalog;
use toolgate_core::catalog::DefinitionError;
use toolgate_core::catalog::Tool;
use toolgate_core::id::PrincipalId;
use toolgate_core::id::UpstreamId;
use toolgate_core::policy;
use toolgate_core::policy::Policy;

use super::Gate;
use crate::store::StoreError;
use crate::store::StoreErrorKind;

/// The most compiled policies kept at once.
const MOST_POLICIES: usize = 10_000;

#[derive(Debug, Default)]
struct Current {
    catalog: Arc<Catalog>,
    generation: u64,
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

    fn replace(&self, catalog: Catalog, silent: Vec<UpstreamId>) {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        current.catalog = Arc::new(catalog);
        current.silent = silent;
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
    /// Sources that did not answer.
    pub unavailable: Vec<UpstreamId>,
}

impl Gate {
    /// Asks every source for its tools. One that does not answer keeps the tools that it had, and
    /// empties no other.
    pub async fn refresh(&self) -> CatalogReport {
        let mut report = CatalogReport::default();
        let mut tools = Vec::new();
        let mut truncated = false;
        let before = self.catalog();
        for (id, upstream) in &self.0.upstreams {
            let Ok(listing) = upstream.tools().await else {
                let had = before.iter().filter(|tool| tool.upstream() == id);
                tools.extend(had.cloned());
                report.unavailable.push(id.clone());
                truncated = true;
                continue;
            };
            truncated |= listing.truncated;
            let source = upstream.source();
            for definition in &listing.definitions {
                match Tool::new(&source, definition) {
                    Ok(tool) if tool.shown().as_str() == super::OUTCOME_TOOL => {
                        report
                            .left_out
                            .push((id.clone(), DefinitionError::Name.to_string()));
                    }
                    Ok(tool) if !tool.arguments().usable() => {
                        let why = DefinitionError::InputSchema.to_string();
                        report.left_out.push((id.clone(), why));
                    }
                    Ok(tool) => tools.push(Arc::new(tool)),
                    Err(why) => report.left_out.push((id.clone(), why.to_string())),
                }
            }
        }
        let catalog = Catalog::new(tools, truncated);
        report.offered = catalog.iter().count();
        let silent = report.unavailable.clone();
        self.0.known.replace(catalog, silent);
        report
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
