//! Units in memory, as the next commit leaves them, and what it has to write.
//!
//! Reads and their record are most of what a gate does, so they are worked out here, by whoever
//! asks; the writer takes many of them into one commit. Everything else is the writer's.
//!
//! INVARIANT: of a unit in memory all running calls are in memory, saved or not.

use std::collections::HashMap;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use std::time::Instant;

use tokio::sync::oneshot;
use toolgate_core::id::CallId;
use toolgate_core::id::PrincipalId;
use toolgate_core::time::Timestamp;
use toolgate_core::unit::CallChange;
use toolgate_core::unit::Changes;
use toolgate_core::unit::Head;
use toolgate_core::unit::Loaded;
use toolgate_core::unit::Move;
use toolgate_core::unit::Needs;
use toolgate_core::unit::Outcome;
use toolgate_core::unit::Running;
use toolgate_mcp::store::Advance;
use toolgate_mcp::store::Moved;
use toolgate_mcp::store::StoreError;
use toolgate_mcp::store::Wait;
use toolgate_mcp::store::advance;

use super::rows::Entries;
use super::rows::MOST_DUE;

/// How long what nobody waits for may stay in memory alone. A process that dies within that time
/// after it let a read pass leaves no trace of the read; its result was not disclosed.
pub(super) const YOUNG: Duration = Duration::from_millis(20);

pub(super) type Answer = oneshot::Sender<Result<Moved, StoreError>>;

/// An observation that was let pass.
#[derive(Debug)]
struct Call {
    row: Running,
    /// Whether the file holds it.
    saved: bool,
}

/// A unit as the next commit leaves it.
#[derive(Debug, Default)]
pub(super) struct Unit {
    pub(super) head: Option<Arc<Head>>,
    pub(super) chain: toolgate_audit::Head,
    running: HashMap<CallId, Call>,
    /// The round that commits its last change.
    changed: u64,
    /// The round that commits its last change of more than reads and their record.
    changed_more: u64,
}

impl Unit {
    /// A unit as the file has it.
    pub(super) fn stored(
        head: Option<Head>,
        chain: toolgate_audit::Head,
        running: Vec<Running>,
    ) -> Self {
        let saved = |row: Running| (row.call.clone(), Call { row, saved: true });
        Self {
            head: head.map(Arc::new),
            chain,
            running: running.into_iter().map(saved).collect(),
            ..Self::default()
        }
    }

    pub(super) fn call(&self, name: &CallId) -> Option<Running> {
        self.running.get(name).map(|call| call.row.clone())
    }

    pub(super) fn lapsed(&self, now: Timestamp) -> impl Iterator<Item = &Running> {
        let rows = self.running.values().map(|call| &call.row);
        rows.filter(move |row| row.lease_until <= now)
    }

    /// Adds what a move needs of what is in memory to its rows.
    pub(super) fn complete(&self, mut loaded: Loaded, asked: &Move, now: Timestamp) -> Loaded {
        loaded.head = self.head.clone();
        match asked.needs() {
            Needs::Call(name) | Needs::Request(_, name) => loaded.call = self.call(name),
            Needs::Due => loaded.lapsed = self.lapsed(now).take(MOST_DUE).cloned().collect(),
            Needs::Head | Needs::Approval(_) => {}
        }
        loaded
    }

    /// The calls of these changes: those that begin, and those that are over and that the file
    /// still holds.
    fn take_calls(&mut self, changes: &mut Changes) -> (Vec<CallId>, Vec<CallId>) {
        let (mut begun, mut gone) = (Vec::new(), Vec::new());
        for change in changes.calls.drain(..) {
            match change {
                CallChange::Drop(name) => {
                    if self.running.remove(&name).is_some_and(|call| call.saved) {
                        gone.push(name);
                    }
                }
                CallChange::Put(row) => {
                    begun.push(row.call.clone());
                    let call = Call {
                        row: *row,
                        saved: false,
                    };
                    self.running.insert(call.row.call.clone(), call);
                }
            }
        }
        (begun, gone)
    }
}

/// What one move leaves to be written.
#[derive(Debug)]
pub(super) struct Write {
    pub(super) id: PrincipalId,
    pub(super) entries: Entries,
    /// Calls that are over, and that the file still holds.
    pub(super) gone: Vec<CallId>,
    pub(super) waiting: Option<(Answer, Moved)>,
}

