//! Plain records of the built-in backends, in the same file and behind the same writer.
//!
//! A backend gets this handle alone: nothing of a unit can be reached through it.

use rusqlite::OptionalExtension as _;
use rusqlite::params;
use serde_json::Value;
use toolgate_mcp::store::StoreError;

use super::SqliteStore;
use super::error::store_error;
use super::rows;

impl SqliteStore {
    /// The record of that key.
    ///
    /// # Errors
    /// [`StoreError`] if the store cannot be read.
    pub async fn record(
        &self,
        collection: &'static str,
        key: &str,
    ) -> Result<Option<Value>, StoreError> {
        let key = key.to_owned();
        let sql = "SELECT value FROM records WHERE collection = ?1 AND key = ?2";
        let read = move |db: &rusqlite::Connection| {
            let found: Option<String> = db
                .prepare_cached(sql)
                .and_then(|mut query| {
                    query
                        .query_row([collection, &key], |row| row.get(0))
                        .optional()
                })
                .map_err(store_error)?;
            found.map(|value| rows::read(&value)).transpose()
        };
        self.readers.read(read).await
    }

    /// The records of a collection whose keys begin with `prefix`, by key.
    ///
    /// # Errors
    /// [`StoreError`] if the store cannot be read.
    pub async fn records(
        &self,
        collection: &'static str,
        prefix: &str,
    ) -> Result<Vec<(String, Value)>, StoreError> {
        let prefix = prefix.to_owned();
        let sql = "SELECT key, value FROM records WHERE collection = ?1 \
                   AND substr(key, 1, length(?2)) = ?2 ORDER BY key";
        let read = move |db: &rusqlite::Connection| {
            let mut query = db.prepare_cached(sql).map_err(store_error)?;
            let found = query
                .query_map([collection, &prefix], |row| {
                    Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
                })
                .map_err(store_error)?;
            found
                .map(|row| {
                    let (key, value) = row.map_err(store_error)?;
                    Ok((key, rows::read(&value)?))
                })
                .collect()
        };
        self.readers.read(read).await
    }

    /// Writes a record.
    ///
    /// # Errors
    /// [`StoreError`] if it was not written.
    pub async fn put_record(
        &self,
        collection: &'static str,
        key: &str,
        value: &Value,
    ) -> Result<(), StoreError> {
        let (key, value) = (key.to_owned(), value.to_string());
        self.writer
            .write(move |db| {
                let sql = "INSERT INTO records (collection, key, value) VALUES (?1, ?2, ?3) \
                           ON CONFLICT (collection, key) DO UPDATE SET value = excluded.value";
                db.prepare_cached(sql)?
                    .execute(params![collection, key, value])?;
                Ok(())
            })
            .await
    }

    /// Removes a record, and says whether there was one.
    ///
    /// # Errors
    /// [`StoreError`] if it was not removed.
    pub async fn delete_record(
        &self,
        collection: &'static str,
        key: &str,
    ) -> Result<bool, StoreError> {
        let key = key.to_owned();
        self.writer
            .write(move |db| {
                let sql = "DELETE FROM records WHERE collection = ?1 AND key = ?2";
                Ok(db.prepare_cached(sql)?.execute(params![collection, key])? == 1)
            })
            .await
    }
}
