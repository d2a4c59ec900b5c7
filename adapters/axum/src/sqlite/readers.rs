//! Reads beside the writer: committed heads from memory, everything else from the file.

use std::collections::HashMap;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::RwLock;

use rusqlite::Connection;
use rusqlite::OpenFlags;
use rusqlite::OptionalExtension as _;
use tokio::sync::Semaphore;
use toolgate_audit::ChainId;
use toolgate_core::id::PrincipalId;
use toolgate_core::key::KeyHash;
use toolgate_core::unit::Head;
use toolgate_mcp::store::Filed;
use toolgate_mcp::store::StoreError;

use super::error::OpenError;
use super::error::store_error;
use super::rows;
use super::schema;

/// Connections kept for the next read.
const KEPT: usize = 4;
/// Reads that run at once; a further one waits for a place.
const READS: usize = 16;

/// A committed head and the text of its policy, as far as they were asked for.
#[derive(Debug, Clone, Default)]
struct Shown {
    head: Option<Arc<Head>>,
    policy: Option<Arc<str>>,
}

#[derive(Debug, Default)]
struct AllShown {
    units: HashMap<PrincipalId, Shown>,
    /// How often all were forgotten.
    forgotten: u64,
}

#[derive(Debug)]
pub(super) struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
    places: Semaphore,
    shown: RwLock<AllShown>,
    /// Found routes never change; missing ones are never kept.
    routes: RwLock<HashMap<KeyHash, PrincipalId>>,
}

impl Readers {
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path,
            idle: Mutex::default(),
            places: Semaphore::new(READS),
            shown: RwLock::default(),
            routes: RwLock::default(),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn clear(&self) {
        self.idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }

    /// Shows a committed head, and the policy if it changed with it.
    ///
    /// INVARIANT: a text is shown only beside the head that it is the policy of. A text that
    /// stayed while the head's policy changed would be judged by under a version that is not its
    /// own.
    pub(super) fn publish(&self, id: PrincipalId, head: Option<Arc<Head>>, policy: Option<String>) {
        let mut shown = self.shown.write().unwrap_or_else(PoisonError::into_inner);
        let Some(head) = head else {
            shown.units.remove(&id);
            return;
        };
        let unit = shown.units.entry(id).or_default();
        let same = unit
            .head
            .as_ref()
            .is_some_and(|known| known.policy == head.policy);
        match policy {
            Some(text) => unit.policy = Some(text.into()),
            None if same => {}
            None => unit.policy = None,
        }
        unit.head = Some(head);
    }

    /// Shows nothing from memory until it was read from the file or committed again.
    pub(super) fn forget(&self) {
        let mut shown = self.shown.write().unwrap_or_else(PoisonError::into_inner);
        shown.units.clear();
        shown.forgotten += 1;
    }

    /// How often everything was forgotten, for [`keep`](Self::keep).
    pub(super) fn forgotten(&self) -> u64 {
        let shown = self.shown.read().unwrap_or_else(PoisonError::into_inner);
        shown.forgotten
    }

    pub(super) fn head(&self, id: &PrincipalId) -> Option<Arc<Head>> {
        let shown = self.shown.read().unwrap_or_else(PoisonError::into_inner);
        shown.units.get(id).and_then(|unit| unit.head.clone())
    }

    /// The head and the policy of one moment, if both are in memory.
    pub(super) fn policy(&self, id: &PrincipalId) -> Option<(u64, String)> {
        let shown = self.shown.read().unwrap_or_else(PoisonError::into_inner);
        let unit = shown.units.get(id)?;
        let version = unit.head.as_ref()?.policy.version;
        Some((version, unit.policy.as_ref()?.to_string()))
    }

    /// Keeps a head that was read from the file, unless a commit was faster. Nothing is kept that
    /// was read before everything was forgotten: what was faster may be forgotten, too.
    pub(super) fn keep(&self, forgotten: u64, id: &PrincipalId, head: &Arc<Head>, policy: &str) {
        let mut shown = self.shown.write().unwrap_or_else(PoisonError::into_inner);
        if shown.forgotten != forgotten {
            return;
        }
        let unit = shown.units.entry(id.clone()).or_default();
        match &unit.head {
            Some(known) if known.version > head.version => {
                if known.policy == head.policy && unit.policy.is_none() {
                    unit.policy = Some(policy.into());
                }
            }
            _ => {
                unit.head = Some(Arc::clone(head));
                unit.policy = Some(policy.into());
            }
        }
    }

    pub(super) fn route(&self, key: &KeyHash) -> Option<PrincipalId> {
        self.routes
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(key)
            .cloned()
    }

