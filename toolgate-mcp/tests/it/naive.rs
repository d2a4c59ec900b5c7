//! Moves in random order, against a unit that a child could have written.

use proptest::prelude::*;
use serde_json::json;
use toolgate_core::approval::Approval;
use toolgate_core::approval::DECLINE_HOLDS;
use toolgate_core::approval::StoredResult;
use toolgate_core::approval::WINDOW;
use toolgate_core::digest::Digest;
use toolgate_core::id::PrincipalId;
use toolgate_core::policy::Approvers;
use toolgate_core::time::DAY;
use toolgate_core::time::MINUTE;
use toolgate_core::unit::Create;
use toolgate_core::unit::Decide;
use toolgate_core::unit::Ending;
use toolgate_core::unit::Outcome;
use toolgate_core::unit::Recheck;
use toolgate_core::unit::Settle;
use toolgate_core::verdict::Decision;
use toolgate_core::verdict::Verdict;
use toolgate_mcp::store::Ledger as _;
use toolgate_mcp::store::LedgerExt as _;
use toolgate_mcp::store::contract::Clocked;
use toolgate_mcp::store::contract::admit;
use toolgate_mcp::store::memory::MemoryStore;

const LEASE: i64 = 40_000;
const REPLAY: i64 = 600_000;
const TEXTS: [&str; 3] = ["a", "b", "c"];

#[derive(Debug, Clone, Copy)]
enum Act {
    Ask(usize),
    Decide(usize, bool),
    Kill,
    Pass(i64),
    Revive,
    /// Of the last claim of that text: with a result, certainly not made, or nobody knows.
    Settle(usize, Settled),
    Sweep,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Settled {
    Done,
    NotMade,
    Unsure,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Nothing,
    Pending { until: i64 },
    Applying { until: i64 },
    Applied,
    Failed { at: i64 },
    Unknown,
    Declined { at: i64 },
    Over,
}

#[derive(Debug)]
struct Naive {
    now: i64,
    killed: bool,
    states: [State; 3],
}

impl Naive {
    fn close(&mut self, text: usize) {
        let state = &mut self.states[text];
        match *state {
            State::Pending { until } if until <= self.now => *state = State::Over,
            State::Applying { until } if until <= self.now => *state = State::Unknown,
            _ => {}
        }
    }

    fn open(&self) -> usize {
        let open = |state: &&State| matches!(state, State::Pending { .. } | State::Applying { .. });
        self.states.iter().filter(open).count()
    }

    /// The word of the outcome.
    fn act(&mut self, act: Act) -> &'static str {
        match act {
            Act::Pass(time) => {
                self.now += time;
                ""
            }
            Act::Kill => {
                self.killed = true;
                "done"
            }
            Act::Revive => {
                self.killed = false;
                "done"
            }
            Act::Sweep => {
                (0..3).for_each(|text| self.close(text));
                "swept"
            }
            Act::Ask(_) if self.killed => "refused",
            Act::Ask(text) => {
                self.close(text);
                let holds = match self.states[text] {
                    State::Nothing | State::Over => false,
                    State::Failed { at } => self.now < at + REPLAY,
                    State::Declined { at } => self.now < at + DECLINE_HOLDS,
                    _ => true,
                };
                if holds {
                    return "held";
                }
                let until = self.now + WINDOW;
                self.states[text] = State::Pending { until };
                "queued"
            }
            Act::Decide(text, yes) => {
                self.close(text);
                match (self.states[text], yes) {
                    (State::Nothing, _) => "missing",
                    (State::Pending { .. }, false) => {
                        self.states[text] = State::Declined { at: self.now };
                        "decided"
                    }
                    (State::Failed { at }, true) if at + DAY <= self.now => "conflict",
                    (State::Pending { .. } | State::Failed { .. }, true) if self.killed => {
                        self.states[text] = State::Over;
                        "decided"
                    }
                    (State::Pending { .. } | State::Failed { .. }, true) => {
                        let until = self.now + LEASE;
                        self.states[text] = State::Applying { until };
                        "claimed"
                    }
                    _ => "conflict",
                }
            }
            Act::Settle(text, how) => match (self.states[text], how) {
                (State::Applying { .. }, Settled::Done) => {
                    self.states[text] = State::Applied;
                    "settled"
                }
                (State::Applying { .. }, Settled::NotMade) => {
                    self.states[text] = State::Failed { at: self.now };
                    "settled"
                }
                (State::Applying { .. }, Settled::Unsure) => {
                    self.states[text] = State::Unknown;
                    "settled"
                }
                _ => "not mine",
            },
        }
    }
}

/// The real unit, and what its worker remembers of each text.
struct Real {
    store: MemoryStore,
    clock: Clocked,
    id: PrincipalId,
    asked: [Option<Approval>; 3],
    claims: [Option<Approval>; 3],
    decisions: u32,
}

impl Real {
    async fn new() -> Self {
        let clock = Clocked::default();
        let store = MemoryStore::new(clock.clone());
        let id: PrincipalId = "p1".parse().unwrap();
        let create = Create {
            name: "bot".parse().unwrap(),
            owner: None,
            policy: r#"{"tools":{}}"#.to_owned(),
            policy_name: None,
            by: "ann".parse().unwrap(),
        };
        store.create(&id, create).await.unwrap();
        Self {
            store,
            clock,
            id,
            asked: [None, None, None],
            claims: [None, None, None],
            decisions: 0,
        }
    }

