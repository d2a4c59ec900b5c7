//! Observations, limits, kill switch and keys.

use futures_util::future::join_all;
use toolgate_core::policy::Limits;
use toolgate_core::time::DAY;
use toolgate_core::time::MINUTE;
use toolgate_core::unit::Event;
use toolgate_core::unit::Outcome;
use toolgate_core::unit::SetPolicy;
use toolgate_core::verdict::Code;
use toolgate_core::verdict::Decision;

use super::Clocked;
use super::fixture::Store;
use super::fixture::WIDE;
use super::fixture::admit;
use super::fixture::call;
use super::fixture::key;
use super::fixture::kinds;
use super::fixture::operator;
use super::fixture::principal;
use super::fixture::record;
use crate::store::LedgerExt as _;

fn code(outcome: &Outcome) -> Option<Code> {
    match outcome {
        Outcome::Refused(reason) | Outcome::Withheld(reason) => Some(reason.code),
        _ => None,
    }
}

/// An admitted observation leaves its one entry when it is recorded.
pub async fn an_observation_is_one_entry<S: Store>(store: &S, _: &Clocked) {
    let id = principal(store).await;
    let asked = admit(&id, "a", Decision::Run);
    assert_eq!(
        store.admit(&id, asked.clone()).await.unwrap().outcome,
        Outcome::Admitted
    );
    assert_eq!(
        store.admit(&id, asked.clone()).await.unwrap().outcome,
        Outcome::Admitted
    );
    let done = store.record(&id, record(&asked.call)).await.unwrap();
    assert_eq!(done.outcome, Outcome::Recorded);
    assert_eq!(done.seq, Some(2));
    assert_eq!(kinds(store, &id).await, ["principal_created", "call"]);
}

/// A result without an admission is not disclosed.
pub async fn what_was_not_admitted_is_not_recorded<S: Store>(store: &S, _: &Clocked) {
    let id = principal(store).await;
    assert_eq!(
        store.record(&id, record(&call())).await.unwrap().outcome,
        Outcome::Missing
    );
    let asked = admit(&id, "a", Decision::Run);
    store.admit(&id, asked.clone()).await.unwrap();
    store.record(&id, record(&asked.call)).await.unwrap();
    let again = store.record(&id, record(&asked.call)).await.unwrap();
    assert_eq!(again.outcome, Outcome::Missing);
}

// spec: FN-46
/// Of many calls at once exactly the bucket's tokens pass, and the rest learn when to come back.
pub async fn a_bucket_admits_exactly_its_tokens<S: Store>(store: &S, clock: &Clocked) {
    let id = principal(store).await;
    let limits = Limits {
        per_minute: 10,
        per_day: 1_000,
        tool_per_minute: None,
    };
    let calls = (0..25).map(|n| {
        let mut asked = admit(&id, &n.to_string(), Decision::Run);
        asked.limits = limits;
        store.admit(&id, asked)
    });
    let outcomes = join_all(calls).await;
    let passed = outcomes
        .iter()
        .filter(|moved| moved.as_ref().unwrap().outcome == Outcome::Admitted)
        .count();
    assert_eq!(passed, 10);
    clock.pass(6_000);
    let mut asked = admit(&id, "later", Decision::Run);
    asked.limits = limits;
    assert_eq!(
        store.admit(&id, asked).await.unwrap().outcome,
        Outcome::Admitted
    );
    let mut asked = admit(&id, "later", Decision::Run);
    asked.limits = limits;
    let refused = store.admit(&id, asked).await.unwrap().outcome;
    assert!(matches!(refused, Outcome::Refused(ref r) if r.retry_after_ms == Some(6_000)));
}

/// The day's count starts anew with the UTC day; a clock that goes back gives nothing.
pub async fn meters_follow_the_day_and_never_the_clock_back<S: Store>(store: &S, clock: &Clocked) {
    let id = principal(store).await;
    let limits = Limits {
        per_minute: 1_000,
        per_day: 1,
        tool_per_minute: None,
    };
    let ask = |limits: Limits| {
        let mut asked = admit(&id, "a", Decision::Run);
        asked.limits = limits;
        store.admit(&id, asked)
    };
    assert_eq!(ask(limits).await.unwrap().outcome, Outcome::Admitted);
    clock.pass(DAY - store.now().as_millis() % DAY - 1);
    assert_eq!(
        code(&ask(limits).await.unwrap().outcome),
        Some(Code::BudgetExhausted)
    );
    clock.pass(1);
    assert_eq!(ask(limits).await.unwrap().outcome, Outcome::Admitted);
    clock.pass(-60 * MINUTE);
    store.note(&id, Event::note("dry_run")).await.unwrap();
    let before = store.head(&id).await.unwrap().unwrap().at;
    assert_eq!(
        code(&ask(limits).await.unwrap().outcome),
        Some(Code::BudgetExhausted)
    );
    store.note(&id, Event::note("dry_run")).await.unwrap();
    let after = store.head(&id).await.unwrap().unwrap().at;
    assert!(after >= before);
}

