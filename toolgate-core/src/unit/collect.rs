//! Asking after a request, and handing its stored result over.

use super::Event;
use super::EventKind;
use super::Loaded;
use super::Outcome;
use super::Step;
use super::admit::note_held;
use super::moves::Collect;
use super::moves::Poll;
use super::repeats;
use super::repeats::Likeness;
use super::step::Draft;
use super::sweep;
use crate::approval::Status;
use crate::verdict::Code;
use crate::verdict::Reason;

pub(super) fn poll(mut draft: Draft, loaded: &Loaded, poll: &Poll) -> Step {
    if let Some(reason) = draft.killed() {
        return refuse(draft, poll, reason);
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
        return refuse(draft, poll, shortfall.reason());
    }
    let Some(found) = &loaded.approval else {
        if !poll.counted {
            return Step::still(Outcome::Missing);
        }
        note_refused(&mut draft, poll, Code::NotFound);
        return draft.end(Outcome::Missing);
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

fn refuse(mut draft: Draft, poll: &Poll, reason: Reason) -> Step {
    if !poll.counted {
        return Step::still(Outcome::Refused(reason));
    }
    note_refused(&mut draft, poll, reason.code);
    draft.end(Outcome::Refused(reason))
}

/// Writes down that asking was refused. The name that was asked for is the caller's own word, and
/// may be anybody's.
fn note_refused(draft: &mut Draft, poll: &Poll, code: Code) {
    let like = Likeness {
        code,
        tool: None,
        key: poll.key.as_ref(),
        path: None,
    };
    if repeats::is_new(draft, like) {
        draft.event(
            Event::new(EventKind::Refused)
                .with("code", code)
                .with("key", &poll.key)
                .with("approval", &poll.approval),
        );
    }
}

pub(super) fn collect(mut draft: Draft, loaded: &Loaded, collect: &Collect) -> Step {
    if let Some(reason) = draft.killed() {
        return Step::still(Outcome::Refused(reason));
    }
    if !draft.authorised(collect.key.as_ref()) {
        return Step::still(Outcome::Unauthorised);
    }
    if collect.policy_version != draft.head.policy.version {
        return Step::still(Outcome::Stale);
    }
    let applied = loaded
        .approval
        .as_ref()
        .filter(|found| found.status == Status::Applied);
    let Some(found) = applied else {
        return Step::still(Outcome::Missing);
    };
    let mut approval = found.clone();
    if approval.handed_over_to.as_ref() == Some(&collect.call) {
        return Step::still(Outcome::Collected(Box::new(approval)));
    }
    let replayed = approval.handed_over_at.is_some();
    approval.handed_over_at = approval.handed_over_at.or(Some(draft.now));
    approval.handed_over_to = Some(collect.call.clone());
    draft.save(&approval);
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
