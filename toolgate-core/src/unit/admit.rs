//! Whether a call may run.

use super::CallChange;
use super::Event;
use super::EventKind;
use super::Loaded;
use super::Outcome;
use super::Repeat;
use super::Running;
use super::Step;
use super::moves::Admit;
use super::moves::Subject;
use super::step::Draft;
use super::sweep;
use crate::approval::Approval;
use crate::approval::ApprovalId;
use crate::approval::Change;
use crate::approval::Claim;
use crate::approval::MOST_OPEN;
use crate::approval::Status;
use crate::approval::WINDOW;
use crate::id::CallId;
use crate::id::KeyId;
use crate::id::ToolName;
use crate::limits::Shortfall;
use crate::time::SECOND;
use crate::verdict::Code;
use crate::verdict::Decision;
use crate::verdict::Reason;
use crate::verdict::Retry;

/// How long an equal answer is counted instead of written again, in milliseconds.
const COLLAPSE: i64 = 10 * SECOND;
/// The most different answers counted at once.
const MOST_REPEATS: usize = 64;

pub(super) fn admit(mut draft: Draft, loaded: &Loaded, admit: &Admit) -> Step {
    if let Some(again) = made_before(loaded, admit) {
        return Step::still(again);
    }
    if let Some(reason) = draft.killed() {
        return refuse(draft, admit, reason);
    }
    if !draft.authorised(admit.key.as_ref()) {
        return Step::still(Outcome::Unauthorised);
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
            if !admit.new_request {
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
        return refuse(draft, admit, over(shortfall));
    }
    match decision {
        Decision::Run => run(draft, admit, subject, tool),
        Decision::AutoApply => claim(draft, admit, subject, tool, generation),
        Decision::Queue | Decision::Refuse | Decision::Hidden => {
            queue(draft, admit, subject, tool, generation)
        }
    }
}

/// The answer that this very call got before, if it did.
fn made_before(loaded: &Loaded, admit: &Admit) -> Option<Outcome> {
    if loaded.call.is_some() {
        return Some(Outcome::Admitted);
    }
    let approval = loaded.approval.as_ref()?;
    let mine = approval
        .claim
        .as_ref()
        .is_some_and(|claim| claim.call == admit.call);
    (mine && approval.unattended && approval.status == Status::Applying)
        .then(|| Outcome::Claimed(Box::new(approval.clone())))
}

fn leading(admit: &Admit) -> Reason {
    admit
        .verdict
        .leading()
        .cloned()
        .unwrap_or_else(|| Reason::new(Code::Hidden, "there is no such tool", Retry::Never))
}

pub(super) fn over(shortfall: Shortfall) -> Reason {
    match shortfall {
        Shortfall::Budget(wait) => {
            let message = "today's calls are used up; the count starts anew at midnight UTC";
            Reason::new(Code::BudgetExhausted, message, Retry::After).after_ms(wait)
        }
        Shortfall::Rate(wait) => {
            let message = "too many calls in a minute; wait before the next one";
            Reason::new(Code::RateLimited, message, Retry::After).after_ms(wait)
        }
    }
}

/// Refuses, and writes it down unless an equal refusal was written within ten seconds.
fn refuse(mut draft: Draft, admit: &Admit, reason: Reason) -> Step {
    let known = admit
        .tool
        .as_ref()
        .filter(|_| admit.verdict.decision != Decision::Hidden);
    let Some(more) = first_of_its_kind(&mut draft, reason.code, known) else {
        return draft.end(Outcome::Refused(reason));
    };
    let mut event = Event::new(EventKind::Refused)
        .args(admit.redacted.as_ref(), admit.seal.as_ref())
        .with("call", &admit.call)
        .with("key", &admit.key)
        .with("code", reason.code)
        .with("path", &reason.path)
        .with("policyVersion", draft.head.policy.version);
    event.tool = Some(known.map_or_else(|| admit.asked.clone(), ToString::to_string));
    if more > 0 {
        event = event.with("alsoRefused", more);
    }
    draft.event(event);
    draft.end(Outcome::Refused(reason))
}

/// Counts an answer. `Some` with the number of equal ones left unwritten since the last written
/// one means: write this one down.
pub(super) fn first_of_its_kind(
    draft: &mut Draft,
    code: Code,
    tool: Option<&ToolName>,
) -> Option<u64> {
    let now = draft.now;
    let repeats = &mut draft.head.repeats;
    if let Some(known) = repeats
        .iter_mut()
        .find(|r| r.code == code && r.tool.as_ref() == tool)
    {
        if now.since(known.since) < COLLAPSE {
            known.more = known.more.saturating_add(1);
            return None;
        }
        let more = std::mem::take(&mut known.more);
        known.since = now;
        return Some(more);
    }
    if repeats.len() >= MOST_REPEATS {
        let oldest = repeats
            .iter()
            .enumerate()
            .min_by_key(|(_, r)| r.since)
            .map(|(at, _)| at);
        if let Some(at) = oldest {
            repeats.remove(at);
        }
    }
    repeats.push(Repeat {
        code,
        tool: tool.cloned(),
        since: now,
        more: 0,
    });
    Some(0)
}

/// An earlier request answers: asking again takes a token of all calls, and nothing else.
fn held(mut draft: Draft, admit: &Admit, earlier: Approval) -> Step {
    let now = draft.now;
    if let Err(shortfall) = draft.head.meters.take_overall(&admit.limits, now) {
        return refuse(draft, admit, over(shortfall));
    }
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
    if let Some(more) = first_of_its_kind(draft, Code::Held, Some(&earlier.tool)) {
        draft.event(
            Event::new(EventKind::Held)
                .tool(Some(&earlier.tool))
                .with("approval", &earlier.id)
                .with("status", earlier.status)
                .with("call", call)
                .with("key", key)
                .with("alsoHeld", (more > 0).then_some(more)),
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
        replay_ms: subject.replay_ms,
        message: None,
        late: None,
    }
}

fn full(draft: &Draft) -> Option<Reason> {
    (draft.head.open >= MOST_OPEN).then(|| {
        let message = "too many requests are undecided; wait until some are decided";
        Reason::new(Code::QueueFull, message, Retry::After)
    })
}

fn queue(
    mut draft: Draft,
    admit: &Admit,
    subject: &Subject,
    tool: &ToolName,
    generation: u32,
) -> Step {
    if let Some(reason) = full(&draft) {
        return refuse(draft, admit, reason);
    }
    let approval = row(&draft, admit, subject, tool, generation);
    draft.head.open = draft.head.open.saturating_add(1);
    draft.save(&approval);
    draft.event(
        described(EventKind::Pending, admit, &approval).with("expiresAt", approval.expires_at),
    );
    draft.end(Outcome::Queued(Box::new(approval)))
}

/// Nobody is asked: the action is staged and claimed in one move.
fn claim(
    mut draft: Draft,
    admit: &Admit,
    subject: &Subject,
    tool: &ToolName,
    generation: u32,
) -> Step {
    if let Some(reason) = full(&draft) {
        return refuse(draft, admit, reason);
    }
    // Outcomes of such calls are dropped after a while; counting by claims keeps a name from coming
    // back.
    let claims = u32::try_from(draft.head.fence)
        .unwrap_or(u32::MAX)
        .saturating_add(1);
    let mut approval = row(&draft, admit, subject, tool, generation.max(claims));
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
