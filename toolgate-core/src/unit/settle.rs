//! What a call came to.

use super::CallChange;
use super::Event;
use super::EventKind;
use super::Loaded;
use super::Outcome;
use super::Running;
use super::Step;
use super::moves::Record;
use super::moves::Settle;
use super::step::Draft;
use crate::approval::Approval;
use crate::approval::Change;
use crate::approval::Status;
use crate::verdict::Code;
use crate::verdict::Reason;
use crate::verdict::Retry;

pub(super) fn record(mut draft: Draft, loaded: &Loaded, record: &Record) -> Step {
    let Some(running) = &loaded.call else {
        return Step::still(Outcome::Missing);
    };
    let barred = draft.barred(running.key.as_ref()).or_else(|| {
        (running.kills != draft.head.kills).then(|| {
            let message = "this agent was switched off while the call was made";
            Reason::new(Code::Killed, message, Retry::After)
        })
    });
    draft.call(CallChange::Drop(running.call.clone()));
    draft.event(
        observed(running)
            .with("withheld", barred.as_ref().map(|reason| reason.code))
            .with("ending", &record.ending),
    );
    draft.end(barred.map_or(Outcome::Recorded, Outcome::Withheld))
}

/// The entry of an observation, but for how it ended.
pub(super) fn observed(running: &Running) -> Event {
    Event::new(EventKind::Call)
        .tool(Some(&running.tool))
        .args(running.redacted.as_ref(), running.seal.as_ref())
        .with("call", &running.call)
        .with("key", &running.key)
        .with("digest", running.digest)
        .with("policyVersion", running.policy_version)
        .with("admittedAt", running.admitted_at)
}

/// Ends a claimed request whose call was certainly not made, and is not made now.
pub(super) fn not_made(draft: &mut Draft, mut approval: Approval) -> Approval {
    approval.status = approval
        .status
        .after(Change::Fail)
        .unwrap_or(approval.status);
    approval.settled_at = Some(draft.now);
    let message = "the call was not made: the agent was switched off, or its key is not good";
    approval.message = Some(message.to_owned());
    draft.head.open = draft.head.open.saturating_sub(1);
    draft.save(&approval);
    draft.event(
        Event::new(EventKind::Outcome)
            .tool(Some(&approval.tool))
            .with("approval", &approval.id)
            .with("fence", approval.claim.as_ref().map(|claim| claim.fence))
            .with("status", approval.status)
            .with("message", message),
    );
    approval
}

pub(super) fn settle(mut draft: Draft, loaded: &Loaded, settle: &Settle) -> Step {
    let Some(found) = &loaded.approval else {
        return Step::still(Outcome::Missing);
    };
    let mut approval = found.clone();
    let holds = approval
        .claim
        .as_ref()
        .is_some_and(|claim| claim.fence == settle.fence);
    if holds && matches!(approval.status, Status::Applied | Status::Failed) {
        return Step::still(Outcome::Settled(Box::new(approval)));
    }
    if !holds || approval.status != Status::Applying {
        return late(draft, approval, settle);
    }
    let change = match (&settle.result, settle.not_made) {
        (Some(_), _) => Change::Apply,
        (None, true) => Change::Fail,
        (None, false) => Change::Lose,
    };
    approval.status = approval.status.after(change).unwrap_or(approval.status);
    approval.settled_at = Some(draft.now);
    approval.result = settle.result.clone();
    approval.message = settle.message.clone();
    if change != Change::Fail {
        approval.args = None;
    }
    draft.head.open = draft.head.open.saturating_sub(1);
    draft.save(&approval);
    let kind = if change == Change::Lose {
        EventKind::Unknown
    } else {
        EventKind::Outcome
    };
    draft.event(
        Event::new(kind)
            .tool(Some(&approval.tool))
            .with("approval", &approval.id)
            .with("fence", settle.fence)
            .with("status", approval.status)
            .with("message", &approval.message)
            .with("ending", &settle.ending),
    );
    draft.end(Outcome::Settled(Box::new(approval)))
}

/// The claim is not the settler's any more: its result is evidence, once.
fn late(mut draft: Draft, mut approval: Approval, settle: &Settle) -> Step {
    if approval.late.is_some() || settle.result.is_none() {
        return Step::still(Outcome::Late(Box::new(approval)));
    }
    approval.late = settle.result.clone();
    draft.save(&approval);
    draft.event(
        Event::new(EventKind::LateResult)
            .tool(Some(&approval.tool))
            .with("approval", &approval.id)
            .with("fence", settle.fence)
            .with("ending", &settle.ending),
    );
    draft.end(Outcome::Late(Box::new(approval)))
}
