//! One job within a batch.

use std::sync::Arc;

use toolgate_core::id::PrincipalId;
use toolgate_core::unit::CallChange;
use toolgate_core::unit::Changes;
use toolgate_core::unit::Move;
use toolgate_core::verdict::Decision;
use toolgate_mcp::store::Advance;
use toolgate_mcp::store::Moved;
use toolgate_mcp::store::StoreError;
use toolgate_mcp::store::Wait;
use toolgate_mcp::store::advance;

use super::Emptying;
use super::Kept;
use super::QUIET;
use super::Thread;
use super::Waiting;
use super::refuse;
use crate::sqlite::rows;
use crate::sqlite::stage::Answer;
use crate::sqlite::stage::Saved;
use crate::sqlite::stage::Unit;
use crate::sqlite::stage::is_passed;
use crate::sqlite::writer::Work;
use crate::sqlite::writer::not_written;
use crate::sqlite::writer::now;

impl Thread {
    /// Makes a move, and has it answered once it is committed, or at once if it may be.
    pub(super) fn moved(
        &mut self,
        kept: &mut Kept,
        id: &PrincipalId,
        asked: &Move,
        wait: Wait,
        tell: Answer,
    ) {
        let done = loop {
            self.save_earlier(kept, id);
            if self.spoilt {
                break Err(not_written());
            }
            let done = self.within(kept, |thread, kept| thread.apply(kept, id, asked, wait));
            if let Some(done) = done.transpose() {
                break done;
            }
        };
        match done {
            Ok((moved, true)) => {
                let _ = tell.send(Ok(moved));
            }
            Ok((moved, false)) => kept.waiting.push(Waiting::Moved(tell, moved)),
            Err(error) => {
                self.shared.desk().stage.forget_unchanged(id);
                let _ = tell.send(Err(error));
            }
        }
    }

    /// Saves what was worked out of a unit in memory before a move that takes rows of its own: the
    /// entries of a chain are in the order of their numbers.
    fn save_earlier(&mut self, kept: &mut Kept, id: &PrincipalId) {
        let writes = self.shared.desk().stage.writes_of(id);
        if writes.is_empty() {
            return;
        }
        let saved = self.within(kept, |thread, _| {
            let db = &thread.connection;
            writes
                .iter()
                .try_for_each(|write| rows::save_write(db, write))
        });
        match saved {
            Ok(()) => {
                kept.written.insert(id.clone());
                kept.waits_for(writes);
            }
            // Rows of it are in the transaction whose head is not: they go together, or not at all.
            Err(_) if kept.written.contains(id) => {
                self.spoilt = true;
                refuse(writes);
            }
            Err(error) => self.forget_spoilt(id, writes, &error),
        }
    }

    /// Works a move out and saves what it changes beside the head. Says whether it may be told at
    /// once; nothing if something was worked out in memory meanwhile, which comes first.
    fn apply(
        &mut self,
        kept: &mut Kept,
        id: &PrincipalId,
        asked: &Move,
        wait: Wait,
    ) -> Result<Option<(Moved, bool)>, StoreError> {
        let shared = Arc::clone(&self.shared);
        let db = &self.connection;
        // Only this thread writes the file, and takes units in: both are read while others may go
        // on at the desk.
        let known = shared.desk().stage.unit(id).map(|unit| unit.head.clone());
        let (head, read) = match known {
            Some(head) => (head, None),
            None => {
                let unit = rows::unit(db, id)?;
                (unit.head.clone(), Some(unit))
            }
        };
        let later = |head: &Option<Arc<_>>, stamp| {
            let at = |head: &Arc<toolgate_core::unit::Head>| head.at.max(stamp);
            head.as_ref().map_or(stamp, at)
        };
        let loaded = rows::load(db, id, asked, later(&head, shared.clock.now()))?;

        let stage = &mut shared.desk().stage;
        if stage.has_writes_of(id) {
            return Ok(None);
        }
        if let Some(unit) = read.filter(|unit| unit.head.is_some()) {
            stage.keep(id, unit);
        }
        let unknown = Unit::default();
        let unit = stage.unit(id).unwrap_or(&unknown);
        let stamp = shared.clock.now();
        let loaded = unit.complete(loaded, asked, later(&unit.head, stamp));
        let mut done = advance(id, &loaded, &unit.chain, asked, stamp)?;
        let policy = done.changes.policy.take();
        let silent = done.rows.is_empty();
        let changed = !done.changes_nothing();
        let first = loaded.head.is_none();
        if changed {
            // A unit's other rows need the row of its head, so the first one is saved at once.
            if let (true, Some(head)) = (first, &done.changes.head) {
                let (id, head, chain) = (id.clone(), Arc::new(head.clone()), done.chain);
                rows::save_unit(db, &Saved { id, head, chain })?;
            }
            rows::save(db, id, &done.changes, policy.as_deref())?;
            rows::append(db, id, &done.rows, &done.salts)?;
        }
        kept.writes |= changed;
        if changed && (first || policy.is_some() || has_rows(&done)) {
            kept.written.insert(id.clone());
        }
        if erases(&done.changes) {
            let at = now() + QUIET;
            let known = self.empties.map(|known| known.postponed(at));
            self.empties = known.or_else(|| Some(Emptying::by(at)));
        }
        if let Some(policy) = policy {
            kept.policies.insert(id.clone(), policy);
        }
        let (_, _, moved) = stage.take(id, done, !is_read(asked), now());
        let passed = !changed || is_passed(&moved);
        let told = wait == Wait::Ordered && silent && passed && stage.is_settled(id);
        Ok(Some((moved, told)))
    }

    pub(super) fn worked(&mut self, kept: &mut Kept, work: Work) {
        let mut finish = None;
        let done = self.within(kept, |thread, _| {
            let (done, end) = work(&thread.connection);
            finish = Some(end);
            done
        });
        match (done, finish) {
            (Ok(()), Some(finish)) => {
                kept.writes = true;
                kept.waiting.push(Waiting::Work(finish));
            }
            (Err(error), Some(finish)) => finish(Err(error)),
            // Dropping the work drops its sender, which its caller reads.
            (_, None) => {}
        }
    }
}

/// Whether a move leaves rows beside the head.
fn has_rows(done: &Advance) -> bool {
    let changes = &done.changes;
    let drops = |change: &CallChange| matches!(change, CallChange::Drop(_));
    !done.rows.is_empty()
        || !changes.approvals.is_empty()
        || !changes.dropped.is_empty()
        || changes.calls.iter().any(drops)
}

/// Whether arguments that were stored are no longer.
fn erases(changes: &Changes) -> bool {
    !changes.dropped.is_empty() || changes.approvals.iter().any(|a| a.args.is_none())
}

/// Whether a move is a read that may run, or its record.
fn is_read(asked: &Move) -> bool {
    match asked {
        Move::Admit(admit) => admit.verdict.decision == Decision::Run,
        Move::Record(_) => true,
        _ => false,
    }
}