/// A unit's head as a round leaves it.
#[derive(Debug)]
pub(super) struct Saved {
    pub(super) id: PrincipalId,
    pub(super) head: Arc<Head>,
    pub(super) chain: toolgate_audit::Head,
}

/// What one commit writes of moves that were worked out in memory.
#[derive(Debug, Default)]
pub(super) struct Round {
    pub(super) number: u64,
    pub(super) heads: Vec<Saved>,
    pub(super) writes: Vec<Write>,
    pub(super) calls: Vec<(PrincipalId, Running)>,
}

/// What became of a move that was asked of the memory.
pub(super) enum Taken {
    Answered(Moved),
    Waits(oneshot::Receiver<Result<Moved, StoreError>>),
}

/// Whether a move let a read pass.
pub(super) fn is_passed(moved: &Moved) -> bool {
    moved.outcome == Outcome::Admitted
}

/// All units in memory. One stays from its first move on: they are as many as the principals, and
/// hold little beside the calls that run.
#[derive(Debug)]
pub(super) struct Stage {
    units: HashMap<PrincipalId, Unit>,
    /// The round that is being collected; the one before may be in the middle of its commit.
    round: u64,
    committed: u64,
    /// Units that the round changes.
    changed: Vec<PrincipalId>,
    /// Since when something waits for the round that nobody waits for.
    idle_since: Option<Instant>,
    writes: Vec<Write>,
    /// Calls that may be over before they are worth a row, oldest first.
    young: VecDeque<(Instant, PrincipalId, CallId)>,
}

impl Default for Stage {
    fn default() -> Self {
        Self {
            units: HashMap::new(),
            round: 1,
            committed: 0,
            changed: Vec::new(),
            idle_since: None,
            writes: Vec::new(),
            young: VecDeque::new(),
        }
    }
}

impl Stage {
    pub(super) fn unit(&self, id: &PrincipalId) -> Option<&Unit> {
        self.units.get(id)
    }

    pub(super) fn keep(&mut self, id: &PrincipalId, unit: Unit) {
        self.units.insert(id.clone(), unit);
    }

    /// Whether nothing of a unit but reads and their record waits for its commit.
    pub(super) fn is_settled(&self, id: &PrincipalId) -> bool {
        let unit = self.units.get(id);
        unit.is_none_or(|unit| unit.changed_more <= self.committed)
    }

    /// Forgets a unit that the file holds as it is here.
    pub(super) fn forget_unchanged(&mut self, id: &PrincipalId) {
        if self
            .units
            .get(id)
            .is_some_and(|unit| unit.changed <= self.committed)
        {
            self.units.remove(id);
        }
    }

    /// Works a read or its record out; nothing if more is needed than what is in memory.
    ///
    /// An answer about a change that is not committed yet waits for its commit; a read that was
    /// let pass waits for nothing.
    pub(super) fn quick(
        &mut self,
        id: &PrincipalId,
        asked: &Move,
        wait: Wait,
        stamp: Timestamp,
        now: Instant,
    ) -> Result<Option<Taken>, StoreError> {
        let Some(unit) = self.units.get(id) else {
            return Ok(None);
        };
        if !matches!(
            (asked, asked.needs()),
            (Move::Admit(_) | Move::Record(_), Needs::Call(_))
        ) {
            return Ok(None);
        }
        let loaded = unit.complete(Loaded::default(), asked, stamp);
        let done = advance(id, &loaded, &unit.chain, asked, stamp)?;
        if !(done.changes.approvals.is_empty() && done.changes.dropped.is_empty()) {
            return Ok(None);
        }
        let changed = !done.changes_nothing();
        let (entries, gone, moved) = self.take(id, done, false, now);
        let unit = self.units.get(id);
        let told = unit.is_none_or(|unit| match wait {
            Wait::Ordered => self.is_settled(id) && (!changed || is_passed(&moved)),
            Wait::Durable => !changed && unit.changed <= self.committed,
        });
        let waits = !told || !entries.rows.is_empty();
        let (tell, answer) = oneshot::channel();
        let (waiting, taken) = if waits {
            (Some((tell, moved)), Taken::Waits(answer))
        } else {
            (None, Taken::Answered(moved))
        };
        if waits || !gone.is_empty() {
            let id = id.clone();
            self.writes.push(Write {
                id,
                entries,
                gone,
                waiting,
            });
        }
        Ok(Some(taken))
    }

