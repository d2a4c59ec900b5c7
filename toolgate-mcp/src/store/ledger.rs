//! The role that keeps units.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use serde::Serialize;
use toolgate_audit::ChainId;
use toolgate_audit::Hash;
use toolgate_core::approval::Approval;
use toolgate_core::approval::ApprovalId;
use toolgate_core::approval::Status;
use toolgate_core::id::KeyId;
use toolgate_core::id::OperatorName;
use toolgate_core::id::PrincipalId;
use toolgate_core::time::Timestamp;
use toolgate_core::unit::Admit;
use toolgate_core::unit::Collect;
use toolgate_core::unit::Create;
use toolgate_core::unit::Decide;
use toolgate_core::unit::Event;
use toolgate_core::unit::Head;
use toolgate_core::unit::Key;
use toolgate_core::unit::Move;
use toolgate_core::unit::Outcome;
use toolgate_core::unit::Poll;
use toolgate_core::unit::Record;
use toolgate_core::unit::SetPolicy;
use toolgate_core::unit::Settle;

use super::StoreError;

/// What a move waits for before its answer is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a store implements both")]
pub enum Wait {
    /// Until the change survives a crash.
    Durable,
    /// Until the change is ordered before every later one of its unit.
    Ordered,
}

/// A move's answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(clippy::exhaustive_structs, reason = "made by every store")]
pub struct Moved {
    /// What the move came to.
    pub outcome: Outcome,
    /// The store's time of it.
    pub at: Timestamp,
    /// The last entry that it appended to the unit's chain, if any.
    pub seq: Option<u64>,
}

/// Where an entry stands among all entries of a store; later entries have greater positions.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
#[expect(clippy::exhaustive_structs, reason = "made by every store")]
pub struct Position(pub u64);

/// An entry as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "made by every store")]
pub struct Filed {
    /// Where it stands among all entries.
    pub position: Position,
    /// Its chain.
    pub chain: ChainId,
    /// The number that it is stored under.
    pub seq: u64,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Its hash, as stored.
    pub hash: Hash,
}

/// Which approvals are asked for; newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "read by every store")]
pub struct ApprovalQuery {
    /// Of this principal alone.
    pub principal: Option<PrincipalId>,
    /// In this status alone.
    pub status: Option<Status>,
    /// After this one in the list: its time of making and its name.
    pub before: Option<(Timestamp, ApprovalId)>,
    /// At most so many.
    pub limit: usize,
}

/// Which entries are asked for; newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "read by every store")]
pub struct EntryQuery {
    /// Of this chain alone.
    pub chain: Option<ChainId>,
    /// Before this position.
    pub before: Option<Position>,
    /// At most so many.
    pub limit: usize,
}

/// A store's clock.
pub trait Clock: Send + Sync + fmt::Debug {
    /// The time now.
    fn now(&self) -> Timestamp;
}

/// Keeps principals' units. All of one unit changes together, by [`Ledger::apply`] alone.
///
/// Reads show what was committed; nothing is permitted by a read.
#[async_trait]
pub trait Ledger: Send + Sync + fmt::Debug {
    /// Changes a unit by one move, in one transaction.
    ///
    /// An answer of [`StoreErrorKind::Unavailable`](super::StoreErrorKind) may mean that the move
    /// was persisted; moves are idempotent by call id and fence, so it may be asked again. Some
    /// then answer that they were made: `record` with `Missing`, `create` with `Exists`, a no with
    /// `Conflict`, a sweep with nothing to close. A note and an asking after a request name no
    /// call: each is one more.
    async fn apply(&self, id: &PrincipalId, asked: Move, wait: Wait) -> Result<Moved, StoreError>;

    /// The store's time.
    fn now(&self) -> Timestamp;

    /// A unit's head.
    async fn head(&self, id: &PrincipalId) -> Result<Option<Arc<Head>>, StoreError>;

    /// The version and text of the policy in force.
    async fn policy(&self, id: &PrincipalId) -> Result<Option<(u64, String)>, StoreError>;

    /// One approval of a principal.
    async fn approval(
        &self,
        id: &PrincipalId,
        approval: &ApprovalId,
    ) -> Result<Option<Approval>, StoreError>;

    /// Approvals with their principals, newest first.
    async fn approvals(
        &self,
        query: &ApprovalQuery,
    ) -> Result<Vec<(PrincipalId, Approval)>, StoreError>;

    /// How many approvals of all principals are in that status and not overdue at the store's time.
    async fn count(&self, status: Status) -> Result<u64, StoreError>;

