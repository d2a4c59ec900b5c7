//! A store that fails every second move before it keeps anything, behind a caller that asks again.

use std::sync::Arc;
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
use toolgate_mcp::store::ApprovalQuery;
use toolgate_mcp::store::Directory;
use toolgate_mcp::store::EntryQuery;
use toolgate_mcp::store::Filed;
use toolgate_mcp::store::Ledger;
use toolgate_mcp::store::Moved;
use toolgate_mcp::store::NamedPolicy;
use toolgate_mcp::store::Operator;
use toolgate_mcp::store::StoreError;
use toolgate_mcp::store::Wait;
use toolgate_mcp::store::memory::MemoryStore;

#[derive(Debug)]
pub(crate) struct Unsteady {
    store: MemoryStore,
    moves: AtomicU64,
}

impl Unsteady {
    pub(crate) fn new(store: MemoryStore) -> Self {
        Self {
            store,
            moves: AtomicU64::new(0),
        }
    }

    async fn fail_or_apply(
        &self,
        id: &PrincipalId,
        asked: Move,
        wait: Wait,
    ) -> Result<Moved, StoreError> {
        if self.moves.fetch_add(1, Ordering::SeqCst).is_multiple_of(2) {
            return Err(StoreError::unavailable("told to fail"));
        }
        self.store.apply(id, asked, wait).await
    }
}

#[async_trait]
impl Ledger for Unsteady {
    async fn apply(&self, id: &PrincipalId, asked: Move, wait: Wait) -> Result<Moved, StoreError> {
        loop {
            if let Ok(moved) = self.fail_or_apply(id, asked.clone(), wait).await {
                return Ok(moved);
            }
        }
    }

    fn now(&self) -> Timestamp {
        self.store.now()
    }

    async fn head(&self, id: &PrincipalId) -> Result<Option<Arc<Head>>, StoreError> {
        self.store.head(id).await
    }

    async fn policy(&self, id: &PrincipalId) -> Result<Option<(u64, String)>, StoreError> {
        self.store.policy(id).await
    }

    async fn approval(
        &self,
        id: &PrincipalId,
        approval: &ApprovalId,
    ) -> Result<Option<Approval>, StoreError> {
        self.store.approval(id, approval).await
    }

    async fn approvals(
        &self,
        query: &ApprovalQuery,
    ) -> Result<Vec<(PrincipalId, Approval)>, StoreError> {
        self.store.approvals(query).await
    }

    async fn count(&self, status: Status) -> Result<u64, StoreError> {
        self.store.count(status).await
    }

    async fn entries(&self, query: &EntryQuery) -> Result<Vec<Filed>, StoreError> {
        self.store.entries(query).await
    }

    async fn slice(
        &self,
        chain: &ChainId,
        from: u64,
        limit: usize,
    ) -> Result<Vec<Filed>, StoreError> {
        self.store.slice(chain, from, limit).await
    }

    async fn chains(&self) -> Result<Vec<(ChainId, toolgate_audit::Head)>, StoreError> {
        self.store.chains().await
    }

    async fn overdue(&self) -> Result<Vec<PrincipalId>, StoreError> {
        self.store.overdue().await
    }
}

#[async_trait]
impl Directory for Unsteady {
    async fn principal_of_key(&self, key: &KeyHash) -> Result<Option<PrincipalId>, StoreError> {
        self.store.principal_of_key(key).await
    }

    async fn remember_key(&self, key: &KeyHash, id: &PrincipalId) -> Result<(), StoreError> {
        self.store.remember_key(key, id).await
    }

    async fn claim_name(&self, name: &PrincipalName, id: &PrincipalId) -> Result<bool, StoreError> {
        self.store.claim_name(name, id).await
    }

    async fn principal_of_name(
        &self,
        name: &PrincipalName,
    ) -> Result<Option<PrincipalId>, StoreError> {
        self.store.principal_of_name(name).await
    }

    async fn principals(&self) -> Result<Vec<(PrincipalName, PrincipalId)>, StoreError> {
        self.store.principals().await
    }

    async fn principal_of_approval(
        &self,
        approval: &ApprovalId,
    ) -> Result<Option<PrincipalId>, StoreError> {
        self.store.principal_of_approval(approval).await
    }

    async fn remember_approval(
        &self,
        approval: &ApprovalId,
        id: &PrincipalId,
    ) -> Result<(), StoreError> {
        self.store.remember_approval(approval, id).await
    }

    async fn operator_of_token(&self, token: &KeyHash) -> Result<Option<Operator>, StoreError> {
        self.store.operator_of_token(token).await
    }

    async fn operators(&self) -> Result<Vec<Operator>, StoreError> {
        self.store.operators().await
    }

    async fn add_operator(&self, operator: Operator) -> Result<bool, StoreError> {
        self.store.add_operator(operator).await
    }

    async fn remove_operator(&self, name: &OperatorName) -> Result<bool, StoreError> {
        self.store.remove_operator(name).await
    }

    async fn named_policy(&self, name: &PolicyName) -> Result<Option<NamedPolicy>, StoreError> {
        self.store.named_policy(name).await
    }

    async fn named_policies(&self) -> Result<Vec<NamedPolicy>, StoreError> {
        self.store.named_policies().await
    }

    async fn store_policy(&self, name: &PolicyName, text: &str) -> Result<u64, StoreError> {
        self.store.store_policy(name, text).await
    }
}