    /// Takes a worked out move over into its unit. What is left to write of it is the caller's.
    pub(super) fn take(
        &mut self,
        id: &PrincipalId,
        mut done: Advance,
        more: bool,
        now: Instant,
    ) -> (Entries, Vec<CallId>, Moved) {
        let changed = !done.changes_nothing();
        let entries = Entries {
            rows: done.rows,
            salts: done.salts,
        };
        if !changed {
            return (entries, Vec::new(), done.moved);
        }
        let unit = self.units.entry(id.clone()).or_default();
        let (begun, gone) = unit.take_calls(&mut done.changes);
        if let Some(head) = done.changes.head {
            unit.head = Some(Arc::new(head));
        }
        unit.chain = done.chain;
        if unit.changed != self.round {
            unit.changed = self.round;
            self.changed.push(id.clone());
        }
        if more {
            unit.changed_more = self.round;
        }
        self.idle_since.get_or_insert(now);
        let young = begun.into_iter().map(|call| (now, id.clone(), call));
        self.young.extend(young);
        (entries, gone, done.moved)
    }

    /// Whether something waits to be written of one unit.
    pub(super) fn has_writes_of(&self, id: &PrincipalId) -> bool {
        self.writes.iter().any(|write| write.id == *id)
    }

    /// Takes what waits to be written of one unit.
    pub(super) fn writes_of(&mut self, id: &PrincipalId) -> Vec<Write> {
        self.writes
            .extract_if(.., |write| write.id == *id)
            .collect()
    }

    /// Whether somebody waits for the next commit.
    pub(super) fn is_waited_for(&self) -> bool {
        !self.writes.is_empty()
    }

    /// When there is something to commit that nobody waits for.
    pub(super) fn due(&self) -> Option<Instant> {
        let young = self.young.front().map(|(since, ..)| *since);
        let since = self.idle_since.into_iter().chain(young).min()?;
        Some(since + YOUNG)
    }

    /// Ends the round, and begins the next.
    pub(super) fn end_round(&mut self, now: Instant) -> Round {
        let mut calls = Vec::new();
        while let Some((_, id, name)) = self.young.pop_front_if(|(since, ..)| *since + YOUNG <= now)
        {
            let unit = self.units.get_mut(&id);
            let call = unit.and_then(|unit| unit.running.get_mut(&name));
            if let Some(call) = call.filter(|call| !call.saved) {
                call.saved = true;
                calls.push((id, call.row.clone()));
            }
        }
        let units = &self.units;
        let heads = self.changed.drain(..).filter_map(|id| {
            let unit = units.get(&id)?;
            let head = Arc::clone(unit.head.as_ref()?);
            let chain = unit.chain;
            Some(Saved { id, head, chain })
        });
        let round = Round {
            number: self.round,
            heads: heads.collect(),
            writes: std::mem::take(&mut self.writes),
            calls,
        };
        self.idle_since = None;
        self.round += 1;
        round
    }

    pub(super) fn committed(&mut self, round: u64) {
        self.committed = round;
    }

    /// Forgets a unit whose rows could not be written, and gives back what was built on them.
    pub(super) fn spoilt(&mut self, id: &PrincipalId) -> Vec<Write> {
        self.units.remove(id);
        self.changed.retain(|changed| changed != id);
        self.writes_of(id)
    }

    /// Forgets everything: what the file holds is only known by reading it. Gives back what was
    /// built on a commit that failed.
    pub(super) fn failed(&mut self) -> Vec<Write> {
        self.units.clear();
        self.changed.clear();
        self.young.clear();
        self.idle_since = None;
        self.committed = self.round;
        self.round += 1;
        std::mem::take(&mut self.writes)
    }

    /// Principals with a call whose lease is over.
    pub(super) fn overdue(&self, now: Timestamp) -> Vec<PrincipalId> {
        let lapsed = |unit: &Unit| unit.lapsed(now).next().is_some();
        let units = self.units.iter().filter(|(_, unit)| lapsed(unit));
        units.map(|(id, _)| id.clone()).collect()
    }
}