    async fn act(&mut self, act: Act) -> &'static str {
        let by = "ann".parse().unwrap();
        let moved = match act {
            Act::Pass(time) => {
                self.clock.pass(time);
                return "";
            }
            Act::Kill => self.store.kill(&self.id, by, None).await,
            Act::Revive => self.store.revive(&self.id, by).await,
            Act::Sweep => self.store.sweep(&self.id).await,
            Act::Ask(text) => {
                let asked = admit(&self.id, TEXTS[text], Decision::Queue);
                self.store.admit(&self.id, asked).await
            }
            Act::Decide(text, approved) => {
                let Some(asked) = &self.asked[text] else {
                    return "missing";
                };
                self.decisions += 1;
                let decide = Decide {
                    call: format!("d{}", self.decisions).parse().unwrap(),
                    approval: asked.id.clone(),
                    approved,
                    by,
                    reason: None,
                    recheck: Some(Recheck {
                        policy_version: 1,
                        verdict: Verdict {
                            decision: Decision::Queue,
                            ..Verdict::default()
                        },
                        digest: Some(Digest::of(b"definition")),
                        approvers: Approvers::Any,
                        sole_operator: true,
                    }),
                    lease_ms: LEASE,
                };
                self.store.decide(&self.id, decide).await
            }
            Act::Settle(text, how) => {
                let Some(claimed) = &self.claims[text] else {
                    return "not mine";
                };
                let result = (how == Settled::Done).then(|| StoredResult {
                    value: json!({"content": []}),
                    is_error: false,
                });
                let settle = Settle {
                    approval: claimed.id.clone(),
                    fence: claimed.claim.as_ref().unwrap().fence,
                    result,
                    not_made: how == Settled::NotMade,
                    message: None,
                    ending: Ending::default(),
                };
                // What is settled already is settled once more, and changes nothing.
                let before = self.standing(text).await;
                let moved = self.store.settle(&self.id, settle).await.unwrap();
                let applying = before == Some("applying");
                return match moved.outcome {
                    Outcome::Settled(_) if applying => "settled",
                    Outcome::Settled(_) | Outcome::Late(_) => "not mine",
                    other => panic!("{other:?}"),
                };
            }
        };
        match (moved.unwrap().outcome, act) {
            (Outcome::Done, _) => "done",
            (Outcome::Swept(_), _) => "swept",
            (Outcome::Refused(_), _) => "refused",
            (Outcome::Held(_), _) => "held",
            (Outcome::Conflict(_), _) => "conflict",
            (Outcome::Decided(_), _) => "decided",
            (Outcome::Queued(approval), Act::Ask(text)) => {
                self.asked[text] = Some(*approval);
                self.claims[text] = None;
                "queued"
            }
            (Outcome::Claimed(approval), Act::Decide(text, _)) => {
                self.claims[text] = Some(*approval);
                "claimed"
            }
            (other, _) => panic!("{other:?}"),
        }
    }

    async fn standing(&self, text: usize) -> Option<&'static str> {
        let asked = self.asked[text].as_ref()?;
        let found = self.store.approval(&self.id, &asked.id).await.unwrap();
        found.map(|approval| approval.status.as_str())
    }
}

fn word(state: State) -> Option<&'static [&'static str]> {
    match state {
        State::Nothing => None,
        State::Pending { .. } => Some(&["pending"]),
        State::Applying { .. } => Some(&["applying"]),
        State::Applied => Some(&["applied"]),
        State::Failed { .. } => Some(&["failed"]),
        State::Unknown => Some(&["unknown"]),
        State::Declined { .. } => Some(&["declined"]),
        State::Over => Some(&["expired", "blocked"]),
    }
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let text = 0_usize..3;
    let how = prop_oneof![
        Just(Settled::Done),
        Just(Settled::NotMade),
        Just(Settled::Unsure)
    ];
    let time = prop_oneof![
        Just(1),
        Just(LEASE - 1),
        Just(LEASE),
        Just(REPLAY),
        Just(90 * MINUTE),
        Just(DAY - 1),
        Just(DAY)
    ];
    let act = prop_oneof![
        4 => text.clone().prop_map(Act::Ask),
        4 => (text.clone(), prop::bool::weighted(0.8)).prop_map(|(t, yes)| Act::Decide(t, yes)),
        4 => (text, how).prop_map(|(t, how)| Act::Settle(t, how)),
        3 => time.prop_map(Act::Pass),
        1 => Just(Act::Kill),
        2 => Just(Act::Revive),
        1 => Just(Act::Sweep),
    ];
    prop::collection::vec(act, 1..60)
}

proptest! {
    #[test]
    fn moves_in_any_order_do_what_a_naive_unit_does(acts in acts()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut real = Real::new().await;
            let mut naive = Naive {
                now: 0,
                killed: false,
                states: [State::Nothing; 3],
            };
            for (nth, act) in acts.iter().enumerate() {
                let (expected, got) = (naive.act(*act), real.act(*act).await);
                assert_eq!(got, expected, "{nth}: {act:?} of {acts:?}");
                let head = real.store.head(&real.id).await.unwrap().unwrap();
                assert_eq!(head.open as usize, naive.open(), "{nth}: {act:?} of {acts:?}");
                for (text, state) in naive.states.iter().enumerate() {
                    let stands = real.standing(text).await;
                    let fits = match word(*state) {
                        None => stands.is_none(),
                        Some(words) => stands.is_some_and(|stands| words.contains(&stands)),
                    };
                    assert!(fits, "{nth}: {stands:?} for {state:?} after {act:?} of {acts:?}");
                }
            }
        });
    }
}
