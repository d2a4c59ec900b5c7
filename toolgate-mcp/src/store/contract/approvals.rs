//! Requests, answers, claims and outcomes.

use futures_util::future::join_all;
use toolgate_core::approval::Status;
use toolgate_core::approval::UNATTENDED_KEPT;
use toolgate_core::approval::WINDOW;
use toolgate_core::time::DAY;
use toolgate_core::unit::Outcome;
use toolgate_core::unit::Settle;
use toolgate_core::verdict::Code;
use toolgate_core::verdict::Decision;
use toolgate_core::verdict::Verdict;

use super::Clocked;
use super::fixture::Store;
use super::fixture::admit;
use super::fixture::answer;
use super::fixture::applied;
use super::fixture::ask;
use super::fixture::claimed;
use super::fixture::collect;
use super::fixture::key;
use super::fixture::kinds;
use super::fixture::operator;
use super::fixture::principal;
use super::fixture::queued;
use super::fixture::record;
use crate::store::LedgerExt as _;

// spec: AC-15
/// Equal calls find the same request; the arguments stay until it is decided, and no longer.
pub async fn the_same_request_is_one_row<S: Store>(store: &S, _: &Clocked) {
    let id = principal(store).await;
    let first = queued(store, &id, "a").await;
    for _ in 0..20 {
        match ask(store, &id, "a").await {
            Outcome::Held(again) => assert_eq!(again.id, first.id),
            other => panic!("not held: {other:?}"),
        }
    }
    assert_ne!(queued(store, &id, "b").await.id, first.id);
    assert_eq!(store.head(&id).await.unwrap().unwrap().open, 2);
    assert!(first.args.is_some());
    store
        .decide(&id, answer(&first, false, "ann"))
        .await
        .unwrap();
    let declined = store.approval(&id, &first.id).await.unwrap().unwrap();
    assert_eq!((declined.status, declined.args), (Status::Declined, None));
    assert_eq!(store.head(&id).await.unwrap().unwrap().open, 1);
    assert_eq!(
        kinds(store, &id).await,
        ["principal_created", "pending", "held", "pending", "decided"]
    );
}

// spec: F05
/// Of many answers at once the first committed wins; the others learn it.
pub async fn one_of_many_answers_wins<S: Store>(store: &S, _: &Clocked) {
    let id = principal(store).await;
    let approval = queued(store, &id, "a").await;
    let answers = (0..16).map(|n| store.decide(&id, answer(&approval, n % 2 == 0, "ann")));
    let outcomes = join_all(answers).await;
    let mut won = 0;
    for moved in outcomes {
        match moved.unwrap().outcome {
            Outcome::Claimed(_) | Outcome::Decided(_) => won += 1,
            Outcome::Conflict(first) => assert_ne!(first.status, Status::Pending),
            other => panic!("neither won nor lost: {other:?}"),
        }
    }
    assert_eq!(won, 1);
}

/// A claim settles once; settling again changes nothing, and the call is two entries.
pub async fn a_claim_settles_once<S: Store>(store: &S, _: &Clocked) {
    let id = principal(store).await;
    let approval = claimed(store, &id, "a").await;
    let settle = applied(&approval, "done");
    for _ in 0..3 {
        match store.settle(&id, settle.clone()).await.unwrap().outcome {
            Outcome::Settled(done) => assert_eq!(done.status, Status::Applied),
            other => panic!("not settled: {other:?}"),
        }
    }
    let done = store.approval(&id, &approval.id).await.unwrap().unwrap();
    assert_eq!(done.result, settle.result);
    assert_eq!(done.args, None);
    assert_eq!(store.head(&id).await.unwrap().unwrap().open, 0);
    assert_eq!(
        kinds(store, &id).await,
        ["principal_created", "pending", "intent", "outcome"]
    );
}

/// Asking for a claim twice by the same call or decision is asking once.
pub async fn nothing_runs_twice_for_one_call<S: Store>(store: &S, _: &Clocked) {
    let id = principal(store).await;
    let approval = queued(store, &id, "a").await;
    let yes = answer(&approval, true, "ann");
    let first = store.decide(&id, yes.clone()).await.unwrap().outcome;
    assert_eq!(store.decide(&id, yes).await.unwrap().outcome, first);
    let auto = admit(&id, "b", Decision::AutoApply);
    let Outcome::Claimed(mine) = store.admit(&id, auto.clone()).await.unwrap().outcome else {
        panic!("not claimed");
    };
    assert!(mine.unattended);
    let again = store.admit(&id, auto).await.unwrap().outcome;
    assert_eq!(again, Outcome::Claimed(mine.clone()));
    let twin = store
        .admit(&id, admit(&id, "b", Decision::AutoApply))
        .await
        .unwrap()
        .outcome;
    assert!(matches!(twin, Outcome::Held(ref held) if held.id == mine.id));
    store.settle(&id, applied(&mine, "done")).await.unwrap();
    let kept = store
        .admit(&id, admit(&id, "b", Decision::AutoApply))
        .await
        .unwrap()
        .outcome;
    assert!(matches!(kept, Outcome::Held(ref held) if held.status == Status::Applied));
    store.collect(&id, collect(&mine)).await.unwrap();
    let next = store
        .admit(&id, admit(&id, "b", Decision::AutoApply))
        .await
        .unwrap()
        .outcome;
    assert!(matches!(next, Outcome::Claimed(ref next) if next.id != mine.id));
}