/// The kill switch is reported before any other reason, at once, and once written down.
pub async fn a_killed_principal_is_refused_first<S: Store>(store: &S, _: &Clocked) {
    let id = principal(store).await;
    for _ in 0..2 {
        let moved = store
            .kill(&id, operator("ann"), Some("drill".to_owned()))
            .await
            .unwrap();
        assert_eq!(moved.outcome, Outcome::Done);
    }
    let mut asked = admit(&id, "a", Decision::Refuse);
    asked.key = Some("unknown".parse().unwrap());
    asked.policy_version = 99;
    let refused = store.admit(&id, asked).await.unwrap().outcome;
    assert_eq!(code(&refused), Some(Code::Killed));
    store.revive(&id, operator("ann")).await.unwrap();
    let passed = store
        .admit(&id, admit(&id, "a", Decision::Run))
        .await
        .unwrap()
        .outcome;
    assert_eq!(passed, Outcome::Admitted);
    assert_eq!(
        kinds(store, &id).await,
        ["principal_created", "killed", "refused", "revived"]
    );
}

/// A read that was running when the switch fell is written down and withheld.
pub async fn a_withheld_result_is_written_down<S: Store>(store: &S, _: &Clocked) {
    let id = principal(store).await;
    let asked = admit(&id, "a", Decision::Run);
    store.admit(&id, asked.clone()).await.unwrap();
    store.kill(&id, operator("ann"), None).await.unwrap();
    let done = store.record(&id, record(&asked.call)).await.unwrap();
    assert_eq!(code(&done.outcome), Some(Code::Killed));
    assert_eq!(
        kinds(store, &id).await,
        ["principal_created", "killed", "call"]
    );
}

// spec: KS-04 KY-05
/// What was running when the switch fell or its key was revoked is withheld, whatever came since.
pub async fn what_a_kill_or_a_revoked_key_cut_stays_withheld<S: Store>(store: &S, _: &Clocked) {
    let id = principal(store).await;
    let (key, _) = key(store, &id).await;
    let asked = admit(&id, "a", Decision::Run);
    let mut by_key = admit(&id, "b", Decision::Run);
    by_key.key = Some(key.id.clone());
    store.admit(&id, asked.clone()).await.unwrap();
    store.kill(&id, operator("ann"), None).await.unwrap();
    store.revive(&id, operator("ann")).await.unwrap();
    let done = store.record(&id, record(&asked.call)).await.unwrap();
    assert_eq!(code(&done.outcome), Some(Code::Killed));
    store.admit(&id, by_key.clone()).await.unwrap();
    store
        .revoke_key(&id, key.id, operator("ann"))
        .await
        .unwrap();
    let done = store.record(&id, record(&by_key.call)).await.unwrap();
    assert_eq!(code(&done.outcome), Some(Code::KeyRevoked));
}

// spec: AU-01
/// What was counted instead of written down is written down in the end, each kind by itself.
pub async fn what_was_counted_is_written_down<S: Store>(store: &S, clock: &Clocked) {
    let id = principal(store).await;
    for path in ["/a", "/b", "/a", "/a"] {
        let mut asked = admit(&id, path, Decision::Refuse);
        if let Some(reason) = asked.verdict.reasons.first_mut() {
            reason.path = Some(path.to_owned());
        }
        store.admit(&id, asked).await.unwrap();
    }
    assert_eq!(
        kinds(store, &id).await,
        ["principal_created", "refused", "refused"]
    );
    assert!(!store.overdue().await.unwrap().contains(&id));
    clock.pass(10_000);
    assert!(store.overdue().await.unwrap().contains(&id));
    assert_eq!(store.sweep(&id).await.unwrap().outcome, Outcome::Swept(1));
    assert!(!store.overdue().await.unwrap().contains(&id));
    let chain = toolgate_audit::ChainId::new(id.as_str()).unwrap();
    let rows = store.slice(&chain, 4, 9).await.unwrap();
    let last = toolgate_audit::decode(&rows.last().unwrap().bytes).unwrap();
    assert_eq!(
        (last.detail.get("alsoRefused"), last.detail.get("path")),
        (Some(&2.into()), Some(&"/a".into()))
    );
}

/// An observation whose worker died is written down by a sweep.
pub async fn a_lost_call_is_written_down<S: Store>(store: &S, clock: &Clocked) {
    let id = principal(store).await;
    let asked = admit(&id, "a", Decision::Run);
    store.admit(&id, asked.clone()).await.unwrap();
    store.note(&id, Event::note("dry_run")).await.unwrap();
    assert!(!store.overdue().await.unwrap().contains(&id));
    clock.pass(40_000);
    assert!(store.overdue().await.unwrap().contains(&id));
    assert_eq!(store.sweep(&id).await.unwrap().outcome, Outcome::Swept(1));
    assert!(!store.overdue().await.unwrap().contains(&id));
    let late = store.record(&id, record(&asked.call)).await.unwrap();
    assert_eq!(late.outcome, Outcome::Missing);
    assert_eq!(
        kinds(store, &id).await,
        ["principal_created", "dry_run", "call"]
    );
}

