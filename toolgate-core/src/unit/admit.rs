//! Whether a call may run.

use super::CallChange;
use super::Event;
use super::EventKind;
use super::Loaded;
use super::Outcome;
use super::Running;
use super::Step;
use super::moves::Admit;
use super::moves::Subject;
use super::repeats;
use super::repeats::Likeness;
use super::settle;
use super::step::Draft;
use super::sweep;
use crate::approval::Approval;
use crate::approval::ApprovalId;
use crate::approval::Change;
use crate::approval::Claim;
use crate::approval::Status;
use crate::approval::WINDOW;
use crate::id::CallId;
use crate::id::KeyId;
use crate::id::ToolName;
use crate::verdict::Code;
use crate::verdict::Decision;
use crate::verdict::Reason;
use crate::verdict::Retry;

pub(super) fn admit(mut draft: Draft, loaded: &Loaded, admit: &Admit) -> Step {
    let before = made_before(loaded, admit);
    if let Some(reason) = draft.killed() {
        if let Some(before) = before {
            give_up(&mut draft, before);
        }
        return refuse(draft, admit, reason);
    }
    if !draft.authorised(admit.key.as_ref()) {
        if let Some(before) = before {
            give_up(&mut draft, before);
            return draft.end(Outcome::Unauthorised);
        }
        return Step::still(Outcome::Unauthorised);
    }
    match before {
        Some(Before::Admitted(_)) => return Step::still(Outcome::Admitted),
        Some(Before::Claimed(approval)) => {
            return Step::still(Outcome::Claimed(Box::new(approval.clone())));
        }
        Some(Before::Queued(approval)) if approval.answers(draft.now) => {
            return Step::still(Outcome::Queued(Box::new(approval.clone())));
        }
        Some(Before::Queued(_)) | None => {}
    }
    if admit.policy_version != draft.head.policy.version {
        return Step::still(Outcome::Stale);
    }
    let decision = admit.verdict.decision;
    let (Some(subject), Some(tool)) = (&admit.subject, &admit.tool) else {
        let reason = leading(admit);
        return refuse(draft, admit, reason);
    };
    if decision >= Decision::Refuse {
        let reason = leading(admit);
        return refuse(draft, admit, reason);
    }
    let asks = decision != Decision::Run;
    let mut generation = 0;
    if let Some(found) = loaded.approval.as_ref().filter(|_| asks) {
        let mut earlier = found.clone();
        sweep::close_if_overdue(&mut draft, &mut earlier);
        if earlier.answers(draft.now) {
            if !admit.new_request || is_asked_by(&earlier, admit) {
                return held(draft, admit, earlier);
            }
            if !earlier.may_be_asked_anew(draft.now) {
                let message = "the last request of this form is still open, unknown or freshly \
                               declined, so no new one is made";
                let reason = Reason::new(Code::OpenRequest, message, Retry::After);
                return refuse(draft, admit, reason);
            }
        }
        generation = earlier.generation.saturating_add(1);
    }
    let now = draft.now;
    if let Err(shortfall) = draft.head.meters.take(&admit.limits, tool, now) {
        return refuse(draft, admit, shortfall.reason());
    }
    match decision {
        Decision::Run => run(draft, admit, subject, tool),
        Decision::AutoApply => claim(draft, admit, subject, tool, generation),
        Decision::Queue | Decision::Refuse | Decision::Hidden => {
            queue(draft, admit, subject, tool, generation)
        }
    }
}

/// What this very call got before, if it was asked already and its answer was lost.
#[derive(Clone, Copy)]
enum Before<'a> {
    Admitted(&'a Running),
    Claimed(&'a Approval),
    Queued(&'a Approval),
}

fn made_before<'a>(loaded: &'a Loaded, admit: &Admit) -> Option<Before<'a>> {
    if let Some(running) = &loaded.call {
        return Some(Before::Admitted(running));
    }
    let approval = loaded.approval.as_ref()?;
    if approval.status == Status::Pending && is_asked_by(approval, admit) {
        return Some(Before::Queued(approval));
    }
    let mine = approval
        .claim
        .as_ref()
        .is_some_and(|claim| claim.call == admit.call);
    (mine && approval.unattended && approval.status == Status::Applying)
        .then_some(Before::Claimed(approval))
}

