//! What backends keep their things in.

use std::fmt;

use async_trait::async_trait;
use serde_json::Value;
use toolgate_core::rules::AllowedHosts;

use crate::BackendError;
use crate::FilePath;

/// Keeps records of a few collections; a key is opaque, whatever is in it.
#[async_trait]
pub trait RecordStore: Send + Sync + fmt::Debug {
    /// The record of that key.
    async fn get(&self, collection: &'static str, key: &str)
    -> Result<Option<Value>, BackendError>;

    /// The records whose keys begin with `prefix`, by key.
    async fn list(
        &self,
        collection: &'static str,
        prefix: &str,
    ) -> Result<Vec<(String, Value)>, BackendError>;

    /// Writes a record.
    async fn put(
        &self,
        collection: &'static str,
        key: &str,
        value: &Value,
    ) -> Result<(), BackendError>;

    /// Removes a record, and says whether there was one.
    async fn delete(&self, collection: &'static str, key: &str) -> Result<bool, BackendError>;
}

/// Keeps files under relative paths.
#[async_trait]
pub trait FileStore: Send + Sync + fmt::Debug {
    /// The files whose paths begin with `prefix`, with their sizes in bytes, by path.
    async fn list(&self, prefix: &str) -> Result<Vec<(String, u64)>, BackendError>;

    /// A file's bytes; nothing if there is no such file.
    async fn read(&self, path: &FilePath) -> Result<Option<Vec<u8>>, BackendError>;

    /// Writes a file whole.
    async fn write(&self, path: &FilePath, bytes: &[u8]) -> Result<(), BackendError>;
}

/// What came from an address.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[expect(clippy::exhaustive_structs, reason = "made by every adapter")]
pub struct Fetched {
    /// The HTTP status.
    pub status: u16,
    /// The content type, if the server named one.
    pub content_type: Option<String>,
    /// Where the server points to instead; nobody goes there.
    pub location: Option<String>,
    /// The body, or its first bytes.
    pub body: Vec<u8>,
    /// Whether the body is longer than what was read.
    pub truncated: bool,
}

/// Fetches an address over HTTPS, once: no redirect is followed, no private address is reached.
#[async_trait]
pub trait Fetch: Send + Sync + fmt::Debug {
    /// Fetches `url`, which `hosts` allow, and reads at most `most` bytes of its body.
    async fn get(
        &self,
        url: &str,
        hosts: &AllowedHosts,
        most: usize,
    ) -> Result<Fetched, BackendError>;
}
