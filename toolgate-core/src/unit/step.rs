//! The one step: rows and a move in, an outcome, changes and events out.

use std::sync::Arc;

use serde::Deserialize;
use serde::Serialize;

use super::Event;
use super::EventKind;
use super::Head;
use super::Key;
use super::Killed;
use super::Move;
use super::PolicyRef;
use super::admit;
use super::collect;
use super::decide;
use super::moves::Create;
use super::moves::SetPolicy;
use super::settle;
use super::sweep;
use crate::approval::Approval;
use crate::approval::ApprovalId;
use crate::digest::Digest;
use crate::id::CallId;
use crate::id::KeyId;
use crate::id::OperatorName;
use crate::id::PrincipalId;
use crate::id::ToolName;
use crate::limits::Meters;
use crate::time::Timestamp;
use crate::verdict::Code;
use crate::verdict::Reason;
use crate::verdict::Retry;

/// An observation that was admitted and is not written down yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Running {
    /// The call.
    pub call: CallId,
    /// The tool.
    pub tool: ToolName,
    /// The definition under which it runs.
    pub digest: Digest,
    /// The key that makes it.
    pub key: Option<KeyId>,
    /// The policy under which it was admitted.
    pub policy_version: u64,
    /// The arguments, redacted.
    pub redacted: Option<serde_json::Value>,
    /// The commitment to them.
    pub seal: Option<super::Seal>,
    /// When it was admitted.
    pub admitted_at: Timestamp,
    /// How often the principal had been switched off by then.
    #[serde(default)]
    pub kills: u64,
    /// When it counts as lost.
    pub lease_until: Timestamp,
}

/// The rows that a move named.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Loaded {
    /// The head; none if there is no such principal.
    pub head: Option<Arc<Head>>,
    /// The approval that was named, or the latest generation of the request.
    pub approval: Option<Approval>,
    /// The running call.
    pub call: Option<Running>,
    /// Approvals that are overdue.
    pub due: Vec<Approval>,
    /// Running calls whose lease is over.
    pub lapsed: Vec<Running>,
}

/// A change of a running call's row.
#[derive(Debug, Clone, PartialEq)]
pub enum CallChange {
    /// It is gone.
    Drop(CallId),
    /// It is there.
    Put(Box<Running>),
}

/// What a store saves, all or nothing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Changes {
    /// The head as it is now; none if nothing changed.
    pub head: Option<Head>,
    /// Approvals as they are now.
    pub approvals: Vec<Approval>,
    /// Approvals that are gone.
    pub dropped: Vec<ApprovalId>,
    /// Running calls.
    pub calls: Vec<CallChange>,
    /// The text of the policy in force, if it changed.
    pub policy: Option<String>,
}

/// What a move came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", content = "with", rename_all = "snake_case")]
pub enum Outcome {
    /// The observation may run.
    Admitted,
    /// The call may be made, once, by whoever got this.
    Claimed(Box<Approval>),
    /// The result may be handed over.
    Collected(Box<Approval>),
    /// The request was decided before, or its window is over.
    Conflict(Box<Approval>),
    /// The request is answered, and nothing runs.
    Decided(Box<Approval>),
    /// It is done, or was done before.
    Done,
    /// There is such a principal already.
    Exists,
    /// An earlier request answers.
    Held(Box<Approval>),
    /// The claim had lapsed; the result is kept as evidence.
    Late(Box<Approval>),
    /// There is no such principal or row.
    Missing,
    /// This operator may not answer this request.
    NotApprover,
    /// A request waits for a person.
    Queued(Box<Approval>),
    /// It is written down, and may be disclosed.
    Recorded,
    /// The call is refused.
    Refused(Reason),
    /// The outcome is stored.
    Settled(Box<Approval>),
    /// The policy that the move was worked out from is not in force any more.
    Stale,
    /// How many rows a sweep closed.
    Swept(u32),
    /// The key is not good.
    Unauthorised,
    /// It is written down, and must not be disclosed.
    Withheld(Reason),
}

/// A step's answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// What the move came to.
    pub outcome: Outcome,
    /// What to save.
    pub changes: Changes,
    /// What to write down, in order.
    pub events: Vec<Event>,
}

impl Step {
    /// Nothing changes.
    pub(super) fn still(outcome: Outcome) -> Self {
        Self {
            outcome,
            changes: Changes::default(),
            events: Vec::new(),
        }
    }
}

