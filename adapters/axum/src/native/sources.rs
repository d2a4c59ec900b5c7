//! Wires the built-in sources of tools to what is kept on this machine.

use std::error::Error;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use toolgate_backends::BackendError;
use toolgate_backends::Desk;
use toolgate_backends::FileStore;
use toolgate_backends::Files;
use toolgate_backends::Flags;
use toolgate_backends::RecordStore;
use toolgate_backends::Web;
use toolgate_backends::memory::MemoryFiles;
use toolgate_backends::memory::MemoryRecords;
use toolgate_core::catalog::Catalog;
use toolgate_core::catalog::Tool;
use toolgate_core::id::IdError;
use toolgate_mcp::upstream::Upstream;

use super::Connector;
use crate::fetch::GuardedFetch;
use crate::files::LocalFiles;
use crate::sqlite::OpenError;
use crate::sqlite::SqliteStore;

/// The folder of the files connector, inside the data folder.
const FILES: &str = "files";

/// What the sources get to hold: records, files and a way out, nothing else.
#[derive(Debug, Clone)]
pub(super) struct Sources {
    pub(super) records: Arc<dyn RecordStore>,
    pub(super) files: Arc<dyn FileStore>,
}

impl Sources {
    pub(super) fn open(store: Arc<SqliteStore>, folder: &Path) -> Result<Self, OpenError> {
        let files = LocalFiles::open(&folder.join(FILES)).map_err(OpenError::Folder)?;
        Ok(Self {
            records: Arc::new(Records(store)),
            files: Arc::new(files),
        })
    }

    /// The sources of these names.
    pub(super) fn named(
        &self,
        connectors: &[Connector],
        allow_loopback: bool,
    ) -> Result<Vec<Arc<dyn Upstream>>, ConnectorError> {
        let made = connectors.iter().map(|connector| {
            let (records, files) = (Arc::clone(&self.records), Arc::clone(&self.files));
            let made = match connector {
                Connector::Web => GuardedFetch::new(allow_loopback)
                    .map_err(Into::into)
                    .and_then(|fetch| upstream(Web::new(Arc::new(fetch)))),
                Connector::Desk => upstream(Desk::new(records)),
                Connector::Flags => upstream(Flags::new(records)),
                Connector::Files => upstream(Files::new(files)),
            };
            made.map_err(|why| ConnectorError(*connector, why))
        });
        made.collect()
    }
}

fn upstream<U: Upstream + 'static>(made: Result<U, IdError>) -> Result<Arc<dyn Upstream>, Why> {
    Ok(Arc::new(made?))
}

type Why = Box<dyn Error + Send + Sync>;

/// A built-in source of tools that cannot be used on this machine.
#[derive(Debug)]
pub struct ConnectorError(Connector, Why);

impl fmt::Display for ConnectorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(connector, why) = self;
        write!(
            f,
            "the connector `{}` cannot be used: {why}",
            connector.as_str()
        )
    }
}

impl Error for ConnectorError {}

/// The tools of these sources, without any gate: to check policies against.
///
/// Nothing that the sources would keep or reach is touched.
///
/// # Errors
/// [`ConnectorError`] if one of them cannot be used on this machine.
pub async fn catalog(connectors: &[Connector]) -> Result<Catalog, ConnectorError> {
    let sources = Sources {
        records: Arc::new(MemoryRecords::default()),
        files: Arc::new(MemoryFiles::default()),
    };
    let mut tools = Vec::new();
    for upstream in sources.named(connectors, false)? {
        let source = upstream.source();
        let listing = upstream.tools().await.unwrap_or_default();
        let read = listing.definitions.iter();
        let read = read.filter_map(|definition| Tool::new(&source, definition).ok());
        tools.extend(read.filter(|tool| tool.arguments().usable()).map(Arc::new));
    }
    Ok(Catalog::new(tools, false))
}

/// The records of a store, as sources see them.
#[derive(Debug)]
struct Records(Arc<SqliteStore>);

#[async_trait]
impl RecordStore for Records {
    async fn get(
        &self,
        collection: &'static str,
        key: &str,
    ) -> Result<Option<Value>, BackendError> {
        let found = self.0.record(collection, key).await;
        found.map_err(BackendError::unavailable)
    }

    async fn list(
        &self,
        collection: &'static str,
        prefix: &str,
    ) -> Result<Vec<(String, Value)>, BackendError> {
        let found = self.0.records(collection, prefix).await;
        found.map_err(BackendError::unavailable)
    }

    async fn put(
        &self,
        collection: &'static str,
        key: &str,
        value: &Value,
    ) -> Result<(), BackendError> {
        let put = self.0.put_record(collection, key, value).await;
        put.map_err(BackendError::unavailable)
    }

    async fn delete(&self, collection: &'static str, key: &str) -> Result<bool, BackendError> {
        let deleted = self.0.delete_record(collection, key).await;
        deleted.map_err(BackendError::unavailable)
    }
}
