//! From a loaded unit and a move to what is saved: the step, and its events as entries.

use toolgate_audit::Body;
use toolgate_audit::ChainId;
use toolgate_audit::EntryKind;
use toolgate_audit::Row;
use toolgate_core::id::PrincipalId;
use toolgate_core::time::Timestamp;
use toolgate_core::unit::Changes;
use toolgate_core::unit::Event;
use toolgate_core::unit::Loaded;
use toolgate_core::unit::Move;
use toolgate_core::unit::step;

use super::Moved;
use super::StoreError;

/// What a store saves after a move, all of it or nothing.
#[derive(Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "every store must save every part"
)]
pub struct Advance {
    /// The move's answer.
    pub moved: Moved,
    /// The rows that changed.
    pub changes: Changes,
    /// The entries to append, in order.
    pub rows: Vec<Row>,
    /// Salts of the entries' commitments, by the entry's number; kept apart from the entries.
    pub salts: Vec<(u64, String)>,
    /// The head of the unit's chain afterwards.
    pub chain: toolgate_audit::Head,
}

impl Advance {
    /// Whether there is anything to save.
    #[must_use]
    pub const fn changes_nothing(&self) -> bool {
        self.changes.head.is_none() && self.rows.is_empty()
    }
}

/// Works a move out over what was loaded.
///
/// # Errors
/// [`StoreError`] of kind `Corrupt` if an event cannot be written as an entry; then nothing may
/// be saved.
pub fn advance(
    id: &PrincipalId,
    loaded: &Loaded,
    chain: &toolgate_audit::Head,
    asked: &Move,
    stamp: Timestamp,
) -> Result<Advance, StoreError> {
    let done = step(id, loaded, asked, stamp);
    let at = done
        .changes
        .head
        .as_ref()
        .or(loaded.head.as_deref())
        .map_or(stamp, |head| head.at.max(stamp));
    let chain_id = ChainId::new(id.as_str()).map_err(StoreError::corrupt)?;
    let mut head = *chain;
    let mut rows = Vec::with_capacity(done.events.len());
    let mut salts = Vec::new();
    for event in done.events {
        let salt = event.seal.as_ref().map(|seal| seal.salt.clone());
        let body = body_of(id, event, at)?;
        let (row, next) =
            toolgate_audit::append(&head, &chain_id, &body).map_err(StoreError::corrupt)?;
        if let Some(salt) = salt {
            salts.push((row.seq, salt));
        }
        rows.push(row);
        head = next;
    }
    let seq = rows.last().map(|row| row.seq);
    Ok(Advance {
        moved: Moved {
            outcome: done.outcome,
            at,
            seq,
        },
        changes: done.changes,
        rows,
        salts,
        chain: head,
    })
}

fn body_of(id: &PrincipalId, event: Event, at: Timestamp) -> Result<Body, StoreError> {
    let mut detail = event.detail;
    if let Some(seal) = event.seal {
        detail.insert("commitment".to_owned(), seal.commitment.into());
    }
    let kind = EntryKind::new(&event.kind).map_err(StoreError::corrupt)?;
    let mut body = Body::new(at.as_millis(), kind);
    body.principal = (*id != PrincipalId::system()).then(|| id.to_string());
    body.tool = event.tool;
    body.args = event.args;
    body.detail = detail;
    Ok(body)
}
