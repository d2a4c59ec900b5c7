//! A store in memory: for tests, and for embedders whose state may die with the process.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;

use async_trait::async_trait;
use toolgate_audit::ChainId;
use toolgate_audit::Row;
use toolgate_core::approval::Approval;
use toolgate_core::approval::ApprovalId;
use toolgate_core::approval::RequestKey;
use toolgate_core::approval::Status;
use toolgate_core::id::CallId;
use toolgate_core::id::OperatorName;
use toolgate_core::id::PolicyName;
use toolgate_core::id::PrincipalId;
use toolgate_core::id::PrincipalName;
use toolgate_core::key::KeyHash;
use toolgate_core::time::Timestamp;
use toolgate_core::unit::CallChange;
use toolgate_core::unit::Head;
use toolgate_core::unit::Loaded;
use toolgate_core::unit::Move;
use toolgate_core::unit::Needs;
use toolgate_core::unit::Running;

use super::Advance;
use super::ApprovalQuery;
use super::Clock;
use super::Directory;
use super::EntryQuery;
use super::Filed;
use super::Ledger;
use super::Moved;
use super::NamedPolicy;
use super::Operator;
use super::Position;
use super::StoreError;
use super::Wait;
use super::advance;

#[derive(Debug, Default)]
struct Unit {
    head: Option<Arc<Head>>,
    chain: toolgate_audit::Head,
    policy: String,
    approvals: BTreeMap<ApprovalId, Approval>,
    generations: BTreeMap<(RequestKey, u32), ApprovalId>,
    calls: HashMap<CallId, Running>,
}

#[derive(Debug, Default)]
struct State {
    units: BTreeMap<PrincipalId, Unit>,
    entries: Vec<Row>,
    salts: HashMap<(ChainId, u64), String>,
    keys: HashMap<KeyHash, PrincipalId>,
    names: BTreeMap<PrincipalName, PrincipalId>,
    routes: HashMap<ApprovalId, PrincipalId>,
    operators: BTreeMap<OperatorName, Operator>,
    policies: BTreeMap<PolicyName, NamedPolicy>,
}

