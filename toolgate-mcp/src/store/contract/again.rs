//! Whoever is told "unavailable" and asks the same move of a call again ends where one ends who was
//! answered the first time.

use toolgate_core::approval::Approval;
use toolgate_core::approval::Status;
use toolgate_core::approval::WINDOW;
use toolgate_core::policy::Limits;
use toolgate_core::unit::Admit;
use toolgate_core::unit::Collect;
use toolgate_core::unit::Decide;
use toolgate_core::unit::Move;
use toolgate_core::unit::Outcome;
use toolgate_core::unit::Poll;
use toolgate_core::unit::Record;
use toolgate_core::unit::Settle;
use toolgate_core::verdict::Code;
use toolgate_core::verdict::Decision;

use super::Clocked;
use super::fixture::Store;
use super::fixture::WIDE;
use super::fixture::admit;
use super::fixture::answer;
use super::fixture::applied;
use super::fixture::ask;
use super::fixture::claimed;
use super::fixture::collect;
use super::fixture::operator;
use super::fixture::principal;
use super::fixture::queued;
use super::fixture::record;
use super::lost::Lost;
use crate::store::LedgerExt as _;

fn admits(admit: &Admit) -> Move {
    Move::Admit(Box::new(admit.clone()))
}

fn collects(collect: &Collect) -> Move {
    Move::Collect(Box::new(collect.clone()))
}

fn decides(decide: &Decide) -> Move {
    Move::Decide(Box::new(decide.clone()))
}

fn records(record: &Record) -> Move {
    Move::Record(Box::new(record.clone()))
}

fn settles(settle: &Settle) -> Move {
    Move::Settle(Box::new(settle.clone()))
}

/// An observation takes one token and leaves one entry. Once it is written down its call is over:
/// who asks again is told that it is missing, and may disclose nothing.
pub async fn an_observation_asked_again_is_one<S: Store>(store: &S, _: &Clocked) {
    let id = principal(store).await;
    let asked = admit(&id, "a", Decision::Run);
    let lost = Lost::of(store, &id, admits(&asked)).await;
    assert_eq!(lost.once(&[], 1), Outcome::Admitted);
    let lost = Lost::of(store, &id, records(&record(&asked.call))).await;
    assert_eq!(lost.once(&["call"], 0), Outcome::Missing);
}

/// A request is made once and takes one token, also where the agent insists on a new one; asked
/// again after a person answered, it is told the answer.
pub async fn a_request_asked_again_is_one<S: Store>(store: &S, clock: &Clocked) {
    let id = principal(store).await;
    let asked = admit(&id, "a", Decision::Queue);
    let lost = Lost::of(store, &id, admits(&asked)).await;
    let Outcome::Queued(first) = lost.once(&["pending"], 1) else {
        panic!("not queued");
    };
    clock.pass(WINDOW);
    let mut insists = admit(&id, "a", Decision::Queue);
    insists.new_request = true;
    let lost = Lost::of(store, &id, admits(&insists)).await;
    let Outcome::Queued(second) = lost.once(&["expired", "pending"], 1) else {
        panic!("not queued");
    };
    assert_ne!(first.id, second.id);
    assert_eq!(store.head(&id).await.unwrap().unwrap().open, 1);
    store
        .decide(&id, answer(&second, true, "ann"))
        .await
        .unwrap();
    let lost = Lost::of(store, &id, admits(&insists)).await;
    let told = lost.once(&[], 0);
    assert!(matches!(told, Outcome::Held(held) if held.id == second.id && held.claim.is_some()));
}

/// What needs no person is claimed once, by the call that asked.
pub async fn a_claim_asked_again_is_one<S: Store>(store: &S, _: &Clocked) {
    let id = principal(store).await;
    let asked = admit(&id, "a", Decision::AutoApply);
    let lost = Lost::of(store, &id, admits(&asked)).await;
    let Outcome::Claimed(mine) = lost.once(&["intent"], 1) else {
        panic!("not claimed");
    };
    let claim = mine.claim.as_ref().unwrap();
    assert_eq!((claim.fence, &claim.call), (1, &asked.call));
    assert_eq!(store.head(&id).await.unwrap().unwrap().fence, 1);
    let other = store.admit(&id, admit(&id, "a", Decision::AutoApply)).await;
    assert!(matches!(other.unwrap().outcome, Outcome::Held(held) if held.id == mine.id));
}

