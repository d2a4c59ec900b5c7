//! Asking after a request, and handing its stored result over.

use super::Event;
use super::EventKind;
use super::Loaded;
use super::Outcome;
use super::Step;
use super::admit::note_held;
use super::admit::over;
use super::moves::Collect;
use super::moves::Poll;
use super::step::Draft;
use super::sweep;
use crate::approval::Status;

pub(super) fn poll(mut draft: Draft, loaded: &Loaded, poll: &Poll) -> Step {
    if let Some(reason) = draft.killed() {
        return Step::still(Outcome::Refused(reason));
    }
    if !draft.authorised(poll.key.as_ref()) {
        return Step::still(Outcome::Unauthorised);
    }
    if poll.policy_version != draft.head.policy.version {
        return Step::still(Outcome::Stale);
    }
    let now = draft.now;
    if poll.counted
        && let Err(shortfall) = draft.head.meters.take_overall(&poll.limits, now)
    {
        return Step::still(Outcome::Refused(over(shortfall)));
    }
    let Some(found) = &loaded.approval else {
        return if poll.counted {
            draft.end(Outcome::Missing)
        } else {
            Step::still(Outcome::Missing)
        };
    };
    let mut approval = found.clone();
    let closed = sweep::close_if_overdue(&mut draft, &mut approval);
    if poll.counted {
        note_held(&mut draft, &approval, None, poll.key.as_ref());
    }
    let outcome = Outcome::Held(Box::new(approval));
    if poll.counted || closed {
        draft.end(outcome)
    } else {
        Step::still(outcome)
    }
}

pub(super) fn collect(mut draft: Draft, loaded: &Loaded, collect: &Collect) -> Step {
    if let Some(reason) = draft.killed() {
        return Step::still(Outcome::Refused(reason));
    }
    if !draft.authorised(collect.key.as_ref()) {
        return Step::still(Outcome::Unauthorised);
    }
    let applied = loaded
        .approval
        .as_ref()
        .filter(|found| found.status == Status::Applied);
    let Some(found) = applied else {
        return Step::still(Outcome::Missing);
    };
    let mut approval = found.clone();
    let replayed = approval.handed_over_at.is_some();
    if !replayed {
        approval.handed_over_at = Some(draft.now);
        draft.save(&approval);
    }
    draft.event(
        Event::new(EventKind::Collected)
            .tool(Some(&approval.tool))
            .with("approval", &approval.id)
            .with("call", &collect.call)
            .with("key", &collect.key)
            .with("replayed", replayed)
            .with("ending", &collect.ending),
    );
    draft.end(Outcome::Collected(Box::new(approval)))
}