/// A step in the making, over a head that exists.
pub(super) struct Draft {
    pub(super) head: Head,
    pub(super) now: Timestamp,
    changes: Changes,
    events: Vec<Event>,
}

impl Draft {
    fn new(head: &Head, stamp: Timestamp) -> Self {
        let mut head = Head::clone(head);
        head.at = head.at.max(stamp);
        Self {
            now: head.at,
            head,
            changes: Changes::default(),
            events: Vec::new(),
        }
    }

    pub(super) fn save(&mut self, approval: &Approval) {
        self.changes.approvals.push(approval.clone());
    }

    pub(super) fn drop_approval(&mut self, id: &ApprovalId) {
        self.changes.dropped.push(id.clone());
    }

    pub(super) fn call(&mut self, change: CallChange) {
        self.changes.calls.push(change);
    }

    pub(super) fn event(&mut self, event: Event) {
        self.events.push(event);
    }

    /// The step, with the changed head.
    pub(super) fn end(mut self, outcome: Outcome) -> Step {
        self.head.version = self.head.version.saturating_add(1);
        self.changes.head = Some(self.head);
        Step {
            outcome,
            changes: self.changes,
            events: self.events,
        }
    }

    pub(super) fn killed(&self) -> Option<Reason> {
        self.head
            .killed
            .as_ref()
            .map(|_| Reason::new(Code::Killed, "this agent is switched off", Retry::Never))
    }

    /// Why nothing of a key may go on: the principal is switched off, or the key is not good.
    pub(super) fn barred(&self, key: Option<&KeyId>) -> Option<Reason> {
        let bad = |key: &&KeyId| self.head.good_key(key, self.now).is_none();
        self.killed().or_else(|| {
            key.filter(bad).map(|_| {
                let message = "the key that made the call is not good any more";
                Reason::new(Code::KeyRevoked, message, Retry::Never)
            })
        })
    }

    /// Whether the caller's key is good; a caller that the host vouches for has none.
    pub(super) fn authorised(&mut self, key: Option<&KeyId>) -> bool {
        let Some(id) = key else { return true };
        let good = self.head.good_key(id, self.now).is_some();
        if good {
            self.head.touch(id, self.now);
        }
        good
    }
}

/// Joins a move with what only the unit knows. `stamp` is the store's clock; one that went back
/// counts as standing still.
///
/// ```
/// use toolgate_core::time::Timestamp;
/// use toolgate_core::unit::{Loaded, Move, Outcome, step};
///
/// let id = "p1".parse()?;
/// let done = step(&id, &Loaded::default(), &Move::Sweep, Timestamp::from_millis(0));
/// assert_eq!(done.outcome, Outcome::Missing);
/// # Ok::<(), toolgate_core::id::IdError>(())
/// ```
#[must_use]
pub fn step(id: &PrincipalId, loaded: &Loaded, asked: &Move, stamp: Timestamp) -> Step {
    let Some(head) = &loaded.head else {
        return match asked {
            Move::Create(create) => born(id, create, stamp),
            Move::Note(event) if *id == PrincipalId::system() => system(id, event, stamp),
            _ => Step::still(Outcome::Missing),
        };
    };
    let draft = Draft::new(head, stamp);
    match asked {
        Move::AddKey { key, by } => add_key(draft, key, by),
        Move::Admit(admit) => admit::admit(draft, loaded, admit),
        Move::Collect(collect) => collect::collect(draft, loaded, collect),
        Move::Create(_) => Step::still(Outcome::Exists),
        Move::Decide(decide) => decide::decide(draft, loaded, decide),
        Move::Kill { by, reason } => kill(draft, by, reason.as_ref()),
        Move::Note(event) => note(draft, event),
        Move::Poll(poll) => collect::poll(draft, loaded, poll),
        Move::Record(record) => settle::record(draft, loaded, record),
        Move::Revive { by } => revive(draft, by),
        Move::RevokeKey { id, by } => revoke_key(draft, id, by),
        Move::SetPolicy(set) => set_policy(draft, set),
        Move::Settle(settle) => settle::settle(draft, loaded, settle),
        Move::Sweep => sweep::sweep(draft, loaded),
    }
}

