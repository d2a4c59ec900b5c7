//! A store that answers a decision late.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::Semaphore;
use toolgate_core::approval::Approval;
use toolgate_core::approval::ApprovalId;
use toolgate_core::approval::Status;
use toolgate_core::id::PrincipalId;
use toolgate_core::time::Timestamp;
use toolgate_core::unit::Head;
use toolgate_core::unit::Move;
use toolgate_mcp::store::ApprovalQuery;
use toolgate_mcp::store::EntryQuery;
use toolgate_mcp::store::Filed;
use toolgate_mcp::store::Ledger;
use toolgate_mcp::store::Moved;
use toolgate_mcp::store::StoreError;
use toolgate_mcp::store::Wait;

/// Tells when a decision is kept, and answers it once it is let.
#[derive(Debug)]
pub(crate) struct Slow {
    pub(crate) inner: Arc<dyn Ledger>,
    pub(crate) kept: Semaphore,
    pub(crate) answers: Semaphore,
}

impl Slow {
    pub(crate) fn new(inner: Arc<dyn Ledger>) -> Self {
        Self {
            inner,
            kept: Semaphore::new(0),
            answers: Semaphore::new(0),
        }
    }
}

#[async_trait]
impl Ledger for Slow {
    async fn apply(&self, id: &PrincipalId, asked: Move, wait: Wait) -> Result<Moved, StoreError> {
        let decides = matches!(asked, Move::Decide(_));
        let moved = self.inner.apply(id, asked, wait).await;
        if decides {
            self.kept.add_permits(1);
            self.answers.acquire().await.unwrap().forget();
        }
        moved
    }

    fn now(&self) -> Timestamp {
        self.inner.now()
    }

    async fn head(&self, id: &PrincipalId) -> Result<Option<Arc<Head>>, StoreError> {
        self.inner.head(id).await
    }

    async fn policy(&self, id: &PrincipalId) -> Result<Option<(u64, String)>, StoreError> {
        self.inner.policy(id).await
    }

    async fn approval(
        &self,
        id: &PrincipalId,
        approval: &ApprovalId,
    ) -> Result<Option<Approval>, StoreError> {
        self.inner.approval(id, approval).await
    }

    async fn approvals(
        &self,
        query: &ApprovalQuery,
    ) -> Result<Vec<(PrincipalId, Approval)>, StoreError> {
        self.inner.approvals(query).await
    }

    async fn count(&self, status: Status) -> Result<u64, StoreError> {
        self.inner.count(status).await
    }

    async fn entries(&self, query: &EntryQuery) -> Result<Vec<Filed>, StoreError> {
        self.inner.entries(query).await
    }

    async fn slice(
        &self,
        chain: &toolgate_audit::ChainId,
        from: u64,
        limit: usize,
    ) -> Result<Vec<Filed>, StoreError> {
        self.inner.slice(chain, from, limit).await
    }

    async fn chains(
        &self,
    ) -> Result<Vec<(toolgate_audit::ChainId, toolgate_audit::Head)>, StoreError> {
        self.inner.chains().await
    }

    async fn overdue(&self) -> Result<Vec<PrincipalId>, StoreError> {
        self.inner.overdue().await
    }
}
