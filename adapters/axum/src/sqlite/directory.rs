//! The role that finds units, operators and stored policies.

use async_trait::async_trait;
use rusqlite::Connection;
use rusqlite::OptionalExtension as _;
use rusqlite::params;
use toolgate_core::approval::ApprovalId;
use toolgate_core::id::OperatorName;
use toolgate_core::id::PolicyName;
use toolgate_core::id::PrincipalId;
use toolgate_core::id::PrincipalName;
use toolgate_core::key::KeyHash;
use toolgate_mcp::store::Directory;
use toolgate_mcp::store::NamedPolicy;
use toolgate_mcp::store::Operator;
use toolgate_mcp::store::StoreError;

use super::SqliteStore;
use super::error::store_error;
use super::rows;

/// One text, if there is one.
fn text(db: &Connection, sql: &str, key: &str) -> Result<Option<String>, StoreError> {
    db.prepare_cached(sql)
        .and_then(|mut query| query.query_row([key], |row| row.get(0)).optional())
        .map_err(store_error)
}

fn principal(found: Option<String>) -> Result<Option<PrincipalId>, StoreError> {
    found
        .map(|id| PrincipalId::new(id).map_err(StoreError::corrupt))
        .transpose()
}

fn policy(db: &Connection, name: Option<&PolicyName>) -> Result<Vec<NamedPolicy>, StoreError> {
    let sql = "SELECT name, text, version FROM policies WHERE ?1 IS NULL OR name = ?1 ORDER BY 1";
    let mut query = db.prepare_cached(sql).map_err(store_error)?;
    let found = query
        .query_map([name.map(PolicyName::as_str)], |row| {
            Ok((
                row.get::<_, String>(0)?,
                row.get::<_, String>(1)?,
                row.get::<_, i64>(2)?,
            ))
        })
        .map_err(store_error)?;
    found
        .map(|row| {
            let (name, text, version) = row.map_err(store_error)?;
            Ok(NamedPolicy {
                name: PolicyName::new(name).map_err(StoreError::corrupt)?,
                text,
                version: u64::try_from(version).map_err(StoreError::corrupt)?,
            })
        })
        .collect()
}

#[async_trait]
impl Directory for SqliteStore {
    async fn principal_of_key(&self, key: &KeyHash) -> Result<Option<PrincipalId>, StoreError> {
        if let Some(id) = self.readers.route(key) {
            return Ok(Some(id));
        }
        let hash = key.to_hex();
        let sql = "SELECT principal FROM keys WHERE hash = ?1";
        let found = self
            .readers
            .read(move |db| principal(text(db, sql, &hash)?))
            .await?;
        if let Some(id) = &found {
            self.readers.keep_route(key, id);
        }
        Ok(found)
    }

    async fn remember_key(&self, key: &KeyHash, id: &PrincipalId) -> Result<(), StoreError> {
        let (hash, id) = (key.to_hex(), id.to_string());
        self.writer
            .write(move |db| {
                db.prepare_cached("INSERT OR IGNORE INTO keys (hash, principal) VALUES (?1, ?2)")?
                    .execute([hash, id])?;
                Ok(())
            })
            .await
    }

    async fn claim_name(&self, name: &PrincipalName, id: &PrincipalId) -> Result<bool, StoreError> {
        let (name, id) = (name.to_string(), id.to_string());
        self.writer
            .write(move |db| {
                db.prepare_cached("INSERT OR IGNORE INTO names (name, principal) VALUES (?1, ?2)")?
                    .execute([&name, &id])?;
                let holder: String = db
                    .prepare_cached("SELECT principal FROM names WHERE name = ?1")?
                    .query_row([&name], |row| row.get(0))?;
                Ok(holder == id)
            })
            .await
    }

    async fn principal_of_name(
        &self,
        name: &PrincipalName,
    ) -> Result<Option<PrincipalId>, StoreError> {
        let name = name.to_string();
        let sql = "SELECT principal FROM names WHERE name = ?1";
        self.readers
            .read(move |db| principal(text(db, sql, &name)?))
            .await
    }