/// Keeps everything in memory.
///
/// Nothing can fail here, and nothing outlives the process.
#[derive(Debug)]
pub struct MemoryStore {
    state: Mutex<State>,
    clock: Arc<dyn Clock>,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            state: Mutex::default(),
            clock,
        }
    }

    fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        work(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Unit {
    fn load(&self, asked: &Move, now: Timestamp) -> Loaded {
        let mut loaded = Loaded {
            head: self.head.clone(),
            ..Loaded::default()
        };
        match asked.needs() {
            Needs::Head => {}
            Needs::Approval(id) => loaded.approval = self.approvals.get(id).cloned(),
            Needs::Call(call) => loaded.call = self.calls.get(call).cloned(),
            Needs::Request(request, call) => {
                loaded.call = self.calls.get(call).cloned();
                loaded.approval = request
                    .and_then(|request| {
                        let of_it = (*request, 0)..=(*request, u32::MAX);
                        self.generations.range(of_it).next_back()
                    })
                    .and_then(|(_, id)| self.approvals.get(id))
                    .cloned();
            }
            Needs::Due => {
                loaded.due = self
                    .approvals
                    .values()
                    .filter(|a| is_due(a, now))
                    .cloned()
                    .collect();
                loaded.lapsed = self
                    .calls
                    .values()
                    .filter(|c| c.lease_until <= now)
                    .cloned()
                    .collect();
            }
        }
        loaded
    }

    fn save(&mut self, done: &Advance) {
        if let Some(head) = &done.changes.head {
            self.head = Some(Arc::new(head.clone()));
        }
        if let Some(policy) = &done.changes.policy {
            self.policy.clone_from(policy);
        }
        for approval in &done.changes.approvals {
            let of_it = (approval.request, approval.generation);
            self.generations.insert(of_it, approval.id.clone());
            self.approvals.insert(approval.id.clone(), approval.clone());
        }
        for id in &done.changes.dropped {
            if let Some(gone) = self.approvals.remove(id) {
                self.generations.remove(&(gone.request, gone.generation));
            }
        }
        for change in &done.changes.calls {
            match change {
                CallChange::Drop(call) => {
                    self.calls.remove(call);
                }
                CallChange::Put(running) => {
                    self.calls.insert(running.call.clone(), (**running).clone());
                }
            }
        }
        self.chain = done.chain;
    }
}

/// Whether a sweep at `now` would close something of the approval.
fn is_due(approval: &Approval, now: Timestamp) -> bool {
    approval.due_at().is_some_and(|at| at <= now)
}

#[async_trait]
impl Ledger for MemoryStore {
    async fn apply(&self, id: &PrincipalId, asked: Move, _: Wait) -> Result<Moved, StoreError> {
        let stamp = self.clock.now();
        self.with(|state| {
            let empty = Unit::default();
            let unit = state.units.get(id).unwrap_or(&empty);
            let now = unit.head.as_ref().map_or(stamp, |head| head.at.max(stamp));
            let done = advance(id, &unit.load(&asked, now), &unit.chain, &asked, stamp)?;
            if !done.changes_nothing() {
                state.units.entry(id.clone()).or_default().save(&done);
                for (seq, salt) in &done.salts {
                    if let Ok(chain) = ChainId::new(id.as_str()) {
                        state.salts.insert((chain, *seq), salt.clone());
                    }
                }
                state.entries.extend(done.rows);
            }
            Ok(done.moved)
        })
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    async fn head(&self, id: &PrincipalId) -> Result<Option<Arc<Head>>, StoreError> {
        Ok(self.with(|state| state.units.get(id).and_then(|unit| unit.head.clone())))
    }

    async fn policy(&self, id: &PrincipalId) -> Result<Option<(u64, String)>, StoreError> {
        Ok(self.with(|state| {
            let unit = state.units.get(id)?;
            let head = unit.head.as_ref()?;
            Some((head.policy.version, unit.policy.clone()))
        }))
    }

    async fn approval(
        &self,
        id: &PrincipalId,
        approval: &ApprovalId,
    ) -> Result<Option<Approval>, StoreError> {
        Ok(self.with(|state| state.units.get(id)?.approvals.get(approval).cloned()))
    }

    async fn approvals(
        &self,
        query: &ApprovalQuery,
    ) -> Result<Vec<(PrincipalId, Approval)>, StoreError> {
        let mut found = self.with(|state| {
            state
                .units
                .iter()
                .filter(|(id, _)| query.principal.as_ref().is_none_or(|only| only == *id))
                .flat_map(|(id, unit)| unit.approvals.values().map(|a| (id.clone(), a.clone())))
                .filter(|(_, a)| query.status.is_none_or(|status| a.status == status))
                .filter(|(_, a)| {
                    let place = query.before.as_ref();
                    place.is_none_or(|(at, id)| (a.created_at, &a.id) < (*at, id))
                })
                .collect::<Vec<_>>()
        });
        found.sort_by(|(_, a), (_, b)| b.created_at.cmp(&a.created_at).then(b.id.cmp(&a.id)));
        found.truncate(query.limit);
        Ok(found)
    }

    async fn count(&self, status: Status) -> Result<u64, StoreError> {
        let now = self.clock.now();
        Ok(self.with(|state| {
            let all = state
                .units
                .values()
                .flat_map(|unit| unit.approvals.values());
            all.filter(|approval| approval.status == status && !is_due(approval, now))
                .count() as u64
        }))
    }

    async fn entries(&self, query: &EntryQuery) -> Result<Vec<Filed>, StoreError> {
        Ok(self.with(|state| {
            let before = query.before.map_or(u64::MAX, |position| position.0);
            let last = state.entries.len() as u64;
            (0..last)
                .map(|back| last - back)
                .zip(state.entries.iter().rev())
                .filter(|(at, row)| {
                    *at < before && query.chain.as_ref().is_none_or(|only| *only == row.chain)
                })
                .take(query.limit)
                .map(|(at, row)| filed(at, row))
                .collect()
        }))
    }

    async fn slice(
        &self,
        chain: &ChainId,
        from: u64,
        limit: usize,
    ) -> Result<Vec<Filed>, StoreError> {
        Ok(self.with(|state| {
            (1_u64..)
                .zip(&state.entries)
                .filter(|(_, row)| row.chain == *chain && row.seq >= from)
                .take(limit)
                .map(|(at, row)| filed(at, row))
                .collect()
        }))
    }

    async fn chains(&self) -> Result<Vec<(ChainId, toolgate_audit::Head)>, StoreError> {
        self.with(|state| {
            state
                .units
                .iter()
                .map(|(id, unit)| {
                    let chain = ChainId::new(id.as_str()).map_err(StoreError::corrupt)?;
                    Ok((chain, unit.chain))
                })
                .collect()
        })
    }

    async fn overdue(&self) -> Result<Vec<PrincipalId>, StoreError> {
        let now = self.clock.now();
        Ok(self.with(|state| {
            state
                .units
                .iter()
                .filter(|(_, unit)| {
                    let head = unit.head.as_ref().and_then(|head| head.due_at());
                    head.is_some_and(|at| at <= now)
                        || unit.approvals.values().any(|a| is_due(a, now))
                        || unit.calls.values().any(|c| c.lease_until <= now)
                })
                .map(|(id, _)| id.clone())
                .collect()
        }))
    }
}

fn filed(at: u64, row: &Row) -> Filed {
    Filed {
        position: Position(at),
        chain: row.chain.clone(),
        seq: row.seq,
        bytes: row.bytes.clone(),
        hash: row.hash,
    }
}

#[async_trait]
impl Directory for MemoryStore {
    async fn principal_of_key(&self, key: &KeyHash) -> Result<Option<PrincipalId>, StoreError> {
        Ok(self.with(|state| state.keys.get(key).cloned()))
    }

    async fn remember_key(&self, key: &KeyHash, id: &PrincipalId) -> Result<(), StoreError> {
        self.with(|state| state.keys.insert(*key, id.clone()));
        Ok(())
    }

    async fn claim_name(&self, name: &PrincipalName, id: &PrincipalId) -> Result<bool, StoreError> {
        Ok(self.with(|state| {
            state
                .names
                .entry(name.clone())
                .or_insert_with(|| id.clone())
                == id
        }))
    }

    async fn principal_of_name(
        &self,
        name: &PrincipalName,
    ) -> Result<Option<PrincipalId>, StoreError> {
        Ok(self.with(|state| state.names.get(name).cloned()))
    }

    async fn principals(&self) -> Result<Vec<(PrincipalName, PrincipalId)>, StoreError> {
        Ok(self.with(|state| state.names.clone().into_iter().collect()))
    }

    async fn principal_of_approval(
        &self,
        approval: &ApprovalId,
    ) -> Result<Option<PrincipalId>, StoreError> {
        Ok(self.with(|state| state.routes.get(approval).cloned()))
    }

    async fn remember_approval(
        &self,
        approval: &ApprovalId,
        id: &PrincipalId,
    ) -> Result<(), StoreError> {
        self.with(|state| state.routes.insert(approval.clone(), id.clone()));
        Ok(())
    }

    async fn operator_of_token(&self, token: &KeyHash) -> Result<Option<Operator>, StoreError> {
        Ok(self.with(|state| {
            state.operators.values().fold(None, |found, operator| {
                if operator.token.matches(token) {
                    Some(operator.clone())
                } else {
                    found
                }
            })
        }))
    }

    async fn operators(&self) -> Result<Vec<Operator>, StoreError> {
        Ok(self.with(|state| state.operators.values().cloned().collect()))
    }

    async fn add_operator(&self, operator: Operator) -> Result<bool, StoreError> {
        Ok(self.with(|state| {
            let free = !state.operators.contains_key(&operator.name);
            if free {
                state.operators.insert(operator.name.clone(), operator);
            }
            free
        }))
    }

    async fn remove_operator(&self, name: &OperatorName) -> Result<bool, StoreError> {
        Ok(self.with(|state| state.operators.remove(name).is_some()))
    }

    async fn named_policy(&self, name: &PolicyName) -> Result<Option<NamedPolicy>, StoreError> {
        Ok(self.with(|state| state.policies.get(name).cloned()))
    }

    async fn named_policies(&self) -> Result<Vec<NamedPolicy>, StoreError> {
        Ok(self.with(|state| state.policies.values().cloned().collect()))
    }

    async fn store_policy(&self, name: &PolicyName, text: &str) -> Result<u64, StoreError> {
        Ok(self.with(|state| {
            let version = state
                .policies
                .get(name)
                .map_or(1, |policy| policy.version + 1);
            let policy = NamedPolicy {
                name: name.clone(),
                text: text.to_owned(),
                version,
            };
            state.policies.insert(name.clone(), policy);
            version
        }))
    }
}
