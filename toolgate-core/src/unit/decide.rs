//! A person answers a request; a yes re-checks everything and claims it.

use super::Event;
use super::EventKind;
use super::Loaded;
use super::Outcome;
use super::Step;
use super::admit::take_claim;
use super::moves::Decide;
use super::moves::Recheck;
use super::settle;
use super::step::Draft;
use super::sweep;
use crate::approval::Answer;
use crate::approval::Approval;
use crate::approval::Change;
use crate::approval::Status;
use crate::policy::Approvers;
use crate::verdict::Code;
use crate::verdict::Decision;
use crate::verdict::Reason;
use crate::verdict::Retry;

pub(super) fn decide(mut draft: Draft, loaded: &Loaded, decide: &Decide) -> Step {
    let Some(found) = &loaded.approval else {
        return Step::still(Outcome::Missing);
    };
    let mut approval = found.clone();
    let mine = approval
        .claim
        .as_ref()
        .is_some_and(|claim| claim.call == decide.call);
    if decide.approved && mine && approval.status == Status::Applying {
        // Whoever asks again has not made the call yet.
        if draft.barred(approval.key.as_ref()).is_none() {
            return Step::still(Outcome::Claimed(Box::new(approval)));
        }
        let ended = settle::not_made(&mut draft, approval);
        return draft.end(Outcome::Decided(Box::new(ended)));
    }
    let closed = sweep::close_if_overdue(&mut draft, &mut approval);
    let retried = approval.status == Status::Failed;
    if !approval.may_be_made(draft.now) || retried && !decide.approved {
        let conflict = Outcome::Conflict(Box::new(approval));
        return if closed {
            draft.end(conflict)
        } else {
            Step::still(conflict)
        };
    }
    let own = draft.head.owner.as_ref() == Some(&decide.by);
    if let Some(recheck) = &decide.recheck
        && decide.approved
        && !may_approve(&draft, recheck, own)
    {
        return Step::still(Outcome::NotApprover);
    }
    let answer = Answer {
        approved: decide.approved,
        by: decide.by.clone(),
        reason: decide.reason.clone(),
        at: draft.now,
        own,
    };
    approval.answer = Some(answer);
    if !decide.approved {
        return leave(draft, approval, Change::Decline, EventKind::Decided, None);
    }
    let Some(recheck) = &decide.recheck else {
        return Step::still(Outcome::Stale);
    };
    match refused_now(&draft, &approval, recheck) {
        Err(Stale) => Step::still(Outcome::Stale),
        Ok(Some(reason)) => leave(
            draft,
            approval,
            Change::Block,
            EventKind::Blocked,
            Some(&reason),
        ),
        Ok(None) => {
            if retried {
                draft.head.open = draft.head.open.saturating_add(1);
            }
            take_claim(&mut draft, &mut approval, &decide.call, decide.lease_ms);
            draft.save(&approval);
            draft.event(
                answered(EventKind::Intent, &approval)
                    .with("fence", approval.claim.as_ref().map(|claim| claim.fence))
                    .with("policyVersion", recheck.policy_version)
                    .with("retried", retried),
            );
            draft.end(Outcome::Claimed(Box::new(approval)))
        }
    }
}

fn may_approve(draft: &Draft, recheck: &Recheck, own: bool) -> bool {
    match recheck.approvers {
        Approvers::Any => true,
        Approvers::Owner => own || draft.head.owner.is_none(),
        Approvers::Others => !own || recheck.sole_operator,
    }
}

/// The re-check was worked out from a policy that is not in force any more.
struct Stale;

/// Why an approved call must not be made now.
fn refused_now(
    draft: &Draft,
    approval: &Approval,
    recheck: &Recheck,
) -> Result<Option<Reason>, Stale> {
    if let Some(reason) = draft.barred(approval.key.as_ref()) {
        return Ok(Some(reason));
    }
    if recheck.policy_version != draft.head.policy.version {
        return Err(Stale);
    }
    if recheck.verdict.decision >= Decision::Refuse {
        let reason = recheck.verdict.leading().cloned();
        return Ok(Some(reason.unwrap_or_else(|| {
            Reason::new(Code::Hidden, "there is no such tool", Retry::Never)
        })));
    }
    if recheck.digest != Some(approval.digest) {
        let message = "the tool's definition changed since the request was made";
        return Ok(Some(Reason::new(
            Code::DigestChanged,
            message,
            Retry::Fixed,
        )));
    }
    Ok(None)
}

/// The request ends without a call.
fn leave(
    mut draft: Draft,
    mut approval: Approval,
    change: Change,
    kind: EventKind,
    reason: Option<&Reason>,
) -> Step {
    let was_open = approval.status.is_open();
    approval.status = approval.status.after(change).unwrap_or(approval.status);
    approval.args = None;
    approval.message = reason.map(|reason| reason.message.clone());
    approval.code = reason.map(|reason| reason.code);
    if was_open {
        draft.head.open = draft.head.open.saturating_sub(1);
    }
    draft.save(&approval);
    draft.event(answered(kind, &approval).with("code", reason.map(|reason| reason.code)));
    draft.end(Outcome::Decided(Box::new(approval)))
}

fn answered(kind: EventKind, approval: &Approval) -> Event {
    let answer = approval.answer.as_ref();
    Event::new(kind)
        .tool(Some(&approval.tool))
        .args(Some(&approval.redacted), None)
        .with("approval", &approval.id)
        .with("digest", approval.digest)
        .with("approved", answer.map(|answer| answer.approved))
        .with("by", answer.map(|answer| &answer.by))
        .with("reason", answer.and_then(|answer| answer.reason.as_ref()))
        .with("own", answer.map(|answer| answer.own))
}
