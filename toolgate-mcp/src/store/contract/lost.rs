//! A move whose answer gets lost, and what asking again changes.

use toolgate_core::approval::Approval;
use toolgate_core::id::PrincipalId;
use toolgate_core::time::Timestamp;
use toolgate_core::unit::Head;
use toolgate_core::unit::Move;
use toolgate_core::unit::Outcome;

use super::faulty::At;
use super::faulty::Fault;
use super::faulty::Faulty;
use super::faulty::Often;
use super::fixture::Store;
use super::fixture::WIDE;
use super::fixture::kinds;
use crate::gateway::verify;
use crate::store::ApprovalQuery;
use crate::store::Ledger as _;
use crate::store::StoreErrorKind;
use crate::store::Wait;

/// How a unit stands, as far as its store shows it.
#[derive(Debug, Clone, PartialEq)]
struct Stand {
    head: Option<Head>,
    policy: Option<(u64, String)>,
    approvals: Vec<Approval>,
    entries: Vec<String>,
    chain: Option<toolgate_audit::Head>,
    overdue: bool,
}

impl Stand {
    async fn of<S: Store>(store: &S, id: &PrincipalId) -> Self {
        let query = ApprovalQuery {
            principal: Some(id.clone()),
            status: None,
            before: None,
            limit: 1_000,
        };
        let found = store.approvals(&query).await.unwrap();
        let head = store.head(id).await.unwrap();
        let mut chains = store.chains().await.unwrap().into_iter();
        Self {
            // The version counts moves that came to the same, too.
            head: head.map(|head| Head {
                version: 0,
                ..(*head).clone()
            }),
            policy: store.policy(id).await.unwrap(),
            approvals: found.into_iter().map(|(_, approval)| approval).collect(),
            entries: kinds(store, id).await,
            chain: chains
                .find(|(chain, _)| chain.as_str() == id.as_str())
                .map(|(_, head)| head),
            overdue: store.overdue().await.unwrap().contains(id),
        }
    }

    /// How many calls may be made at `now`.
    fn tokens(&self, now: Timestamp) -> u32 {
        let mut meters = self
            .head
            .clone()
            .map(|head| head.meters)
            .unwrap_or_default();
        let mut tokens = 0;
        while meters.take_overall(&WIDE, now).is_ok() {
            tokens += 1;
        }
        tokens
    }
}

/// A move that was made, whose answer was lost, and that was asked again.
#[derive(Debug)]
pub(super) struct Lost {
    before: Stand,
    made: Stand,
    after: Stand,
    outcome: Outcome,
}

impl Lost {
    /// Asks a move of a store that fails before it makes it, then of one that fails after, then
    /// of one that answers.
    pub(super) async fn of<S: Store>(store: &S, id: &PrincipalId, asked: Move) -> Self {
        let faulty = Faulty::new(store);
        let fail = async |fault| {
            faulty.fail(fault, At::Moves, Often::Next(1));
            let failed = faulty.apply(id, asked.clone(), Wait::Durable).await;
            assert_eq!(failed.unwrap_err().kind(), StoreErrorKind::Unavailable);
            Stand::of(store, id).await
        };
        let before = Stand::of(store, id).await;
        let failed = fail(Fault::Before).await;
        assert_eq!(before, failed, "a store that failed before had made it");
        let made = fail(Fault::After).await;
        let moved = faulty.apply(id, asked.clone(), Wait::Durable).await;
        assert!(verify(store).await.unwrap().ok);
        Self {
            before,
            made,
            after: Stand::of(store, id).await,
            outcome: moved.unwrap().outcome,
        }
    }

    /// The answer to asking again. That changed nothing: in all, the move wrote these entries and
    /// took so many tokens.
    pub(super) fn once(self, entries: &[&str], tokens: u32) -> Outcome {
        assert_eq!(self.made, self.after, "asked again, it was made again");
        self.written(entries, tokens)
    }

    /// The same of a move that names no call, and is made as often as it is asked.
    pub(super) fn written(self, entries: &[&str], tokens: u32) -> Outcome {
        let written = self.after.entries.strip_prefix(&*self.before.entries);
        assert_eq!(written.unwrap(), entries);
        let now = self.after.head.as_ref().unwrap().at;
        let taken = self.before.tokens(now) - self.after.tokens(now);
        assert_eq!(taken, tokens);
        self.outcome
    }
}
