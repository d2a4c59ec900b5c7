//! A clock that tests move, and moves made of few words.

use std::fmt::Debug;
use std::hash::BuildHasher as _;
use std::hash::RandomState;
use std::sync::Arc;
use std::sync::LazyLock;
use std::sync::atomic::AtomicI64;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

use serde_json::json;
use toolgate_core::approval::Approval;
use toolgate_core::approval::RequestKey;
use toolgate_core::approval::StoredResult;
use toolgate_core::classify::ClassifiedBy;
use toolgate_core::classify::Mode;
use toolgate_core::digest::Digest;
use toolgate_core::id::CallId;
use toolgate_core::id::OperatorName;
use toolgate_core::id::PrincipalId;
use toolgate_core::key::AgentKey;
use toolgate_core::policy::Approvers;
use toolgate_core::policy::Limits;
use toolgate_core::time::Timestamp;
use toolgate_core::unit::Admit;
use toolgate_core::unit::Collect;
use toolgate_core::unit::Create;
use toolgate_core::unit::Decide;
use toolgate_core::unit::Ending;
use toolgate_core::unit::Key;
use toolgate_core::unit::Outcome;
use toolgate_core::unit::Recheck;
use toolgate_core::unit::Record;
use toolgate_core::unit::Settle;
use toolgate_core::unit::Subject;
use toolgate_core::verdict::Code;
use toolgate_core::verdict::Decision;
use toolgate_core::verdict::Reason;
use toolgate_core::verdict::Retry;
use toolgate_core::verdict::Verdict;

use crate::store::Clock;
use crate::store::Directory;
use crate::store::Ledger;
use crate::store::LedgerExt as _;

/// A clock that stands still until it is moved.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// Moves the clock by that many milliseconds, back if negative.
    pub fn pass(&self, millis: i64) {
        self.0.fetch_add(millis, Ordering::SeqCst);
    }
}

impl Default for ManualClock {
    /// Noon of 2026-01-01.
    fn default() -> Self {
        Self(AtomicI64::new(1_767_268_800_000))
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }
}

/// A shared [`ManualClock`], for a store and the test that moves it.
pub type Clocked = Arc<ManualClock>;

/// A store in both of its roles.
pub trait Store: Ledger + Directory {}

impl<S: Ledger + Directory + Debug> Store for S {}

/// A store with what must outlive it, such as the folder that it is in.
#[derive(Debug)]
pub struct Temporary<S, K = Box<dyn std::any::Any + Send + Sync>> {
    store: S,
    _kept: K,
}

impl<S> Temporary<S> {
    /// Keeps `kept` until the store is gone.
    pub fn new(store: S, kept: impl std::any::Any + Send + Sync) -> Self {
        Self {
            store,
            _kept: Box::new(kept),
        }
    }
}

impl<S, K> std::ops::Deref for Temporary<S, K> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.store
    }
}

static NEXT: AtomicU64 = AtomicU64::new(1);
/// What no other process names its own by: a store may be full of what earlier ones left.
static PROCESS: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(0));

pub(super) fn fresh(prefix: &str) -> String {
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{prefix}{:08x}-{next}", *PROCESS >> 32)
}

pub(super) fn fresh_entropy() -> [u8; 20] {
    let mut entropy = [0; 20];
    let next = NEXT.fetch_add(1, Ordering::Relaxed).to_be_bytes();
    let seed = PROCESS.to_be_bytes().into_iter().chain(next);
    entropy
        .iter_mut()
        .zip(seed)
        .for_each(|(to, from)| *to = from);
    entropy
}

pub(super) fn operator(name: &str) -> OperatorName {
    name.parse().unwrap()
}

pub(super) fn call() -> CallId {
    fresh("c").parse().unwrap()
}

/// A new principal that may do anything.
pub(super) async fn principal<S: Store>(store: &S) -> PrincipalId {
    let name = fresh("agent-");
    let id: PrincipalId = fresh("p").parse().unwrap();
    assert!(store.claim_name(&name.parse().unwrap(), &id).await.unwrap());
    let create = Create {
        name: name.parse().unwrap(),
        owner: None,
        policy: r#"{"tools":{}}"#.to_owned(),
        policy_name: None,
        by: operator("ann"),
    };
    assert_eq!(
        store.create(&id, create).await.unwrap().outcome,
        Outcome::Done
    );
    id
}

/// A new key of a principal.
pub(super) async fn key<S: Store>(store: &S, id: &PrincipalId) -> (Key, AgentKey) {
    let entropy = fresh_entropy();
    let secret = AgentKey::from_entropy(entropy);
    store.remember_key(&secret.hash(), id).await.unwrap();
    let key = Key {
        id: fresh("k").parse().unwrap(),
        hash: secret.hash(),
        created_at: store.now(),
        last_used_at: None,
        expires_at: None,
        revoked_at: None,
    };
    let moved = store
        .add_key(id, key.clone(), operator("ann"))
        .await
        .unwrap();
    assert_eq!(moved.outcome, Outcome::Done);
    (key, secret)
}

