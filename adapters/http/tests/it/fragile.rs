//! A store that counts what it is asked, and can be told to fail.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
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
pub(crate) struct Fragile {
    store: MemoryStore,
    asked: AtomicU64,
    /// Nothing can be read or written.
    pub(crate) down: AtomicBool,
    /// No unit can be written.
    pub(crate) full: AtomicBool,
}

impl Fragile {
    pub(crate) fn new(store: MemoryStore) -> Self {
        Self {
            store,
            asked: AtomicU64::new(0),
            down: AtomicBool::new(false),
            full: AtomicBool::new(false),
        }
    }

    /// How often it was asked for anything.
    pub(crate) fn asked(&self) -> u64 {
        self.asked.load(Ordering::SeqCst)
    }

    fn reached(&self) -> Result<&MemoryStore, StoreError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        if self.down.load(Ordering::SeqCst) {
            return Err(StoreError::unavailable("told to be down"));
        }
        Ok(&self.store)
    }
}

#[async_trait]
impl Ledger for Fragile {
    async fn apply(&self, id: &PrincipalId, asked: Move, wait: Wait) -> Result<Moved, StoreError> {
        if self.full.load(Ordering::SeqCst) {
            return Err(StoreError::unavailable("told to be full"));
        }
        self.reached()?.apply(id, asked, wait).await
    }

    fn now(&self) -> Timestamp {
        self.store.now()
    }

    async fn head(&self, id: &PrincipalId) -> Result<Option<Arc<Head>>, StoreError> {
        self.reached()?.head(id).await
    }

    async fn policy(&self, id: &PrincipalId) -> Result<Option<(u64, String)>, StoreError> {
        self.reached()?.policy(id).await
    }

    async fn approval(
        &self,
        id: &PrincipalId,
        approval: &ApprovalId,
    ) -> Result<Option<Approval>, StoreError> {
        self.reached()?.approval(id, approval).await
    }

    async fn approvals(
        &self,
        query: &ApprovalQuery,
    ) -> Result<Vec<(PrincipalId, Approval)>, StoreError> {
        self.reached()?.approvals(query).await
    }

    async fn count(&self, status: Status) -> Result<u64, StoreError> {
        self.reached()?.count(status).await
    }

    async fn entries(&self, query: &EntryQuery) -> Result<Vec<Filed>, StoreError> {
        self.reached()?.entries(query).await
    }

    async fn slice(
        &self,
        chain: &ChainId,
        from: u64,
        limit: usize,
    ) -> Result<Vec<Filed>, StoreError> {
        self.reached()?.slice(chain, from, limit).await
    }

    async fn chains(&self) -> Result<Vec<(ChainId, toolgate_audit::Head)>, StoreError> {
        self.reached()?.chains().await
    }

    async fn overdue(&self) -> Result<Vec<PrincipalId>, StoreError> {
        self.reached()?.overdue().await
    }
}

#[async_trait]
impl Directory for Fragile {
    async fn principal_of_key(&self, key: &KeyHash) -> Result<Option<PrincipalId>, StoreError> {
        self.reached()?.principal_of_key(key).await
    }

    async fn remember_key(&self, key: &KeyHash, id: &PrincipalId) -> Result<(), StoreError> {
        self.reached()?.remember_key(key, id).await
    }

    async fn claim_name(&self, name: &PrincipalName, id: &PrincipalId) -> Result<bool, StoreError> {
        self.reached()?.claim_name(name, id).await
    }

    async fn principal_of_name(
        &self,
        name: &PrincipalName,
    ) -> Result<Option<PrincipalId>, StoreError> {
        self.reached()?.principal_of_name(name).await
    }

    async fn principals(&self) -> Result<Vec<(PrincipalName, PrincipalId)>, StoreError> {
        self.reached()?.principals().await
    }

    async fn principal_of_approval(
        &self,
        approval: &ApprovalId,
    ) -> Result<Option<PrincipalId>, StoreError> {
        self.reached()?.principal_of_approval(approval).await
    }

    async fn remember_approval(
        &self,
        approval: &ApprovalId,
        id: &PrincipalId,
    ) -> Result<(), StoreError> {
        self.reached()?.remember_approval(approval, id).await
    }

    async fn operator_of_token(&self, token: &KeyHash) -> Result<Option<Operator>, StoreError> {
        self.reached()?.operator_of_token(token).await
    }

    async fn operators(&self) -> Result<Vec<Operator>, StoreError> {
        self.reached()?.operators().await
    }

    async fn add_operator(&self, operator: Operator) -> Result<bool, StoreError> {
        self.reached()?.add_operator(operator).await
    }

    async fn remove_operator(&self, name: &OperatorName) -> Result<bool, StoreError> {
        self.reached()?.remove_operator(name).await
    }

    async fn named_policy(&self, name: &PolicyName) -> Result<Option<NamedPolicy>, StoreError> {
        self.reached()?.named_policy(name).await
    }

    async fn named_policies(&self) -> Result<Vec<NamedPolicy>, StoreError> {
        self.reached()?.named_policies().await
    }

    async fn store_policy(&self, name: &PolicyName, text: &str) -> Result<u64, StoreError> {
        self.reached()?.store_policy(name, text).await
    }
}