fn born(id: &PrincipalId, create: &Create, stamp: Timestamp) -> Step {
    let policy = PolicyRef {
        version: 1,
        name: create.policy_name.clone(),
        digest: Digest::of(create.policy.as_bytes()),
    };
    let event = Event::new(EventKind::PrincipalCreated)
        .with("name", &create.name)
        .with("owner", &create.owner)
        .with("policyVersion", policy.version)
        .with("policyDigest", policy.digest)
        .with("by", &create.by);
    let head = Head {
        id: id.clone(),
        name: create.name.clone(),
        owner: create.owner.clone(),
        created_at: stamp,
        version: 1,
        at: stamp,
        killed: None,
        kills: 0,
        keys: Vec::new(),
        policy,
        meters: Meters::default(),
        open: 0,
        fence: 0,
        repeats: Vec::new(),
        answered: Vec::new(),
    };
    let changes = Changes {
        head: Some(head),
        policy: Some(create.policy.clone()),
        ..Changes::default()
    };
    Step {
        outcome: Outcome::Done,
        changes,
        events: vec![event],
    }
}

/// The system's unit comes to be with the first thing written down in it.
fn system(id: &PrincipalId, event: &Event, stamp: Timestamp) -> Step {
    let Ok(name) = "system".parse() else {
        return Step::still(Outcome::Missing);
    };
    let Ok(by) = "toolgate".parse() else {
        return Step::still(Outcome::Missing);
    };
    let policy = r#"{"tools":{}}"#.to_owned();
    let create = Create {
        name,
        owner: None,
        policy,
        policy_name: None,
        by,
    };
    let mut step = born(id, &create, stamp);
    step.events = vec![event.clone()];
    step
}

fn note(mut draft: Draft, event: &Event) -> Step {
    draft.event(event.clone());
    draft.end(Outcome::Done)
}

fn add_key(mut draft: Draft, key: &Key, by: &OperatorName) -> Step {
    if draft.head.keys.iter().any(|known| known.id == key.id) {
        return Step::still(Outcome::Done);
    }
    draft.head.keys.push(key.clone());
    draft.event(
        Event::new(EventKind::KeyCreated)
            .with("key", &key.id)
            .with("expiresAt", key.expires_at)
            .with("by", by),
    );
    draft.end(Outcome::Done)
}

fn revoke_key(mut draft: Draft, id: &KeyId, by: &OperatorName) -> Step {
    let now = draft.now;
    let Some(key) = draft.head.keys.iter_mut().find(|key| key.id == *id) else {
        return Step::still(Outcome::Missing);
    };
    if key.revoked_at.is_some() {
        return Step::still(Outcome::Done);
    }
    key.revoked_at = Some(now);
    draft.event(
        Event::new(EventKind::KeyRevoked)
            .with("key", id)
            .with("by", by),
    );
    draft.end(Outcome::Done)
}

fn kill(mut draft: Draft, by: &OperatorName, reason: Option<&String>) -> Step {
    if draft.head.killed.is_some() {
        return Step::still(Outcome::Done);
    }
    draft.head.killed = Some(Killed {
        by: by.clone(),
        reason: reason.cloned(),
        at: draft.now,
    });
    draft.head.kills = draft.head.kills.saturating_add(1);
    draft.event(
        Event::new(EventKind::Killed)
            .with("by", by)
            .with("reason", reason),
    );
    draft.end(Outcome::Done)
}

fn revive(mut draft: Draft, by: &OperatorName) -> Step {
    if draft.head.killed.take().is_none() {
        return Step::still(Outcome::Done);
    }
    draft.event(Event::new(EventKind::Revived).with("by", by));
    draft.end(Outcome::Done)
}

fn set_policy(mut draft: Draft, set: &SetPolicy) -> Step {
    let digest = Digest::of(set.text.as_bytes());
    let in_force = &draft.head.policy;
    if in_force.version == set.from.saturating_add(1) && in_force.digest == digest {
        return Step::still(Outcome::Done);
    }
    if in_force.version != set.from {
        return Step::still(Outcome::Stale);
    }
    draft.head.policy = PolicyRef {
        version: set.from.saturating_add(1),
        name: set.name.clone(),
        digest,
    };
    let event = Event::new(EventKind::PolicySet)
        .with("policyVersion", draft.head.policy.version)
        .with("policyName", &set.name)
        .with("policyDigest", digest)
        .with("diff", &set.diff)
        .with("by", &set.by);
    draft.event(event);
    draft.changes.policy = Some(set.text.clone());
    draft.end(Outcome::Done)
}
