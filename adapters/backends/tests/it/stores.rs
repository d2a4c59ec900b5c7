//! Stores that are slow or do not answer.

use async_trait::async_trait;
use serde_json::Value;
use toolgate_backends::BackendError;
use toolgate_backends::FilePath;
use toolgate_backends::FileStore;
use toolgate_backends::RecordStore;
use toolgate_backends::memory::MemoryRecords;

/// Lets everybody else go first, between any two things that it does.
#[derive(Debug, Default)]
pub(crate) struct Slow(MemoryRecords);

#[async_trait]
impl RecordStore for Slow {
    async fn get(&self, of: &'static str, key: &str) -> Result<Option<Value>, BackendError> {
        let found = self.0.get(of, key).await;
        tokio::task::yield_now().await;
        found
    }

    async fn list(
        &self,
        of: &'static str,
        prefix: &str,
    ) -> Result<Vec<(String, Value)>, BackendError> {
        let found = self.0.list(of, prefix).await;
        tokio::task::yield_now().await;
        found
    }

    async fn put(&self, of: &'static str, key: &str, value: &Value) -> Result<(), BackendError> {
        tokio::task::yield_now().await;
        self.0.put(of, key, value).await
    }

    async fn delete(&self, of: &'static str, key: &str) -> Result<bool, BackendError> {
        tokio::task::yield_now().await;
        self.0.delete(of, key).await
    }
}

/// Reads, if it is told to, and fails at every write.
#[derive(Debug)]
pub(crate) struct Broken {
    pub(crate) reads: bool,
}

fn broken() -> BackendError {
    BackendError::unavailable("the disk at 10.0.0.7 is gone")
}

#[async_trait]
impl RecordStore for Broken {
    async fn get(&self, _: &'static str, _: &str) -> Result<Option<Value>, BackendError> {
        let ticket = serde_json::json!({"id": "T-1", "comments": []});
        self.reads.then_some(Some(ticket)).ok_or_else(broken)
    }

    async fn list(&self, _: &'static str, _: &str) -> Result<Vec<(String, Value)>, BackendError> {
        self.reads.then(Vec::new).ok_or_else(broken)
    }

    async fn put(&self, _: &'static str, _: &str, _: &Value) -> Result<(), BackendError> {
        Err(broken())
    }

    async fn delete(&self, _: &'static str, _: &str) -> Result<bool, BackendError> {
        Err(broken())
    }
}

#[async_trait]
impl FileStore for Broken {
    async fn list(&self, _: &str) -> Result<Vec<(String, u64)>, BackendError> {
        Err(broken())
    }

    async fn read(&self, _: &FilePath) -> Result<Option<Vec<u8>>, BackendError> {
        Err(BackendError::TooLarge)
    }

    async fn write(&self, path: &FilePath, _: &[u8]) -> Result<(), BackendError> {
        if path.as_str() == "refused" {
            return Err(BackendError::Refused("that path cannot be written"));
        }
        Err(broken())
    }
}
