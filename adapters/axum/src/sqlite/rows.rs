//! A unit's rows: what a move needs, and what it changes.

use rusqlite::Connection;
use rusqlite::OptionalExtension as _;
use rusqlite::Row;
use rusqlite::params;
use serde::Serialize;
use serde::de::DeserializeOwned;
use toolgate_audit::ChainId;
use toolgate_audit::Hash;
use toolgate_audit::Row as Entry;
use toolgate_core::approval::Approval;
use toolgate_core::id::CallId;
use toolgate_core::id::PrincipalId;
use toolgate_core::time::Timestamp;
use toolgate_core::unit::CallChange;
use toolgate_core::unit::Changes;
use toolgate_core::unit::Loaded;
use toolgate_core::unit::Move;
use toolgate_core::unit::Needs;
use toolgate_core::unit::Running;
use toolgate_mcp::store::Filed;
use toolgate_mcp::store::Position;
use toolgate_mcp::store::StoreError;

use super::error::store_error;
use super::stage::Saved;
use super::stage::Unit;
use super::stage::Write;

/// How many overdue rows a sweep takes at once.
pub(super) const MOST_DUE: usize = 256;

/// Entries to append to a unit's chain, with the salts of their commitments.
#[derive(Debug, Default)]
pub(super) struct Entries {
    pub(super) rows: Vec<Entry>,
    pub(super) salts: Vec<(u64, String)>,
}

pub(super) fn read<T: DeserializeOwned>(text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(StoreError::corrupt)
}

fn write<T: Serialize>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(StoreError::corrupt)
}

fn number(value: u64) -> Result<i64, StoreError> {
    i64::try_from(value).map_err(StoreError::corrupt)
}

fn natural(value: i64) -> Result<u64, StoreError> {
    u64::try_from(value).map_err(StoreError::corrupt)
}

pub(super) fn hash(bytes: &[u8]) -> Result<Hash, StoreError> {
    bytes
        .try_into()
        .map(Hash::from_bytes)
        .map_err(StoreError::corrupt)
}

/// Reads a unit: its head and the calls that run.
pub(super) fn unit(db: &Connection, id: &PrincipalId) -> Result<Unit, StoreError> {
    let found = db
        .prepare_cached("SELECT head, size, hash FROM units WHERE id = ?1")
        .and_then(|mut query| {
            query
                .query_row([id.as_str()], |row| {
                    Ok((
                        row.get::<_, String>(0)?,
                        row.get::<_, i64>(1)?,
                        row.get::<_, Vec<u8>>(2)?,
                    ))
                })
                .optional()
        })
        .map_err(store_error)?;
    let Some((head, size, last)) = found else {
        return Ok(Unit::default());
    };
    let chain = toolgate_audit::Head {
        size: natural(size)?,
        hash: hash(&last)?,
    };
    let running = parsed(
        db,
        "SELECT row FROM calls WHERE principal = ?1",
        [id.as_str()],
    )?;
    Ok(Unit::stored(Some(read(&head)?), chain, running))
}

/// Reads one column of JSON, row by row.
fn parsed<T: DeserializeOwned>(
    db: &Connection,
    sql: &str,
    values: impl rusqlite::Params,
) -> Result<Vec<T>, StoreError> {
    let mut query = db.prepare_cached(sql).map_err(store_error)?;
    let rows = query
        .query_map(values, |row| row.get::<_, String>(0))
        .map_err(store_error)?;
    rows.map(|row| read(&row.map_err(store_error)?)).collect()
}

/// One approval by its name.
pub(super) fn approval(
    db: &Connection,
    id: &PrincipalId,
    approval: &str,
) -> Result<Option<Approval>, StoreError> {
    let sql = "SELECT row FROM approvals WHERE id = ?1 AND principal = ?2";
    Ok(parsed(db, sql, [approval, id.as_str()])?.pop())
}

/// The rows that a move needs beside what its unit holds in memory.
pub(super) fn load(
    db: &Connection,
    id: &PrincipalId,
    asked: &Move,
    now: Timestamp,
) -> Result<Loaded, StoreError> {
    let mut loaded = Loaded::default();
    match asked.needs() {
        Needs::Head | Needs::Call(_) => {}
        Needs::Approval(name) => loaded.approval = approval(db, id, name.as_str())?,
        Needs::Request(None, _) => {}
        Needs::Request(Some(request), _) => {
            let sql = "SELECT row FROM approvals WHERE principal = ?1 AND request = ?2 \
                       ORDER BY generation DESC LIMIT 1";
            let key = request.to_hex();
            loaded.approval = parsed(db, sql, [id.as_str(), key.as_str()])?.pop();
        }
        Needs::Due => {
            let sql = "SELECT row FROM approvals WHERE due_at <= ?2 AND principal = ?1 LIMIT ?3";
            let most = i64::try_from(MOST_DUE).unwrap_or(i64::MAX);
            loaded.due = parsed(db, sql, params![id.as_str(), now.as_millis(), most])?;
        }
    }
    Ok(loaded)
}