// spec: KS-04
/// Whoever asks again after the switch fell is told so, and the call counts as not made.
pub async fn nothing_asked_before_a_kill_is_made_after_it<S: Store>(store: &S, _: &Clocked) {
    let id = principal(store).await;
    let auto = admit(&id, "a", Decision::AutoApply);
    let read = admit(&id, "b", Decision::Run);
    let waiting = queued(store, &id, "c").await;
    let yes = answer(&waiting, true, "ann");
    store.admit(&id, auto.clone()).await.unwrap();
    store.admit(&id, read.clone()).await.unwrap();
    store.decide(&id, yes.clone()).await.unwrap();
    store.kill(&id, operator("ann"), None).await.unwrap();
    for again in [auto.clone(), read.clone(), auto] {
        let outcome = store.admit(&id, again).await.unwrap().outcome;
        assert!(matches!(outcome, Outcome::Refused(ref why) if why.code == Code::Killed));
    }
    let again = store.decide(&id, yes).await.unwrap().outcome;
    assert!(matches!(again, Outcome::Decided(ref ended) if ended.status == Status::Failed));
    store.revive(&id, operator("ann")).await.unwrap();
    let gone = store.record(&id, record(&read.call)).await.unwrap().outcome;
    assert_eq!(gone, Outcome::Missing);
    assert_eq!(store.head(&id).await.unwrap().unwrap().open, 0);
}

/// The latest asking answers, whatever becomes of earlier ones meanwhile.
pub async fn the_latest_asking_answers<S: Store>(store: &S, clock: &Clocked) {
    let id = principal(store).await;
    let first = claimed(store, &id, "a").await;
    let mut failed = applied(&first, "");
    failed.result = None;
    failed.not_made = true;
    store.settle(&id, failed).await.unwrap();
    clock.pass(DAY - 1);
    let second = queued(store, &id, "a").await;
    assert_ne!(second.id, first.id);
    clock.pass(1);
    assert_eq!(store.sweep(&id).await.unwrap().outcome, Outcome::Swept(1));
    match ask(store, &id, "a").await {
        Outcome::Held(held) => assert_eq!(held.id, second.id),
        other => panic!("not held: {other:?}"),
    }
    assert_eq!(store.head(&id).await.unwrap().unwrap().open, 1);
}

/// A result that was filtered by an older policy is not handed over.
pub async fn a_stale_policy_hands_nothing_over<S: Store>(store: &S, _: &Clocked) {
    let id = principal(store).await;
    let approval = claimed(store, &id, "a").await;
    store.settle(&id, applied(&approval, "done")).await.unwrap();
    let mut stale = collect(&approval);
    stale.policy_version = 2;
    let outcome = store.collect(&id, stale).await.unwrap().outcome;
    assert_eq!(outcome, Outcome::Stale);
    let kept = store.approval(&id, &approval.id).await.unwrap().unwrap();
    assert_eq!(kept.handed_over_at, None);
}

// spec: AC-12 F01 F02
/// A claim whose lease is over becomes unknown; it is never made again.
pub async fn a_lapsed_claim_becomes_unknown<S: Store>(store: &S, clock: &Clocked) {
    let id = principal(store).await;
    let approval = claimed(store, &id, "a").await;
    clock.pass(39_999);
    assert_eq!(store.sweep(&id).await.unwrap().outcome, Outcome::Swept(0));
    clock.pass(1);
    assert!(store.overdue().await.unwrap().contains(&id));
    assert_eq!(store.sweep(&id).await.unwrap().outcome, Outcome::Swept(1));
    let lost = store.approval(&id, &approval.id).await.unwrap().unwrap();
    assert_eq!((lost.status, lost.args), (Status::Unknown, None));
    let again = store
        .decide(&id, answer(&approval, true, "ann"))
        .await
        .unwrap()
        .outcome;
    assert!(matches!(again, Outcome::Conflict(_)));
    assert!(matches!(ask(store, &id, "a").await, Outcome::Held(held) if held.id == approval.id));
    clock.pass(30 * DAY);
    assert!(matches!(ask(store, &id, "a").await, Outcome::Held(held) if held.id == approval.id));
    assert_eq!(
        kinds(store, &id).await,
        [
            "principal_created",
            "pending",
            "intent",
            "unknown",
            "held",
            "held"
        ]
    );
}