/// A refusal takes nothing, is written once, and counts as one of those that are collapsed.
pub async fn a_refusal_asked_again_is_counted_once<S: Store>(store: &S, clock: &Clocked) {
    let id = principal(store).await;
    for entries in [&["refused"][..], &[], &[]] {
        let asked = admit(&id, "a", Decision::Refuse);
        let lost = Lost::of(store, &id, admits(&asked)).await;
        let outcome = lost.once(entries, 0);
        assert!(matches!(outcome, Outcome::Refused(why) if why.code == Code::ArgumentRefused));
    }
    let none = Limits {
        per_minute: 0,
        ..WIDE
    };
    let mut over = admit(&id, "a", Decision::Queue);
    over.limits = none;
    let lost = Lost::of(store, &id, admits(&over)).await;
    let outcome = lost.once(&["refused"], 0);
    assert!(matches!(outcome, Outcome::Refused(why) if why.code == Code::RateLimited));
    store.kill(&id, operator("ann"), None).await.unwrap();
    let killed = admit(&id, "a", Decision::Run);
    let lost = Lost::of(store, &id, admits(&killed)).await;
    let outcome = lost.once(&["refused"], 0);
    assert!(matches!(outcome, Outcome::Refused(why) if why.code == Code::Killed));
    clock.pass(10_000);
    store.sweep(&id).await.unwrap();
    let chain = toolgate_audit::ChainId::new(id.as_str()).unwrap();
    let rows = store.slice(&chain, 1, 100).await.unwrap();
    let last = toolgate_audit::decode(&rows.last().unwrap().bytes).unwrap();
    assert_eq!(last.detail.get("alsoRefused"), Some(&2.into()));
}

/// A call that an earlier request answers takes one token and is counted once.
pub async fn a_call_held_again_is_counted_once<S: Store>(store: &S, clock: &Clocked) {
    let id = principal(store).await;
    let earlier = queued(store, &id, "a").await;
    for entries in [&["held"][..], &[]] {
        let asked = admit(&id, "a", Decision::Queue);
        let lost = Lost::of(store, &id, admits(&asked)).await;
        let outcome = lost.once(entries, 1);
        assert!(matches!(outcome, Outcome::Held(held) if held.id == earlier.id));
    }
    let mut insists = admit(&id, "a", Decision::Queue);
    insists.new_request = true;
    let lost = Lost::of(store, &id, admits(&insists)).await;
    let outcome = lost.once(&["refused"], 0);
    assert!(matches!(outcome, Outcome::Refused(why) if why.code == Code::OpenRequest));
    clock.pass(10_000);
    assert_eq!(store.sweep(&id).await.unwrap().outcome, Outcome::Swept(1));
}

/// A yes claims once, by the decision that said it. A no, and a yes that a re-check blocked, are
/// told the first answer, which is their own.
pub async fn an_answer_given_again_is_one<S: Store>(store: &S, _: &Clocked) {
    let id = principal(store).await;
    let approval = queued(store, &id, "yes").await;
    let yes = answer(&approval, true, "ann");
    let lost = Lost::of(store, &id, decides(&yes)).await;
    let Outcome::Claimed(mine) = lost.once(&["intent"], 0) else {
        panic!("not claimed");
    };
    let claim = mine.claim.as_ref().unwrap();
    assert_eq!((claim.fence, &claim.call), (1, &yes.call));

    let first = |outcome: Outcome, status: Status, approved: bool| match outcome {
        Outcome::Conflict(first) => {
            let given = first.answer.unwrap();
            assert_eq!((first.status, first.args), (status, None));
            assert_eq!((given.by, given.approved), (operator("ann"), approved));
        }
        other => panic!("not the first answer: {other:?}"),
    };
    let approval = queued(store, &id, "no").await;
    let no = answer(&approval, false, "ann");
    let lost = Lost::of(store, &id, decides(&no)).await;
    first(lost.once(&["decided"], 0), Status::Declined, false);

    let approval = queued(store, &id, "blocked").await;
    let mut blocked = answer(&approval, true, "ann");
    blocked.recheck.as_mut().unwrap().digest = None;
    let lost = Lost::of(store, &id, decides(&blocked)).await;
    first(lost.once(&["blocked"], 0), Status::Blocked, true);
    assert_eq!(store.head(&id).await.unwrap().unwrap().open, 1);
}