fn is_asked_by(approval: &Approval, admit: &Admit) -> bool {
    approval.call.as_ref() == Some(&admit.call)
}

/// Ends a call that was let pass and will not be made: whoever asks again has not made it yet.
fn give_up(draft: &mut Draft, before: Before<'_>) {
    match before {
        Before::Admitted(running) => {
            draft.call(CallChange::Drop(running.call.clone()));
            draft.event(settle::observed(running).with("withheld", "not_made"));
        }
        Before::Claimed(approval) => {
            settle::not_made(draft, approval.clone());
        }
        // It waits for a person, who is told what bars it.
        Before::Queued(_) => {}
    }
}

fn leading(admit: &Admit) -> Reason {
    admit
        .verdict
        .leading()
        .cloned()
        .unwrap_or_else(|| Reason::new(Code::Hidden, "there is no such tool", Retry::Never))
}

/// Refuses, and writes it down unless an equal refusal was written within ten seconds.
fn refuse(mut draft: Draft, admit: &Admit, reason: Reason) -> Step {
    let known = admit
        .tool
        .as_ref()
        .filter(|_| admit.verdict.decision != Decision::Hidden);
    let like = Likeness {
        code: reason.code,
        tool: known,
        key: admit.key.as_ref(),
        path: reason.path.as_deref(),
    };
    if repeats::is_known(&draft, &admit.call, reason.code) {
        return draft.end(Outcome::Refused(reason));
    }
    repeats::remember(&mut draft, &admit.call, reason.code);
    if !repeats::is_new(&mut draft, like) {
        return draft.end(Outcome::Refused(reason));
    }
    let mut event = Event::new(EventKind::Refused)
        .args(admit.redacted.as_ref(), admit.seal.as_ref())
        .with("call", &admit.call)
        .with("key", &admit.key)
        .with("code", reason.code)
        .with("path", &reason.path)
        .with("policyVersion", draft.head.policy.version);
    event.tool = Some(known.map_or_else(|| admit.asked.clone(), ToString::to_string));
    draft.event(event);
    draft.end(Outcome::Refused(reason))
}

/// An earlier request answers: asking again takes a token of all calls, and nothing else. The very
/// call that made the request, or was answered so before, takes none.
fn held(mut draft: Draft, admit: &Admit, earlier: Approval) -> Step {
    let now = draft.now;
    let known = repeats::is_known(&draft, &admit.call, Code::Held);
    if known || is_asked_by(&earlier, admit) {
        return draft.end(Outcome::Held(Box::new(earlier)));
    }
    if let Err(shortfall) = draft.head.meters.take_overall(&admit.limits, now) {
        return refuse(draft, admit, shortfall.reason());
    }
    repeats::remember(&mut draft, &admit.call, Code::Held);
    note_held(&mut draft, &earlier, Some(&admit.call), admit.key.as_ref());
    draft.end(Outcome::Held(Box::new(earlier)))
}

/// Writes down that an earlier request answered, once in ten seconds for a tool. The hand-over of
/// a result is an entry of its own.
pub(super) fn note_held(
    draft: &mut Draft,
    earlier: &Approval,
    call: Option<&CallId>,
    key: Option<&KeyId>,
) {
    if earlier.status == Status::Applied {
        return;
    }
    let like = Likeness {
        code: Code::Held,
        tool: Some(&earlier.tool),
        key,
        path: None,
    };
    if repeats::is_new(draft, like) {
        draft.event(
            Event::new(EventKind::Held)
                .tool(Some(&earlier.tool))
                .with("approval", &earlier.id)
                .with("status", earlier.status)
                .with("call", call)
                .with("key", key),
        );
    }
}

fn run(mut draft: Draft, admit: &Admit, subject: &Subject, tool: &ToolName) -> Step {
    draft.call(CallChange::Put(Box::new(Running {
        call: admit.call.clone(),
        tool: tool.clone(),
        digest: subject.digest,
        key: admit.key.clone(),
        policy_version: admit.policy_version,
        redacted: admit.redacted.clone(),
        seal: admit.seal.clone(),
        admitted_at: draft.now,
        kills: draft.head.kills,
        lease_until: draft.now.plus(admit.lease_ms),
    })));
    draft.end(Outcome::Admitted)
}