    /// Entries, newest first.
    async fn entries(&self, query: &EntryQuery) -> Result<Vec<Filed>, StoreError>;

    /// Entries of one chain from `seq` on, oldest first, at most `limit`: a slice of a
    /// verification.
    async fn slice(
        &self,
        chain: &ChainId,
        from: u64,
        limit: usize,
    ) -> Result<Vec<Filed>, StoreError>;

    /// Every chain with the head that its writer keeps.
    async fn chains(&self) -> Result<Vec<(ChainId, toolgate_audit::Head)>, StoreError>;

    /// Principals with something overdue at the store's time.
    async fn overdue(&self) -> Result<Vec<PrincipalId>, StoreError>;
}

/// Moves by their names.
#[async_trait]
pub trait LedgerExt: Ledger {
    /// Makes a principal.
    async fn create(&self, id: &PrincipalId, create: Create) -> Result<Moved, StoreError> {
        self.apply(id, Move::Create(Box::new(create)), Wait::Durable)
            .await
    }

    /// Asks whether a call may run; an observation waits for the order alone.
    async fn admit(&self, id: &PrincipalId, admit: Admit) -> Result<Moved, StoreError> {
        let observes = admit.verdict.decision == toolgate_core::verdict::Decision::Run;
        let wait = if observes {
            Wait::Ordered
        } else {
            Wait::Durable
        };
        self.apply(id, Move::Admit(Box::new(admit)), wait).await
    }

    /// Writes an observation down.
    async fn record(&self, id: &PrincipalId, record: Record) -> Result<Moved, StoreError> {
        self.apply(id, Move::Record(Box::new(record)), Wait::Durable)
            .await
    }

    /// Asks after a request.
    async fn poll(&self, id: &PrincipalId, poll: Poll) -> Result<Moved, StoreError> {
        self.apply(id, Move::Poll(Box::new(poll)), Wait::Ordered)
            .await
    }

    /// Hands a stored result over.
    async fn collect(&self, id: &PrincipalId, collect: Collect) -> Result<Moved, StoreError> {
        self.apply(id, Move::Collect(Box::new(collect)), Wait::Durable)
            .await
    }

    /// Answers a request.
    async fn decide(&self, id: &PrincipalId, decide: Decide) -> Result<Moved, StoreError> {
        self.apply(id, Move::Decide(Box::new(decide)), Wait::Durable)
            .await
    }

    /// Stores a claimed call's outcome.
    async fn settle(&self, id: &PrincipalId, settle: Settle) -> Result<Moved, StoreError> {
        self.apply(id, Move::Settle(Box::new(settle)), Wait::Durable)
            .await
    }

    /// Closes what is overdue.
    async fn sweep(&self, id: &PrincipalId) -> Result<Moved, StoreError> {
        self.apply(id, Move::Sweep, Wait::Durable).await
    }

    /// Puts a policy in force.
    async fn set_policy(&self, id: &PrincipalId, set: SetPolicy) -> Result<Moved, StoreError> {
        self.apply(id, Move::SetPolicy(Box::new(set)), Wait::Durable)
            .await
    }

    /// Switches a principal off.
    async fn kill(
        &self,
        id: &PrincipalId,
        by: OperatorName,
        reason: Option<String>,
    ) -> Result<Moved, StoreError> {
        self.apply(id, Move::Kill { by, reason }, Wait::Durable)
            .await
    }

    /// Switches a principal on again.
    async fn revive(&self, id: &PrincipalId, by: OperatorName) -> Result<Moved, StoreError> {
        self.apply(id, Move::Revive { by }, Wait::Durable).await
    }

    /// Adds a key.
    async fn add_key(
        &self,
        id: &PrincipalId,
        key: Key,
        by: OperatorName,
    ) -> Result<Moved, StoreError> {
        self.apply(id, Move::AddKey { key, by }, Wait::Durable)
            .await
    }

    /// Revokes a key.
    async fn revoke_key(
        &self,
        id: &PrincipalId,
        key: KeyId,
        by: OperatorName,
    ) -> Result<Moved, StoreError> {
        self.apply(id, Move::RevokeKey { id: key, by }, Wait::Durable)
            .await
    }

    /// Writes something down.
    async fn note(&self, id: &PrincipalId, event: Event) -> Result<Moved, StoreError> {
        self.apply(id, Move::Note(Box::new(event)), Wait::Durable)
            .await
    }
}

impl<L: Ledger + ?Sized> LedgerExt for L {}