// spec: KY-05
/// A revoked or expired key is refused with the next call.
pub async fn a_key_is_asked_inside_the_unit<S: Store>(store: &S, clock: &Clocked) {
    let id = principal(store).await;
    let (good, _) = key(store, &id).await;
    let with = |key: &toolgate_core::unit::Key| {
        let mut asked = admit(&id, "a", Decision::Run);
        asked.key = Some(key.id.clone());
        store.admit(&id, asked)
    };
    assert_eq!(with(&good).await.unwrap().outcome, Outcome::Admitted);
    // A durable move orders the read after the admission.
    store.note(&id, Event::note("dry_run")).await.unwrap();
    let used = store.head(&id).await.unwrap().unwrap();
    assert!(
        used.keys
            .iter()
            .any(|key| key.id == good.id && key.last_used_at.is_some())
    );
    for _ in 0..2 {
        let moved = store
            .revoke_key(&id, good.id.clone(), operator("ann"))
            .await
            .unwrap();
        assert_eq!(moved.outcome, Outcome::Done);
    }
    assert_eq!(with(&good).await.unwrap().outcome, Outcome::Unauthorised);
    let (mut short, _) = key(store, &id).await;
    short.id = "short".parse().unwrap();
    short.expires_at = Some(store.now().plus(1_000));
    store
        .add_key(&id, short.clone(), operator("ann"))
        .await
        .unwrap();
    clock.pass(999);
    assert_eq!(with(&short).await.unwrap().outcome, Outcome::Admitted);
    clock.pass(1);
    assert_eq!(with(&short).await.unwrap().outcome, Outcome::Unauthorised);
    let missing = store
        .revoke_key(&id, "nope".parse().unwrap(), operator("ann"))
        .await
        .unwrap();
    assert_eq!(missing.outcome, Outcome::Missing);
}

/// What was worked out from an older policy decides nothing.
pub async fn a_stale_policy_decides_nothing<S: Store>(store: &S, _: &Clocked) {
    let id = principal(store).await;
    let set = SetPolicy {
        from: 1,
        text: r#"{"tools":{},"perMinute":5}"#.to_owned(),
        name: None,
        diff: serde_json::json!([]),
        by: operator("ann"),
    };
    assert_eq!(
        store.set_policy(&id, set.clone()).await.unwrap().outcome,
        Outcome::Done
    );
    assert_eq!(
        store.set_policy(&id, set.clone()).await.unwrap().outcome,
        Outcome::Done
    );
    let other = SetPolicy {
        text: r#"{"tools":{}}"#.to_owned(),
        ..set
    };
    assert_eq!(
        store.set_policy(&id, other).await.unwrap().outcome,
        Outcome::Stale
    );
    let (version, text) = store.policy(&id).await.unwrap().unwrap();
    assert_eq!(
        (version, text.as_str()),
        (2, r#"{"tools":{},"perMinute":5}"#)
    );
    let stale = store
        .admit(&id, admit(&id, "a", Decision::Run))
        .await
        .unwrap()
        .outcome;
    assert_eq!(stale, Outcome::Stale);
    let mut fresh = admit(&id, "a", Decision::Run);
    fresh.policy_version = 2;
    fresh.limits = WIDE;
    assert_eq!(
        store.admit(&id, fresh).await.unwrap().outcome,
        Outcome::Admitted
    );
    assert_eq!(kinds(store, &id).await, ["principal_created", "policy_set"]);
}

/// A loop of equal refusals is written once in ten seconds, with the count of the others.
pub async fn equal_refusals_are_counted<S: Store>(store: &S, clock: &Clocked) {
    let id = principal(store).await;
    for n in 0..50 {
        let moved = store
            .admit(&id, admit(&id, &n.to_string(), Decision::Refuse))
            .await
            .unwrap();
        assert_eq!(code(&moved.outcome), Some(Code::ArgumentRefused));
        let mut hidden = admit(&id, "x", Decision::Hidden);
        hidden.asked = format!("made-up-{n}");
        hidden.tool = None;
        hidden.subject = None;
        assert_eq!(
            code(&store.admit(&id, hidden).await.unwrap().outcome),
            Some(Code::Hidden)
        );
    }
    assert_eq!(
        kinds(store, &id).await,
        ["principal_created", "refused", "refused"]
    );
    clock.pass(10_000);
    store
        .admit(&id, admit(&id, "late", Decision::Refuse))
        .await
        .unwrap();
    let chain = toolgate_audit::ChainId::new(id.as_str()).unwrap();
    let rows = store.slice(&chain, 4, 1).await.unwrap();
    let entry = toolgate_audit::decode(&rows.first().unwrap().bytes).unwrap();
    assert_eq!(entry.detail.get("alsoRefused"), Some(&49.into()));
}