    pub(super) fn keep_route(&self, key: &KeyHash, id: &PrincipalId) {
        let mut routes = self.routes.write().unwrap_or_else(PoisonError::into_inner);
        routes.insert(*key, id.clone());
    }

    /// Runs a query on a thread that may block.
    pub(super) async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        query: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let _place = self.places.acquire().await;
        let readers = Arc::clone(self);
        let work = move || {
            let kept = readers
                .idle
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .pop();
            let connection = match kept {
                Some(connection) => connection,
                None => open_read_only(&readers.path).map_err(StoreError::unavailable)?,
            };
            let done = query(&connection);
            let mut idle = readers.idle.lock().unwrap_or_else(PoisonError::into_inner);
            if idle.len() < KEPT {
                idle.push(connection);
            }
            done
        };
        tokio::task::spawn_blocking(work)
            .await
            .map_err(StoreError::unavailable)?
    }
}

fn open_read_only(path: &Path) -> Result<Connection, OpenError> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "busy_timeout", 5_000)?;
    schema::check(&connection)?;
    Ok(connection)
}

/// The audit of a store that another process may have open: read, never written.
#[derive(Debug)]
pub struct ReadOnly(Connection);

impl ReadOnly {
    /// Opens the store of a data folder.
    ///
    /// # Errors
    /// [`OpenError`] if there is none, or it cannot be read.
    pub fn open(folder: &Path) -> Result<Self, OpenError> {
        open_read_only(&folder.join(super::DATABASE)).map(Self)
    }

    /// Every chain with the head that its writer keeps, also chains of which there are only
    /// entries.
    ///
    /// # Errors
    /// [`StoreError`] if the store cannot be read.
    pub fn chains(&self) -> Result<Vec<(ChainId, toolgate_audit::Head)>, StoreError> {
        chains(&self.0)
    }

    /// Entries of one chain from `seq` on, oldest first.
    ///
    /// # Errors
    /// [`StoreError`] if the store cannot be read.
    pub fn slice(
        &self,
        chain: &ChainId,
        from: u64,
        limit: usize,
    ) -> Result<Vec<Filed>, StoreError> {
        slice(&self.0, chain, from, limit)
    }
}

pub(super) fn chains(db: &Connection) -> Result<Vec<(ChainId, toolgate_audit::Head)>, StoreError> {
    let sql = "SELECT id, size, hash FROM units \
               UNION ALL SELECT DISTINCT chain, 0, zeroblob(32) FROM entries \
               WHERE chain NOT IN (SELECT id FROM units) ORDER BY 1";
    let mut query = db.prepare_cached(sql).map_err(store_error)?;
    let mut found = query.query(()).map_err(store_error)?;
    let mut chains = Vec::new();
    while let Some(row) = found.next().map_err(store_error)? {
        let chain: String = row.get(0).map_err(store_error)?;
        let size: i64 = row.get(1).map_err(store_error)?;
        let last: Vec<u8> = row.get(2).map_err(store_error)?;
        chains.push((
            ChainId::new(&chain).map_err(StoreError::corrupt)?,
            toolgate_audit::Head {
                size: u64::try_from(size).map_err(StoreError::corrupt)?,
                hash: rows::hash(&last)?,
            },
        ));
    }
    Ok(chains)
}

pub(super) fn slice(
    db: &Connection,
    chain: &ChainId,
    from: u64,
    limit: usize,
) -> Result<Vec<Filed>, StoreError> {
    let sql = "SELECT position, chain, seq, bytes, hash FROM entries \
               WHERE chain = ?1 AND seq >= ?2 ORDER BY seq, position LIMIT ?3";
    // From the start means from whatever number somebody put before the first.
    let from = match from {
        0 => i64::MIN,
        from => i64::try_from(from).unwrap_or(i64::MAX),
    };
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut query = db.prepare_cached(sql).map_err(store_error)?;
    let mut found = query
        .query((chain.as_str(), from, limit))
        .map_err(store_error)?;
    let mut rows = Vec::new();
    while let Some(row) = found.next().map_err(store_error)? {
        rows.push(rows::filed(row)?);
    }
    Ok(rows)
}

/// A unit's head and policy from the file.
pub(super) fn unit(
    db: &Connection,
    id: &PrincipalId,
) -> Result<Option<(Arc<Head>, String)>, StoreError> {
    let found = db
        .prepare_cached("SELECT head, policy FROM units WHERE id = ?1")
        .and_then(|mut query| {
            query
                .query_row([id.as_str()], |row| {
                    Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
                })
                .optional()
        })
        .map_err(store_error)?;
    found
        .map(|(head, policy)| Ok((Arc::new(rows::read(&head)?), policy)))
        .transpose()
}
