//! Stores in memory, for tests and for embedders whose state may die with the process.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::PoisonError;

use async_trait::async_trait;
use serde_json::Value;

use crate::BackendError;
use crate::FilePath;
use crate::FileStore;
use crate::RecordStore;

/// Records in memory.
#[derive(Debug, Default)]
pub struct MemoryRecords(Mutex<BTreeMap<(&'static str, String), Value>>);

#[async_trait]
impl RecordStore for MemoryRecords {
    async fn get(
        &self,
        collection: &'static str,
        key: &str,
    ) -> Result<Option<Value>, BackendError> {
        let records = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(records.get(&(collection, key.to_owned())).cloned())
    }

    async fn list(
        &self,
        collection: &'static str,
        prefix: &str,
    ) -> Result<Vec<(String, Value)>, BackendError> {
        let records = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(records
            .iter()
            .filter(|((of, key), _)| *of == collection && key.starts_with(prefix))
            .map(|((_, key), value)| (key.clone(), value.clone()))
            .collect())
    }

    async fn put(
        &self,
        collection: &'static str,
        key: &str,
        value: &Value,
    ) -> Result<(), BackendError> {
        let mut records = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        records.insert((collection, key.to_owned()), value.clone());
        Ok(())
    }

    async fn delete(&self, collection: &'static str, key: &str) -> Result<bool, BackendError> {
        let mut records = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(records.remove(&(collection, key.to_owned())).is_some())
    }
}

/// Files in memory.
#[derive(Debug, Default)]
pub struct MemoryFiles(Mutex<BTreeMap<String, Vec<u8>>>);

#[async_trait]
impl FileStore for MemoryFiles {
    async fn list(&self, prefix: &str) -> Result<Vec<(String, u64)>, BackendError> {
        let files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(files
            .iter()
            .filter(|(path, _)| path.starts_with(prefix))
            .map(|(path, bytes)| (path.clone(), bytes.len() as u64))
            .collect())
    }

    async fn read(&self, path: &FilePath) -> Result<Option<Vec<u8>>, BackendError> {
        let files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(files.get(path.as_str()).cloned())
    }

    async fn write(&self, path: &FilePath, bytes: &[u8]) -> Result<(), BackendError> {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        files.insert(path.as_str().to_owned(), bytes.to_vec());
        Ok(())
    }
}
