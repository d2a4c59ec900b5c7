//! The role that keeps units.

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use rusqlite::params;
use toolgate_audit::ChainId;
use toolgate_core::approval::Approval;
use toolgate_core::approval::ApprovalId;
use toolgate_core::approval::Status;
use toolgate_core::digest::Digest;
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

use super::SqliteStore;
use super::error::store_error;
use super::readers;
use super::rows;

#[async_trait]
impl Ledger for SqliteStore {
    async fn apply(&self, id: &PrincipalId, asked: Move, wait: Wait) -> Result<Moved, StoreError> {
        self.writer.apply(id, asked, wait).await
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    async fn head(&self, id: &PrincipalId) -> Result<Option<Arc<Head>>, StoreError> {
        if let Some(head) = self.readers.head(id) {
            return Ok(Some(head));
        }
        Ok(self.read_unit(id).await?.map(|(head, _)| head))
    }

    async fn policy(&self, id: &PrincipalId) -> Result<Option<(u64, String)>, StoreError> {
        if let Some(found) = self.readers.policy(id) {
            return Ok(Some(found));
        }
        let Some((head, policy)) = self.read_unit(id).await? else {
            return Ok(None);
        };
        Ok(Some((head.policy.version, policy)))
    }

    async fn approval(
        &self,
        id: &PrincipalId,
        approval: &ApprovalId,
    ) -> Result<Option<Approval>, StoreError> {
        let (id, approval) = (id.clone(), approval.clone());
        self.readers
            .read(move |db| rows::approval(db, &id, approval.as_str()))
            .await
    }

    async fn approvals(
        &self,
        query: &ApprovalQuery,
    ) -> Result<Vec<(PrincipalId, Approval)>, StoreError> {
        let query = query.clone();
        let read = move |db: &rusqlite::Connection| {
            let sql = approvals_sql(&query);
            let mut asked = db.prepare_cached(sql).map_err(store_error)?;
            let values = params![
                query.principal.as_ref().map(PrincipalId::as_str),
                query.status.map(Status::as_str),
                i64::try_from(query.limit).unwrap_or(i64::MAX),
                query
                    .before
                    .as_ref()
                    .map_or(i64::MAX, |(at, _)| at.as_millis()),
                query.before.as_ref().map_or("", |(_, id)| id.as_str()),
            ];
            let found = asked
                .query_map(values, |row| {
                    Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
                })
                .map_err(store_error)?;
            found
                .map(|row| {
                    let (principal, row) = row.map_err(store_error)?;
                    let principal = PrincipalId::new(principal).map_err(StoreError::corrupt)?;
                    Ok((principal, rows::read(&row)?))
                })
                .collect()
        };
        self.readers.read(read).await
    }

    async fn count(&self, status: Status) -> Result<u64, StoreError> {
        let now = self.clock.now().as_millis();
        let read = move |db: &rusqlite::Connection| {
            let sql = "SELECT count(*) FROM approvals \
                       WHERE status = ?1 AND (due_at IS NULL OR due_at > ?2)";
            let mut asked = db.prepare_cached(sql).map_err(store_error)?;
            let found = asked.query_row(params![status.as_str(), now], |row| row.get::<_, i64>(0));
            u64::try_from(found.map_err(store_error)?).map_err(StoreError::corrupt)
        };
        self.readers.read(read).await
    }

    async fn entries(&self, query: &EntryQuery) -> Result<Vec<Filed>, StoreError> {
        let query = query.clone();
        let read = move |db: &rusqlite::Connection| {
            let sql = match query.chain {
                Some(_) => {
                    "SELECT position, chain, seq, bytes, hash FROM entries \
                     WHERE chain = ?1 AND position < ?2 ORDER BY seq DESC LIMIT ?3"
                }
                None => {
                    "SELECT position, chain, seq, bytes, hash FROM entries \
                     WHERE ?1 IS NULL AND position < ?2 ORDER BY position DESC LIMIT ?3"
                }
            };
            let before = query.before.map_or(i64::MAX, |position| {
                i64::try_from(position.0).unwrap_or(i64::MAX)
            });
            let limit = i64::try_from(query.limit).unwrap_or(i64::MAX);
            let chain = query.chain.as_ref().map(ChainId::as_str);
            let mut asked = db.prepare_cached(sql).map_err(store_error)?;
            let mut found = asked
                .query(params![chain, before, limit])
                .map_err(store_error)?;
            let mut entries = Vec::new();
            while let Some(row) = found.next().map_err(store_error)? {
                entries.push(rows::filed(row)?);
            }
            Ok(entries)
        };
        self.readers.read(read).await
    }

    async fn slice(
        &self,
        chain: &ChainId,
        from: u64,
        limit: usize,
    ) -> Result<Vec<Filed>, StoreError> {
        let chain = chain.clone();
        self.readers
            .read(move |db| readers::slice(db, &chain, from, limit))
            .await
    }

    async fn chains(&self) -> Result<Vec<(ChainId, toolgate_audit::Head)>, StoreError> {
        self.readers.read(readers::chains).await
    }

    async fn overdue(&self) -> Result<Vec<PrincipalId>, StoreError> {
        let now = self.clock.now().as_millis();
        let read = move |db: &rusqlite::Connection| {
            let sql = "SELECT principal FROM approvals WHERE due_at <= ?1 \
                       UNION SELECT principal FROM calls WHERE lease_until <= ?1 \
                       UNION SELECT id FROM units WHERE due_at <= ?1";
            let mut asked = db.prepare_cached(sql).map_err(store_error)?;
            let found = asked
                .query_map([now], |row| row.get::<_, String>(0))
                .map_err(store_error)?;
            found
                .map(|row| PrincipalId::new(row.map_err(store_error)?).map_err(StoreError::corrupt))
                .collect()
        };
        let mut overdue: Vec<PrincipalId> = self.readers.read(read).await?;
        let known: HashSet<_> = overdue.iter().cloned().collect();
        let young = self.writer.overdue().into_iter();
        overdue.extend(young.filter(|id| !known.contains(id)));
        Ok(overdue)
    }
}

impl SqliteStore {
    async fn read_unit(&self, id: &PrincipalId) -> Result<Option<(Arc<Head>, String)>, StoreError> {
        let asked = id.clone();
        let forgotten = self.readers.forgotten();
        let found = self
            .readers
            .read(move |db| readers::unit(db, &asked))
            .await?;
        if let Some((head, policy)) = &found
            && head.policy.digest != Digest::of(policy.as_bytes())
        {
            return Err(StoreError::corrupt("a policy is not the one that was set"));
        }
        if let Some((head, policy)) = &found {
            self.readers.keep(forgotten, id, head, policy);
        }
        Ok(found)
    }
}

/// One query for each filter, so that each goes by the index made for it.
fn approvals_sql(query: &ApprovalQuery) -> &'static str {
    match (&query.principal, query.status) {
        (Some(_), Some(_)) => {
            "SELECT principal, row FROM approvals WHERE principal = ?1 AND status = ?2 \
             AND (created_at, id) < (?4, ?5) ORDER BY created_at DESC, id DESC LIMIT ?3"
        }
        (Some(_), None) => {
            "SELECT principal, row FROM approvals WHERE principal = ?1 AND ?2 IS NULL \
             AND (created_at, id) < (?4, ?5) ORDER BY created_at DESC, id DESC LIMIT ?3"
        }
        (None, Some(_)) => {
            "SELECT principal, row FROM approvals WHERE ?1 IS NULL AND status = ?2 \
             AND (created_at, id) < (?4, ?5) ORDER BY created_at DESC, id DESC LIMIT ?3"
        }
        (None, None) => {
            "SELECT principal, row FROM approvals WHERE ?1 IS NULL AND ?2 IS NULL \
             AND (created_at, id) < (?4, ?5) ORDER BY created_at DESC, id DESC LIMIT ?3"
        }
    }
}
