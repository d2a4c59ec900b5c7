//! Chains and lists.

use futures_util::future::join_all;
use toolgate_audit::ChainId;
use toolgate_core::approval::Approval;
use toolgate_core::approval::Status;
use toolgate_core::id::PrincipalId;
use toolgate_core::unit::Event;
use toolgate_core::unit::Outcome;
use toolgate_core::verdict::Decision;

use super::Clocked;
use super::fixture::Store;
use super::fixture::answer;
use super::fixture::kinds;
use super::fixture::principal;
use super::fixture::queued;
use crate::gateway::verify;
use crate::store::ApprovalQuery;
use crate::store::EntryQuery;
use crate::store::LedgerExt as _;

// spec: AU-03
/// Concurrent appends are numbered without a gap, and every chain verifies.
pub async fn appends_are_gapless_and_verify<S: Store>(store: &S, _: &Clocked) {
    let id = principal(store).await;
    let notes = (0..29).map(|n| store.note(&id, Event::note("dry_run").with("n", n)));
    for moved in join_all(notes).await {
        assert_eq!(moved.unwrap().outcome, Outcome::Done);
    }
    let chain = ChainId::new(id.as_str()).unwrap();
    let rows = store.slice(&chain, 1, 100).await.unwrap();
    let numbers: Vec<u64> = rows.iter().map(|row| row.seq).collect();
    assert_eq!(numbers, (1..=30).collect::<Vec<_>>());
    let (_, head) = store
        .chains()
        .await
        .unwrap()
        .into_iter()
        .find(|(c, _)| *c == chain)
        .unwrap();
    assert_eq!(
        (head.size, Some(head.hash)),
        (30, rows.last().map(|row| row.hash))
    );
    let found = verify(store).await.unwrap();
    assert!(found.ok && found.complete, "{found:?}");
}

// spec: AU-07
/// Pages of entries neither repeat nor miss one while others are appended.
pub async fn entries_page_stably<S: Store>(store: &S, _: &Clocked) {
    let id = principal(store).await;
    for n in 0..24 {
        store
            .note(&id, Event::note("dry_run").with("n", n))
            .await
            .unwrap();
    }
    let chain = ChainId::new(id.as_str()).unwrap();
    let mut seen = Vec::new();
    let mut before = None;
    loop {
        let query = EntryQuery {
            chain: Some(chain.clone()),
            before,
            limit: 7,
        };
        let page = store.entries(&query).await.unwrap();
        let Some(last) = page.last() else { break };
        before = Some(last.position);
        seen.extend(page.iter().map(|row| row.seq));
        store.note(&id, Event::note("dry_run")).await.unwrap();
    }
    assert_eq!(seen, (1..=25).rev().collect::<Vec<_>>());
    let newest = EntryQuery {
        chain: None,
        before: None,
        limit: 1,
    };
    assert_eq!(store.entries(&newest).await.unwrap().len(), 1);
}

/// Lists of requests are newest first, by principal and status.
pub async fn approvals_are_listed_newest_first<S: Store>(store: &S, clock: &Clocked) {
    let id = principal(store).await;
    let mut asked = Vec::new();
    for n in 0..4 {
        asked.push(queued(store, &id, &n.to_string()).await);
        clock.pass(1);
    }
    let first = asked.first().unwrap();
    store
        .decide(&id, answer(first, false, "ann"))
        .await
        .unwrap();
    let after = |before: Option<&Approval>, status, limit| {
        let query = ApprovalQuery {
            principal: Some(id.clone()),
            status,
            before: before.map(|approval| (approval.created_at, approval.id.clone())),
            limit,
        };
        async move {
            let found = store.approvals(&query).await.unwrap();
            found
                .into_iter()
                .map(|(_, approval)| approval.id)
                .collect::<Vec<_>>()
        }
    };
    let list = |status, limit| after(None, status, limit);
    let newest: Vec<_> = asked
        .iter()
        .rev()
        .map(|approval| approval.id.clone())
        .collect();
    assert_eq!(list(None, 10).await, newest);
    assert_eq!(list(None, 2).await.as_slice(), newest.get(..2).unwrap());
    assert_eq!(
        after(asked.get(2), None, 10).await.as_slice(),
        newest.get(2..).unwrap()
    );
    let counted = store.count(Status::Declined).await.unwrap();
    assert!(counted >= 1);
    assert_eq!(
        list(Some(Status::Pending), 10).await.as_slice(),
        newest.get(..3).unwrap()
    );
    assert_eq!(
        list(Some(Status::Declined), 10).await,
        vec![first.id.clone()]
    );
}

// spec: FN-08
/// One principal's moves show nothing of another's, and touch nothing of it.
pub async fn principals_share_nothing<S: Store>(store: &S, _: &Clocked) {
    let (one, two) = (principal(store).await, principal(store).await);
    let approval = queued(store, &one, "a").await;
    assert_eq!(store.approval(&two, &approval.id).await.unwrap(), None);
    let before = store.head(&two).await.unwrap();
    let theirs = store
        .decide(&two, answer(&approval, true, "ann"))
        .await
        .unwrap()
        .outcome;
    assert_eq!(theirs, Outcome::Missing);
    for n in 0..20 {
        let asked = super::fixture::admit(&one, &n.to_string(), Decision::Run);
        store.admit(&one, asked).await.unwrap();
    }
    assert_eq!(store.head(&two).await.unwrap(), before);
    let nobody: PrincipalId = "nobody".parse().unwrap();
    assert_eq!(store.head(&nobody).await.unwrap(), None);
    assert_eq!(
        store.sweep(&nobody).await.unwrap().outcome,
        Outcome::Missing
    );
}

/// What belongs to no agent is written down in the system's chain.
pub async fn the_system_has_a_chain<S: Store>(store: &S, _: &Clocked) {
    let system = PrincipalId::system();
    let before = kinds(store, &system).await.len();
    for _ in 0..2 {
        let moved = store
            .note(&system, Event::note("operator_added"))
            .await
            .unwrap();
        assert_eq!(moved.outcome, Outcome::Done);
    }
    let written = kinds(store, &system).await;
    assert_eq!(written.len(), before + 2);
    assert_eq!(written.last().map(String::as_str), Some("operator_added"));
}