fn execute(db: &Connection, sql: &str, values: impl rusqlite::Params) -> Result<usize, StoreError> {
    db.prepare_cached(sql)
        .and_then(|mut query| query.execute(values))
        .map_err(store_error)
}

/// Saves a unit's head and the head of its chain. The caller has a transaction open.
pub(super) fn save_unit(db: &Connection, saved: &Saved) -> Result<(), StoreError> {
    let values = (
        saved.id.as_str(),
        write(saved.head.as_ref())?,
        number(saved.chain.size)?,
        saved.chain.hash.as_bytes().as_slice(),
        saved.head.due_at().map(Timestamp::as_millis),
    );
    let kept = "UPDATE units SET head = ?2, size = ?3, hash = ?4, due_at = ?5 WHERE id = ?1";
    if execute(db, kept, values.clone())? == 0 {
        let first = "INSERT INTO units (id, head, size, hash, due_at, policy) \
                     VALUES (?1, ?2, ?3, ?4, ?5, '')";
        execute(db, first, values)?;
    }
    Ok(())
}

/// Saves what a move that was worked out in memory leaves beside the head.
pub(super) fn save_write(db: &Connection, write: &Write) -> Result<(), StoreError> {
    for call in &write.gone {
        drop_call(db, &write.id, call)?;
    }
    append(db, &write.id, &write.entries.rows, &write.entries.salts)
}

fn drop_call(db: &Connection, id: &PrincipalId, call: &CallId) -> Result<(), StoreError> {
    let sql = "DELETE FROM calls WHERE principal = ?1 AND call = ?2";
    execute(db, sql, [id.as_str(), call.as_str()]).map(|_| ())
}

/// Saves a call that runs.
pub(super) fn save_call(
    db: &Connection,
    id: &PrincipalId,
    running: &Running,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO calls (principal, call, lease_until, row) VALUES (?1, ?2, ?3, ?4)";
    let lease = running.lease_until.as_millis();
    let values = params![id.as_str(), running.call.as_str(), lease, write(running)?];
    execute(db, sql, values).map(|_| ())
}

/// Appends entries to a unit's chain.
pub(super) fn append(
    db: &Connection,
    id: &PrincipalId,
    rows: &[Entry],
    salts: &[(u64, String)],
) -> Result<(), StoreError> {
    for row in rows {
        let sql = "INSERT INTO entries (chain, seq, bytes, hash) VALUES (?1, ?2, ?3, ?4)";
        let seq = number(row.seq)?;
        let values = params![row.chain.as_str(), seq, row.bytes, row.hash.as_bytes()];
        execute(db, sql, values)?;
    }
    for (seq, salt) in salts {
        let sql = "INSERT INTO salts (chain, seq, salt) VALUES (?1, ?2, ?3)";
        execute(db, sql, params![id.as_str(), number(*seq)?, salt])?;
    }
    Ok(())
}

/// Saves what a move changes beside the head, the entries and the calls that begin. The caller has
/// a transaction open.
pub(super) fn save(
    db: &Connection,
    id: &PrincipalId,
    changes: &Changes,
    policy: Option<&str>,
) -> Result<(), StoreError> {
    if let Some(policy) = policy {
        execute(
            db,
            "UPDATE units SET policy = ?2 WHERE id = ?1",
            (id.as_str(), policy),
        )?;
    }
    for approval in &changes.approvals {
        let values = params![
            approval.id.as_str(),
            id.as_str(),
            approval.request.to_hex(),
            approval.generation,
            approval.status.as_str(),
            approval.created_at.as_millis(),
            approval.due_at().map(Timestamp::as_millis),
            write(approval)?,
        ];
        let sql = "INSERT INTO approvals \
                   (id, principal, request, generation, status, created_at, due_at, row) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) \
                   ON CONFLICT (id) DO UPDATE SET \
                   status = excluded.status, due_at = excluded.due_at, row = excluded.row";
        execute(db, sql, values)?;
    }
    for gone in &changes.dropped {
        execute(db, "DELETE FROM approvals WHERE id = ?1", [gone.as_str()])?;
    }
    for change in &changes.calls {
        if let CallChange::Drop(call) = change {
            drop_call(db, id, call)?;
        }
    }
    Ok(())
}

/// An entry as it is stored; the columns are position, chain, seq, bytes, hash.
///
/// What cannot be a number or a hash becomes zero: a verification then says what is wrong with
/// the row, and one spoilt row hides no other.
pub(super) fn filed(row: &Row<'_>) -> Result<Filed, StoreError> {
    let get = |at: usize| row.get::<_, i64>(at).map_err(store_error);
    let chain: String = row.get(1).map_err(store_error)?;
    let bytes: Vec<u8> = row.get(3).map_err(store_error)?;
    let last: Vec<u8> = row.get(4).map_err(store_error)?;
    Ok(Filed {
        position: Position(get(0)?.try_into().unwrap_or_default()),
        chain: ChainId::new(&chain).map_err(StoreError::corrupt)?,
        seq: get(2)?.try_into().unwrap_or_default(),
        bytes,
        hash: hash(&last).unwrap_or_default(),
    })
}
