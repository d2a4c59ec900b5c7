//! Closes what is overdue: requests past their window, lapsed claims, lost calls.

use super::CallChange;
use super::Event;
use super::EventKind;
use super::Loaded;
use super::Outcome;
use super::Step;
use super::repeats;
use super::settle;
use super::step::Draft;
use crate::approval::Approval;
use crate::approval::Change;
use crate::approval::Status;
use crate::time::DAY;

/// How long a failed request keeps its arguments for another try, in milliseconds.
const RETRY_HOLDS: i64 = DAY;

pub(super) fn sweep(mut draft: Draft, loaded: &Loaded) -> Step {
    let mut closed = 0_u32;
    for found in &loaded.due {
        if found.is_spent(draft.now) {
            draft.drop_approval(&found.id);
            closed = closed.saturating_add(1);
            continue;
        }
        let mut approval = found.clone();
        closed = closed.saturating_add(u32::from(close_if_overdue(&mut draft, &mut approval)));
    }
    let now = draft.now;
    for running in loaded
        .lapsed
        .iter()
        .filter(|running| running.lease_until <= now)
    {
        closed = closed.saturating_add(1);
        draft.call(CallChange::Drop(running.call.clone()));
        draft.event(settle::observed(running).with("withheld", "lost"));
    }
    closed = closed.saturating_add(repeats::close_overdue(&mut draft));
    if closed == 0 {
        return Step::still(Outcome::Swept(0));
    }
    draft.end(Outcome::Swept(closed))
}

/// Closes a request whose window, lease or time for another try is over, and says whether it did.
pub(super) fn close_if_overdue(draft: &mut Draft, approval: &mut Approval) -> bool {
    let now = draft.now;
    let lapsed = |approval: &Approval| {
        approval
            .claim
            .as_ref()
            .is_none_or(|claim| claim.lease_until <= now)
    };
    match approval.status {
        Status::Pending if approval.expires_at <= now => {
            approval.status = approval
                .status
                .after(Change::Expire)
                .unwrap_or(approval.status);
            approval.args = None;
            draft.head.open = draft.head.open.saturating_sub(1);
            draft.event(
                Event::new(EventKind::Expired)
                    .tool(Some(&approval.tool))
                    .with("approval", &approval.id),
            );
        }
        Status::Applying if lapsed(approval) => {
            approval.status = approval
                .status
                .after(Change::Lose)
                .unwrap_or(approval.status);
            approval.args = None;
            let message = "the call may or may not have been made: its worker did not answer in \
                           time; it is not made again";
            approval.message = Some(message.to_owned());
            draft.head.open = draft.head.open.saturating_sub(1);
            draft.event(
                Event::new(EventKind::Unknown)
                    .tool(Some(&approval.tool))
                    .with("approval", &approval.id)
                    .with("fence", approval.claim.as_ref().map(|claim| claim.fence))
                    .with("message", message),
            );
        }
        Status::Failed
            if approval.args.is_some()
                && approval
                    .settled_at
                    .is_none_or(|at| at.plus(RETRY_HOLDS) <= now) =>
        {
            approval.args = None;
        }
        _ => return false,
    }
    draft.save(approval);
    true
}