pub(super) const WIDE: Limits = Limits {
    per_minute: 10_000,
    per_day: 100_000,
    tool_per_minute: None,
};

/// A call of the tool `note` with this text, decided this way.
pub fn admit(id: &PrincipalId, text: &str, decision: Decision) -> Admit {
    let args = json!({ "text": text });
    let canonical = toolgate_core::json::canonical(&args);
    let digest = Digest::of(b"definition");
    let code = match decision {
        Decision::Run => Code::Observation,
        Decision::AutoApply => Code::NeverAsks,
        Decision::Queue => Code::Action,
        Decision::Refuse => Code::ArgumentRefused,
        Decision::Hidden => Code::Hidden,
    };
    let observes = decision == Decision::Run;
    Admit {
        call: call(),
        key: None,
        tool: Some("note".parse().unwrap()),
        asked: "note".to_owned(),
        verdict: Verdict {
            decision,
            reasons: vec![Reason::new(code, "for a test", Retry::Fixed)],
            mode: Some(if observes {
                Mode::Observation
            } else {
                Mode::Action
            }),
            classified_by: Some(ClassifiedBy::Builtin),
        },
        policy_version: 1,
        limits: WIDE,
        subject: Some(Subject {
            upstream: "desk".parse().unwrap(),
            wire: "note".parse().unwrap(),
            digest,
            request: RequestKey::new(
                id,
                &"desk".parse().unwrap(),
                &"note".parse().unwrap(),
                &digest,
                &canonical,
                None,
                0,
            ),
            args: String::from_utf8(canonical).unwrap(),
            replay_ms: 600_000,
        }),
        redacted: Some(args),
        seal: None,
        new_request: false,
        lease_ms: 40_000,
    }
}

pub(super) fn record(call: &CallId) -> Record {
    Record {
        call: call.clone(),
        ending: ok(),
    }
}

pub(super) fn ok() -> Ending {
    Ending {
        outcome: "ok".to_owned(),
        ..Ending::default()
    }
}

pub(super) fn recheck() -> Recheck {
    Recheck {
        policy_version: 1,
        verdict: Verdict {
            decision: Decision::Queue,
            reasons: Vec::new(),
            mode: Some(Mode::Action),
            classified_by: None,
        },
        digest: Some(Digest::of(b"definition")),
        approvers: Approvers::Others,
        sole_operator: false,
    }
}

pub(super) fn answer(approval: &Approval, approved: bool, by: &str) -> Decide {
    Decide {
        call: call(),
        approval: approval.id.clone(),
        approved,
        by: operator(by),
        reason: None,
        recheck: Some(recheck()),
        lease_ms: 40_000,
    }
}

pub(super) fn applied(approval: &Approval, text: &str) -> Settle {
    let value = json!({"content": [{"type": "text", "text": text}]});
    Settle {
        approval: approval.id.clone(),
        fence: approval.claim.as_ref().map_or(0, |claim| claim.fence),
        result: Some(StoredResult {
            value,
            is_error: false,
        }),
        not_made: false,
        message: None,
        ending: ok(),
    }
}

pub(super) fn collect(approval: &Approval) -> Collect {
    Collect {
        call: call(),
        key: None,
        approval: approval.id.clone(),
        policy_version: 1,
        ending: ok(),
    }
}

/// Asks for the action with this text; the approval, however the unit answers.
pub(super) async fn ask<S: Store>(store: &S, id: &PrincipalId, text: &str) -> Outcome {
    store
        .admit(id, admit(id, text, Decision::Queue))
        .await
        .unwrap()
        .outcome
}

/// A new request that waits.
pub(super) async fn queued<S: Store>(store: &S, id: &PrincipalId, text: &str) -> Approval {
    match ask(store, id, text).await {
        Outcome::Queued(approval) => *approval,
        other => panic!("not queued: {other:?}"),
    }
}

/// A new request that was approved and is claimed.
pub async fn claimed<S: Store>(store: &S, id: &PrincipalId, text: &str) -> Approval {
    let approval = queued(store, id, text).await;
    match store
        .decide(id, answer(&approval, true, "ann"))
        .await
        .unwrap()
        .outcome
    {
        Outcome::Claimed(approval) => *approval,
        other => panic!("not claimed: {other:?}"),
    }
}

/// The kinds of a principal's entries, oldest first.
pub(super) async fn kinds<S: Store>(store: &S, id: &PrincipalId) -> Vec<String> {
    let chain = toolgate_audit::ChainId::new(id.as_str()).unwrap();
    let rows = store.slice(&chain, 1, 10_000).await.unwrap();
    rows.iter()
        .map(|row| {
            toolgate_audit::decode(&row.bytes)
                .unwrap()
                .kind
                .as_str()
                .to_owned()
        })
        .collect()
}