fn row(
    draft: &Draft,
    admit: &Admit,
    subject: &Subject,
    tool: &ToolName,
    generation: u32,
) -> Approval {
    Approval {
        id: ApprovalId::new(&subject.request, generation),
        request: subject.request,
        generation,
        upstream: subject.upstream.clone(),
        wire: subject.wire.clone(),
        tool: tool.clone(),
        digest: subject.digest,
        policy_version: admit.policy_version,
        key: admit.key.clone(),
        call: Some(admit.call.clone()),
        args: Some(subject.args.clone()),
        redacted: admit.redacted.clone().unwrap_or_default(),
        status: Status::Pending,
        unattended: false,
        created_at: draft.now,
        expires_at: draft.now.plus(WINDOW),
        answer: None,
        claim: None,
        settled_at: None,
        result: None,
        handed_over_at: None,
        handed_over_to: None,
        replay_ms: subject.replay_ms,
        message: None,
        code: None,
        late: None,
    }
}

fn queue(
    mut draft: Draft,
    admit: &Admit,
    subject: &Subject,
    tool: &ToolName,
    generation: u32,
) -> Step {
    if let Some(reason) = draft.head.queue_full() {
        return refuse(draft, admit, reason);
    }
    let generation = unused(&draft, generation);
    let approval = row(&draft, admit, subject, tool, generation);
    draft.head.open = draft.head.open.saturating_add(1);
    draft.save(&approval);
    draft.event(
        described(EventKind::Pending, admit, &approval).with("expiresAt", approval.expires_at),
    );
    draft.end(Outcome::Queued(Box::new(approval)))
}

/// A generation that no request of this form has had. Outcomes of calls that needed no person are
/// dropped after a while; counting by claims keeps their names from coming back.
fn unused(draft: &Draft, generation: u32) -> u32 {
    match u32::try_from(draft.head.fence) {
        Ok(0) => generation,
        claims => generation.max(claims.unwrap_or(u32::MAX).saturating_add(1)),
    }
}

/// Nobody is asked: the action is staged and claimed in one move.
fn claim(
    mut draft: Draft,
    admit: &Admit,
    subject: &Subject,
    tool: &ToolName,
    generation: u32,
) -> Step {
    if let Some(reason) = draft.head.queue_full() {
        return refuse(draft, admit, reason);
    }
    let generation = unused(&draft, generation).max(1);
    let mut approval = row(&draft, admit, subject, tool, generation);
    approval.unattended = true;
    take_claim(&mut draft, &mut approval, &admit.call, admit.lease_ms);
    draft.head.open = draft.head.open.saturating_add(1);
    draft.save(&approval);
    draft.event(
        described(EventKind::Intent, admit, &approval)
            .with("fence", approval.claim.as_ref().map(|claim| claim.fence))
            .with("unattended", true),
    );
    draft.end(Outcome::Claimed(Box::new(approval)))
}

/// Claims a pending or failed request. The caller has checked that it may be claimed.
pub(super) fn take_claim(draft: &mut Draft, approval: &mut Approval, call: &CallId, lease_ms: i64) {
    draft.head.fence = draft.head.fence.saturating_add(1);
    approval.status = approval
        .status
        .after(Change::Claim)
        .unwrap_or(approval.status);
    approval.claim = Some(Claim {
        fence: draft.head.fence,
        lease_until: draft.now.plus(lease_ms),
        call: call.clone(),
    });
}

fn described(kind: EventKind, admit: &Admit, approval: &Approval) -> Event {
    Event::new(kind)
        .tool(Some(&approval.tool))
        .args(admit.redacted.as_ref(), admit.seal.as_ref())
        .with("approval", &approval.id)
        .with("call", &admit.call)
        .with("key", &admit.key)
        .with("upstream", &approval.upstream)
        .with("digest", approval.digest)
        .with("policyVersion", admit.policy_version)
        .with("mode", admit.verdict.mode)
        .with("classifiedBy", admit.verdict.classified_by)
        .with("why", admit.verdict.leading().map(|reason| reason.code))
}