/// Who settles with a fence that is not his any more leaves evidence and overwrites nothing.
pub async fn a_stale_fence_leaves_evidence<S: Store>(store: &S, clock: &Clocked) {
    let id = principal(store).await;
    let approval = claimed(store, &id, "a").await;
    clock.pass(40_000);
    store.sweep(&id).await.unwrap();
    for _ in 0..2 {
        let late = store
            .settle(&id, applied(&approval, "late"))
            .await
            .unwrap()
            .outcome;
        assert!(matches!(late, Outcome::Late(_)));
    }
    let kept = store.approval(&id, &approval.id).await.unwrap().unwrap();
    assert_eq!(
        (kept.status, kept.result.is_none()),
        (Status::Unknown, true)
    );
    assert!(kept.late.is_some());
    let written = kinds(store, &id).await;
    assert_eq!(
        written.iter().filter(|kind| *kind == "late_result").count(),
        1
    );
}

/// What was certainly not made may be tried again by a person: one row, a new claim.
pub async fn a_retried_failure_is_claimed_again<S: Store>(store: &S, _: &Clocked) {
    let id = principal(store).await;
    let approval = claimed(store, &id, "a").await;
    let failed = Settle {
        result: None,
        not_made: true,
        message: Some("closed".to_owned()),
        ..applied(&approval, "")
    };
    let Outcome::Settled(failed) = store.settle(&id, failed).await.unwrap().outcome else {
        panic!("not settled");
    };
    assert_eq!(failed.status, Status::Failed);
    let no = store
        .decide(&id, answer(&approval, false, "ann"))
        .await
        .unwrap()
        .outcome;
    assert!(matches!(no, Outcome::Conflict(_)));
    match store
        .decide(&id, answer(&approval, true, "ann"))
        .await
        .unwrap()
        .outcome
    {
        Outcome::Claimed(again) => {
            assert_eq!(again.id, approval.id);
            assert!(again.claim.unwrap().fence > approval.claim.as_ref().unwrap().fence);
        }
        other => panic!("not claimed: {other:?}"),
    }
    assert_eq!(store.head(&id).await.unwrap().unwrap().open, 1);
    // The first claim is over: who still holds its fence settles nothing.
    let stale = store
        .settle(&id, applied(&approval, "stale"))
        .await
        .unwrap()
        .outcome;
    assert!(matches!(stale, Outcome::Late(_)));
    let kept = store.approval(&id, &approval.id).await.unwrap().unwrap();
    assert_eq!((kept.status, kept.result), (Status::Applying, None));
}

/// A window closes at its very millisecond, by the store's clock.
pub async fn windows_close_to_the_millisecond<S: Store>(store: &S, clock: &Clocked) {
    let id = principal(store).await;
    let (one, two) = (queued(store, &id, "a").await, queued(store, &id, "b").await);
    clock.pass(WINDOW - 1);
    let yes = store
        .decide(&id, answer(&one, true, "ann"))
        .await
        .unwrap()
        .outcome;
    assert!(matches!(yes, Outcome::Claimed(_)));
    clock.pass(1);
    match store
        .decide(&id, answer(&two, true, "ann"))
        .await
        .unwrap()
        .outcome
    {
        Outcome::Conflict(late) => assert_eq!(late.status, Status::Expired),
        other => panic!("decided after its window: {other:?}"),
    }
    let kept = store.approval(&id, &two.id).await.unwrap().unwrap();
    assert_eq!((kept.status, kept.args), (Status::Expired, None));
    match ask(store, &id, "b").await {
        Outcome::Queued(next) => assert_ne!(next.id, two.id),
        other => panic!("no new request: {other:?}"),
    }
}

/// A decline answers the same call for a day; then a new request may be made.
pub async fn declines_hold_for_a_day<S: Store>(store: &S, clock: &Clocked) {
    let id = principal(store).await;
    let approval = queued(store, &id, "a").await;
    store
        .decide(&id, answer(&approval, false, "ann"))
        .await
        .unwrap();
    clock.pass(DAY - 1);
    assert!(matches!(ask(store, &id, "a").await, Outcome::Held(held) if held.id == approval.id));
    let mut insist = admit(&id, "a", Decision::Queue);
    insist.new_request = true;
    let refused = store.admit(&id, insist).await.unwrap().outcome;
    assert!(matches!(refused, Outcome::Refused(ref r) if r.code == Code::OpenRequest));
    clock.pass(1);
    assert!(matches!(ask(store, &id, "a").await, Outcome::Queued(next) if next.id != approval.id));
}