/// An outcome is stored once. Who stores again that nobody knows it is told that the claim is over,
/// and so is who came too late: their evidence is kept once.
pub async fn an_outcome_stored_again_is_one<S: Store>(store: &S, clock: &Clocked) {
    let id = principal(store).await;
    let without = |approval: &Approval, not_made| Settle {
        result: None,
        not_made,
        message: Some("closed".to_owned()),
        ..applied(approval, "")
    };
    let approval = claimed(store, &id, "done").await;
    let lost = Lost::of(store, &id, settles(&applied(&approval, "done"))).await;
    match lost.once(&["outcome"], 0) {
        Outcome::Settled(done) => assert_eq!(done.result, applied(&approval, "done").result),
        other => panic!("not settled: {other:?}"),
    }
    let approval = claimed(store, &id, "not made").await;
    let lost = Lost::of(store, &id, settles(&without(&approval, true))).await;
    let outcome = lost.once(&["outcome"], 0);
    assert!(matches!(outcome, Outcome::Settled(kept) if kept.status == Status::Failed));

    let approval = claimed(store, &id, "unknown").await;
    let lost = Lost::of(store, &id, settles(&without(&approval, false))).await;
    let outcome = lost.once(&["unknown"], 0);
    assert!(matches!(outcome, Outcome::Late(kept) if kept.status == Status::Unknown));

    let approval = claimed(store, &id, "late").await;
    clock.pass(40_000);
    store.sweep(&id).await.unwrap();
    let lost = Lost::of(store, &id, settles(&applied(&approval, "late"))).await;
    match lost.once(&["late_result"], 0) {
        Outcome::Late(kept) => assert_eq!(kept.late, applied(&approval, "late").result),
        other => panic!("not late: {other:?}"),
    }
    assert_eq!(store.head(&id).await.unwrap().unwrap().open, 0);
}

/// A result is handed over once to a call, and so is its replay.
pub async fn a_hand_over_asked_again_is_one<S: Store>(store: &S, _: &Clocked) {
    let id = principal(store).await;
    let approval = claimed(store, &id, "a").await;
    store.settle(&id, applied(&approval, "done")).await.unwrap();
    for _ in 0..2 {
        let lost = Lost::of(store, &id, collects(&collect(&approval))).await;
        match lost.once(&["collected"], 0) {
            Outcome::Collected(kept) => assert_eq!(kept.result, applied(&approval, "done").result),
            other => panic!("not handed over: {other:?}"),
        }
    }
    assert!(matches!(ask(store, &id, "a").await, Outcome::Held(held) if held.id == approval.id));
}

/// Asking after a request names no call, so each asking takes a token, and is counted with those
/// that are collapsed; the gate's own asking takes none. Neither changes the request.
pub async fn each_asking_after_a_request_is_one_more<S: Store>(store: &S, _: &Clocked) {
    let id = principal(store).await;
    let approval = queued(store, &id, "a").await;
    let poll = |counted| {
        Move::Poll(Box::new(Poll {
            key: None,
            approval: approval.id.clone(),
            policy_version: 1,
            limits: WIDE,
            counted,
        }))
    };
    let lost = Lost::of(store, &id, poll(true)).await;
    let outcome = lost.written(&["held"], 2);
    assert_eq!(outcome, Outcome::Held(Box::new(approval.clone())));
    let lost = Lost::of(store, &id, poll(false)).await;
    let outcome = lost.once(&[], 0);
    assert_eq!(outcome, Outcome::Held(Box::new(approval)));
}

/// What is overdue is closed once; who sweeps again finds nothing more to close.
pub async fn what_is_swept_again_is_closed_once<S: Store>(store: &S, clock: &Clocked) {
    let id = principal(store).await;
    claimed(store, &id, "lapses").await;
    queued(store, &id, "expires").await;
    store
        .admit(&id, admit(&id, "is lost", Decision::Run))
        .await
        .unwrap();
    for (time, entries) in [(40_000, &["unknown", "call"][..]), (WINDOW, &["expired"])] {
        clock.pass(time);
        let lost = Lost::of(store, &id, Move::Sweep).await;
        assert_eq!(lost.once(entries, 0), Outcome::Swept(0));
    }
    assert_eq!(store.head(&id).await.unwrap().unwrap().open, 0);
}
