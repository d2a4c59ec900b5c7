//! A store that fails on demand: before it does what it is asked, or after.

use std::fmt::Debug;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use toolgate_audit::ChainId;
use toolgate_core::approval::Approval;
use toolgate_core::approval::ApprovalId;
use toolgate_core::approval::Status;
use toolgate_core::id::OperatorName;
use toolgate_core::id::PolicyName;
use toolgate_core::id::PrincipalId;
use toolgate_core::id::PrincipalName;
use toolgate_core::key::KeyHash;
use toolgate_core::time::Timestamp;
use toolgate_core::unit::Head;
use toolgate_core::unit::Move;

use crate::store::ApprovalQuery;
use crate::store::Directory;
use crate::store::EntryQuery;
use crate::store::Filed;
use crate::store::Ledger;
use crate::store::Moved;
use crate::store::NamedPolicy;
use crate::store::Operator;
use crate::store::StoreError;
use crate::store::Wait;

/// How a store fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there is no third way")]
pub enum Fault {
    /// It does what it is asked, and the answer is lost.
    After,
    /// It does nothing: the store behind it is not asked.
    Before,
}

/// At what a store fails.
#[derive(Debug, Clone)]
#[expect(clippy::exhaustive_enums, reason = "for tests alone")]
pub enum At {
    /// At everything, reads and the directory too.
    Everything,
    /// At every move.
    Moves,
    /// At these moves.
    These(fn(&Move) -> bool),
    /// At every move of this unit.
    Unit(PrincipalId),
}

/// How often a store fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "for tests alone")]
pub enum Often {
    /// Until it is [mended](Faulty::mend).
    Always,
    /// The next so many times.
    Next(u32),
    /// Every second time, beginning with the next.
    EverySecond,
}

/// How often a caller asks that asks again: far more often than it is ever failed.
const MOST_TRIES: u32 = 64;

/// A store that fails as it is told, in front of one that does not.
///
/// ```
/// use toolgate_core::id::PrincipalId;
/// use toolgate_mcp::store::Ledger;
/// use toolgate_mcp::store::contract::{At, Clocked, Fault, Faulty, Often};
/// use toolgate_mcp::store::memory::MemoryStore;
///
/// # futures_util::FutureExt::now_or_never(async {
/// let store = Faulty::new(Box::new(MemoryStore::new(Clocked::default())));
/// store.fail(Fault::Before, At::Everything, Often::Next(1));
/// assert!(store.head(&PrincipalId::system()).await.is_err());
/// assert!(store.head(&PrincipalId::system()).await.is_ok());
/// # }).unwrap();
/// ```
#[derive(Debug)]
pub struct Faulty<P> {
    store: P,
    plan: Mutex<Vec<Planned>>,
    asked: AtomicU64,
    patient: bool,
}

#[derive(Debug)]
struct Planned {
    fault: Fault,
    at: At,
    often: Often,
    /// Whether it is the turn of [`Often::EverySecond`] to pass.
    passes: bool,
}

impl<P> Faulty<P> {
    /// A store that does not fail yet. `store` leads to the one behind it: a reference, a box.
    pub const fn new(store: P) -> Self {
        Self {
            store,
            plan: Mutex::new(Vec::new()),
            asked: AtomicU64::new(0),
            patient: false,
        }
    }

    /// A store that fails every second move before it does anything, behind a caller that asks
    /// again.
    #[must_use]
    pub fn failing(store: P) -> Self {
        Self::patient(store, Fault::Before, At::Moves)
    }

    /// A store that makes a move and loses every second answer, behind a caller that asks again.
    /// Only moves that are answered alike however often they are asked: whoever asks one of the
    /// others again learns that it was made.
    #[must_use]
    pub fn forgetful(store: P) -> Self {
        Self::patient(store, Fault::After, At::These(is_answered_alike))
    }

    fn patient(store: P, fault: Fault, at: At) -> Self {
        let mut faulty = Self::new(store);
        faulty.patient = true;
        faulty.fail(fault, at, Often::EverySecond);
        faulty
    }

    /// Fails from now on, beside what was planned before; the first that fits decides.
    pub fn fail(&self, fault: Fault, at: At, often: Often) {
        self.with(|plan| {
            plan.push(Planned {
                fault,
                at,
                often,
                passes: false,
            });
        });
    }

    /// Fails no more.
    pub fn mend(&self) {
        self.with(Vec::clear);
    }

    /// How often anything was asked, reads and the directory too.
    pub fn asked(&self) -> u64 {
        self.asked.load(Ordering::SeqCst)
    }