// spec: AC-21
/// A result answers until it was handed over once, and then for the tool's window.
pub async fn a_result_is_replayed_for_its_window<S: Store>(store: &S, clock: &Clocked) {
    let id = principal(store).await;
    let approval = claimed(store, &id, "a").await;
    store.settle(&id, applied(&approval, "done")).await.unwrap();
    clock.pass(3 * DAY);
    assert!(matches!(ask(store, &id, "a").await, Outcome::Held(held) if held.id == approval.id));
    for _ in 0..2 {
        let got = store
            .collect(&id, collect(&approval))
            .await
            .unwrap()
            .outcome;
        assert!(matches!(got, Outcome::Collected(_)));
    }
    clock.pass(599_999);
    assert!(matches!(ask(store, &id, "a").await, Outcome::Held(held) if held.id == approval.id));
    clock.pass(1);
    assert!(matches!(ask(store, &id, "a").await, Outcome::Queued(next) if next.id != approval.id));
}

// spec: F11
/// A yes is checked again: switch, key, policy, arguments, definition, and who may say it.
pub async fn a_yes_is_checked_again<S: Store>(store: &S, _: &Clocked) {
    let id = principal(store).await;
    let blocked = |outcome: Outcome| match outcome {
        Outcome::Decided(approval) => {
            assert_eq!((approval.status, approval.args), (Status::Blocked, None));
        }
        other => panic!("not blocked: {other:?}"),
    };
    let approval = queued(store, &id, "digest").await;
    let mut yes = answer(&approval, true, "ann");
    yes.recheck.as_mut().unwrap().digest = None;
    blocked(store.decide(&id, yes).await.unwrap().outcome);

    let approval = queued(store, &id, "policy").await;
    let mut yes = answer(&approval, true, "ann");
    yes.recheck.as_mut().unwrap().verdict = Verdict::hidden();
    blocked(store.decide(&id, yes).await.unwrap().outcome);

    let approval = queued(store, &id, "stale").await;
    let mut yes = answer(&approval, true, "ann");
    yes.recheck.as_mut().unwrap().policy_version = 2;
    assert_eq!(
        store.decide(&id, yes).await.unwrap().outcome,
        Outcome::Stale
    );

    let (good, _) = key(store, &id).await;
    let mut asked = admit(&id, "key", Decision::Queue);
    asked.key = Some(good.id.clone());
    let Outcome::Queued(approval) = store.admit(&id, asked).await.unwrap().outcome else {
        panic!("not queued");
    };
    store
        .revoke_key(&id, good.id, operator("ann"))
        .await
        .unwrap();
    blocked(
        store
            .decide(&id, answer(&approval, true, "ann"))
            .await
            .unwrap()
            .outcome,
    );

    let approval = queued(store, &id, "killed").await;
    store.kill(&id, operator("ann"), None).await.unwrap();
    blocked(
        store
            .decide(&id, answer(&approval, true, "ann"))
            .await
            .unwrap()
            .outcome,
    );
    let written = kinds(store, &id).await;
    assert_eq!(written.iter().filter(|kind| *kind == "blocked").count(), 4);
    assert!(!written.contains(&"intent".to_owned()));
}

/// What a call that needed no person came to is kept for an hour, and dropped; what waits for a
/// person, or was decided by one, stays.
pub async fn outcomes_without_a_person_are_dropped<S: Store>(store: &S, clock: &Clocked) {
    let id = principal(store).await;
    let attended = claimed(store, &id, "attended").await;
    store.settle(&id, applied(&attended, "done")).await.unwrap();
    let auto = async || {
        let asked = admit(&id, "auto", Decision::AutoApply);
        match store.admit(&id, asked).await.unwrap().outcome {
            Outcome::Claimed(approval) => *approval,
            other => panic!("not claimed: {other:?}"),
        }
    };
    let first = auto().await;
    store.settle(&id, applied(&first, "done")).await.unwrap();
    clock.pass(UNATTENDED_KEPT - 1);
    assert_eq!(store.sweep(&id).await.unwrap().outcome, Outcome::Swept(0));
    assert!(store.approval(&id, &first.id).await.unwrap().is_some());
    clock.pass(1);
    assert!(store.overdue().await.unwrap().contains(&id));
    assert_eq!(store.sweep(&id).await.unwrap().outcome, Outcome::Swept(1));
    assert!(!store.overdue().await.unwrap().contains(&id));
    assert!(store.approval(&id, &first.id).await.unwrap().is_none());
    assert!(store.approval(&id, &attended.id).await.unwrap().is_some());
    assert_ne!(auto().await.id, first.id);
}