    async fn principals(&self) -> Result<Vec<(PrincipalName, PrincipalId)>, StoreError> {
        let read = |db: &Connection| {
            let mut query = db
                .prepare_cached("SELECT name, principal FROM names ORDER BY name")
                .map_err(store_error)?;
            let found = query
                .query_map((), |row| {
                    Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
                })
                .map_err(store_error)?;
            found
                .map(|row| {
                    let (name, id) = row.map_err(store_error)?;
                    Ok((
                        PrincipalName::new(name).map_err(StoreError::corrupt)?,
                        PrincipalId::new(id).map_err(StoreError::corrupt)?,
                    ))
                })
                .collect()
        };
        self.readers.read(read).await
    }

    async fn principal_of_approval(
        &self,
        approval: &ApprovalId,
    ) -> Result<Option<PrincipalId>, StoreError> {
        let approval = approval.to_string();
        let sql = "SELECT principal FROM approvals WHERE id = ?1";
        self.readers
            .read(move |db| principal(text(db, sql, &approval)?))
            .await
    }

    /// The approval's own row says whose it is.
    async fn remember_approval(&self, _: &ApprovalId, _: &PrincipalId) -> Result<(), StoreError> {
        Ok(())
    }

    async fn operator_of_token(&self, token: &KeyHash) -> Result<Option<Operator>, StoreError> {
        let token = *token;
        let sql = "SELECT row FROM operators WHERE token = ?1";
        let read = move |db: &Connection| {
            let found = text(db, sql, &token.to_hex())?;
            let operator: Option<Operator> = found.map(|row| rows::read(&row)).transpose()?;
            Ok(operator.filter(|operator| operator.token.matches(&token)))
        };
        self.readers.read(read).await
    }

    async fn operators(&self) -> Result<Vec<Operator>, StoreError> {
        let read = |db: &Connection| {
            let mut query = db
                .prepare_cached("SELECT row FROM operators ORDER BY name")
                .map_err(store_error)?;
            let found = query
                .query_map((), |row| row.get::<_, String>(0))
                .map_err(store_error)?;
            found
                .map(|row| rows::read(&row.map_err(store_error)?))
                .collect()
        };
        self.readers.read(read).await
    }

    async fn add_operator(&self, operator: Operator) -> Result<bool, StoreError> {
        let row = serde_json::to_string(&operator).map_err(StoreError::corrupt)?;
        self.writer
            .write(move |db| {
                let sql = "INSERT INTO operators (name, token, row) VALUES (?1, ?2, ?3) \
                           ON CONFLICT DO NOTHING";
                let values = params![operator.name.as_str(), operator.token.to_hex(), row];
                Ok(db.prepare_cached(sql)?.execute(values)? == 1)
            })
            .await
    }

    async fn remove_operator(&self, name: &OperatorName) -> Result<bool, StoreError> {
        let name = name.to_string();
        self.writer
            .write(move |db| {
                let sql = "DELETE FROM operators WHERE name = ?1";
                Ok(db.prepare_cached(sql)?.execute([name])? == 1)
            })
            .await
    }

    async fn named_policy(&self, name: &PolicyName) -> Result<Option<NamedPolicy>, StoreError> {
        let name = name.clone();
        self.readers
            .read(move |db| Ok(policy(db, Some(&name))?.pop()))
            .await
    }

    async fn named_policies(&self) -> Result<Vec<NamedPolicy>, StoreError> {
        self.readers.read(|db| policy(db, None)).await
    }

    async fn store_policy(&self, name: &PolicyName, text: &str) -> Result<u64, StoreError> {
        let (name, text) = (name.to_string(), text.to_owned());
        let version: i64 = self
            .writer
            .write(move |db| {
                let sql = "INSERT INTO policies (name, text, version) VALUES (?1, ?2, 1) \
                           ON CONFLICT (name) DO UPDATE SET \
                           text = excluded.text, version = version + 1 RETURNING version";
                db.prepare_cached(sql)?
                    .query_row([name, text], |row| row.get(0))
            })
            .await?;
        u64::try_from(version).map_err(StoreError::corrupt)
    }
}