    fn with<T>(&self, work: impl FnOnce(&mut Vec<Planned>) -> T) -> T {
        work(&mut self.plan.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// How the next thing fails, if it does; only a move has a unit and itself.
    fn next(&self, asked: Option<(&PrincipalId, &Move)>) -> Option<Fault> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.with(|plan| plan.iter_mut().find_map(|planned| planned.meets(asked)))
    }

    async fn ask<T>(
        &self,
        asked: Option<(&PrincipalId, &Move)>,
        work: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        match self.next(asked) {
            None => work.await,
            Some(Fault::After) => {
                work.await?;
                Err(StoreError::unavailable("told to lose the answer"))
            }
            Some(Fault::Before) => Err(StoreError::unavailable("told to fail")),
        }
    }
}

const fn is_answered_alike(asked: &Move) -> bool {
    match asked {
        Move::AddKey { .. }
        | Move::Admit(_)
        | Move::Collect(_)
        | Move::Kill { .. }
        | Move::Revive { .. }
        | Move::RevokeKey { .. }
        | Move::SetPolicy(_)
        | Move::Settle(_) => true,
        Move::Create(_)
        | Move::Decide(_)
        | Move::Note(_)
        | Move::Poll(_)
        | Move::Record(_)
        | Move::Sweep => false,
    }
}

impl Planned {
    fn meets(&mut self, asked: Option<(&PrincipalId, &Move)>) -> Option<Fault> {
        let fits = match (&self.at, asked) {
            (At::Everything, _) | (At::Moves, Some(_)) => true,
            (At::These(these), Some((_, asked))) => these(asked),
            (At::Unit(unit), Some((id, _))) => unit == id,
            (At::Moves | At::These(_) | At::Unit(_), None) => false,
        };
        if !fits {
            return None;
        }
        let fails = match &mut self.often {
            Often::Always => true,
            Often::Next(left) => {
                let fails = *left > 0;
                *left = left.saturating_sub(1);
                fails
            }
            Often::EverySecond => {
                self.passes = !self.passes;
                self.passes
            }
        };
        fails.then_some(self.fault)
    }
}

#[async_trait]
impl<P> Ledger for Faulty<P>
where
    P: Deref<Target: Ledger> + Debug + Send + Sync,
{
    async fn apply(&self, id: &PrincipalId, asked: Move, wait: Wait) -> Result<Moved, StoreError> {
        let mut tries = if self.patient { MOST_TRIES } else { 1 };
        loop {
            tries -= 1;
            let work = self.store.apply(id, asked.clone(), wait);
            match self.ask(Some((id, &asked)), work).await {
                Err(_) if tries > 0 => {}
                answered => return answered,
            }
        }
    }

    fn now(&self) -> Timestamp {
        self.store.now()
    }

    async fn head(&self, id: &PrincipalId) -> Result<Option<Arc<Head>>, StoreError> {
        self.ask(None, self.store.head(id)).await
    }

    async fn policy(&self, id: &PrincipalId) -> Result<Option<(u64, String)>, StoreError> {
        self.ask(None, self.store.policy(id)).await
    }

    async fn approval(
        &self,
        id: &PrincipalId,
        approval: &ApprovalId,
    ) -> Result<Option<Approval>, StoreError> {
        self.ask(None, self.store.approval(id, approval)).await
    }

    async fn approvals(
        &self,
        query: &ApprovalQuery,
    ) -> Result<Vec<(PrincipalId, Approval)>, StoreError> {
        self.ask(None, self.store.approvals(query)).await
    }

    async fn count(&self, status: Status) -> Result<u64, StoreError> {
        self.ask(None, self.store.count(status)).await
    }

    async fn entries(&self, query: &EntryQuery) -> Result<Vec<Filed>, StoreError> {
        self.ask(None, self.store.entries(query)).await
    }

    async fn slice(
        &self,
        chain: &ChainId,
        from: u64,
        limit: usize,
    ) -> Result<Vec<Filed>, StoreError> {
        self.ask(None, self.store.slice(chain, from, limit)).await
    }

    async fn chains(&self) -> Result<Vec<(ChainId, toolgate_audit::Head)>, StoreError> {
        self.ask(None, self.store.chains()).await
    }

    async fn overdue(&self) -> Result<Vec<PrincipalId>, StoreError> {
        self.ask(None, self.store.overdue()).await
    }
}

#[async_trait]
impl<P> Directory for Faulty<P>
where
    P: Deref<Target: Directory> + Debug + Send + Sync,
{
    async fn principal_of_key(&self, key: &KeyHash) -> Result<Option<PrincipalId>, StoreError> {
        self.ask(None, self.store.principal_of_key(key)).await
    }

    async fn remember_key(&self, key: &KeyHash, id: &PrincipalId) -> Result<(), StoreError> {
        self.ask(None, self.store.remember_key(key, id)).await
    }

    async fn claim_name(&self, name: &PrincipalName, id: &PrincipalId) -> Result<bool, StoreError> {
        self.ask(None, self.store.claim_name(name, id)).await
    }

    async fn principal_of_name(
        &self,
        name: &PrincipalName,
    ) -> Result<Option<PrincipalId>, StoreError> {
        self.ask(None, self.store.principal_of_name(name)).await
    }

    async fn principals(&self) -> Result<Vec<(PrincipalName, PrincipalId)>, StoreError> {
        self.ask(None, self.store.principals()).await
    }

    async fn principal_of_approval(
        &self,
        approval: &ApprovalId,
    ) -> Result<Option<PrincipalId>, StoreError> {
        self.ask(None, self.store.principal_of_approval(approval))
            .await
    }

    async fn remember_approval(
        &self,
        approval: &ApprovalId,
        id: &PrincipalId,
    ) -> Result<(), StoreError> {
        self.ask(None, self.store.remember_approval(approval, id))
            .await
    }

    async fn operator_of_token(&self, token: &KeyHash) -> Result<Option<Operator>, StoreError> {
        self.ask(None, self.store.operator_of_token(token)).await
    }

    async fn operators(&self) -> Result<Vec<Operator>, StoreError> {
        self.ask(None, self.store.operators()).await
    }

    async fn add_operator(&self, operator: Operator) -> Result<bool, StoreError> {
        self.ask(None, self.store.add_operator(operator)).await
    }

    async fn remove_operator(&self, name: &OperatorName) -> Result<bool, StoreError> {
        self.ask(None, self.store.remove_operator(name)).await
    }

    async fn named_policy(&self, name: &PolicyName) -> Result<Option<NamedPolicy>, StoreError> {
        self.ask(None, self.store.named_policy(name)).await
    }

    async fn named_policies(&self) -> Result<Vec<NamedPolicy>, StoreError> {
        self.ask(None, self.store.named_policies()).await
    }

    async fn store_policy(&self, name: &PolicyName, text: &str) -> Result<u64, StoreError> {
        self.ask(None, self.store.store_policy(name, text)).await
    }
}
