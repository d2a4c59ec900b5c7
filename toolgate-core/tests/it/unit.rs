//! The state machine, the names of requests, keys, and the step's corners.

use std::collections::BTreeSet;

use proptest::prelude::*;
use toolgate_core::approval::ApprovalId;
use toolgate_core::approval::Change;
use toolgate_core::approval::RequestKey;
use toolgate_core::approval::Status;
use toolgate_core::digest::Digest;
use toolgate_core::json::canonical;
use toolgate_core::key::AgentKey;
use toolgate_core::key::OperatorToken;
use toolgate_core::time::Timestamp;
use toolgate_core::unit::Create;
use toolgate_core::unit::Loaded;
use toolgate_core::unit::Move;
use toolgate_core::unit::Outcome;
use toolgate_core::unit::step;

// spec: AC-01 AC-02
#[test]
fn every_pair_of_state_and_change_is_as_drawn() {
    let drawn = [
        (Status::Pending, Change::Claim, Status::Applying),
        (Status::Pending, Change::Block, Status::Blocked),
        (Status::Pending, Change::Decline, Status::Declined),
        (Status::Pending, Change::Expire, Status::Expired),
        (Status::Pending, Change::Withdraw, Status::Withdrawn),
        (Status::Applying, Change::Apply, Status::Applied),
        (Status::Applying, Change::Fail, Status::Failed),
        (Status::Applying, Change::Lose, Status::Unknown),
        (Status::Failed, Change::Claim, Status::Applying),
        (Status::Failed, Change::Block, Status::Blocked),
    ];
    for from in Status::ALL {
        for change in Change::ALL {
            let expected = drawn
                .iter()
                .find(|(state, event, _)| (*state, *event) == (from, change))
                .map(|(_, _, to)| *to);
            assert_eq!(from.after(change).ok(), expected, "{from:?} {change:?}");
        }
    }
}

fn request(
    principal: &str,
    args: &serde_json::Value,
    execution: Option<&str>,
    n: u32,
) -> RequestKey {
    RequestKey::new(
        &principal.parse().unwrap(),
        &"desk".parse().unwrap(),
        &"note".parse().unwrap(),
        &Digest::of(b"definition"),
        &canonical(args),
        execution,
        n,
    )
}

// spec: AC-14 AP-03
#[test]
fn a_request_is_named_by_who_asks_and_what_alone() {
    let parsed = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    let one = request("a", &parsed(r#"{"a":1,"b":2}"#), None, 0);
    assert_eq!(one, request("a", &parsed(r#"{"b":2.0,"a":1.0}"#), None, 0));
    let others = [
        request("b", &parsed(r#"{"a":1,"b":2}"#), None, 0),
        request("a", &parsed(r#"{"a":1,"b":"2"}"#), None, 0),
        request("a", &parsed(r#"{"a":1,"b":2}"#), Some("run"), 0),
        request("a", &parsed(r#"{"a":1,"b":2}"#), Some("run"), 1),
    ];
    let distinct: BTreeSet<String> = others.iter().map(RequestKey::to_hex).collect();
    assert_eq!(distinct.len(), others.len());
    assert!(!distinct.contains(&one.to_hex()));

    let id = ApprovalId::new(&one, 0);
    assert_eq!(ApprovalId::parse(id.as_str()), Some(id.clone()));
    assert!(id.as_str().starts_with("ap_") && id.as_str().len() == 35);
    assert_ne!(id, ApprovalId::new(&one, 1));
    for text in ["ap_", "ap_x", "", "AP_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"] {
        assert_eq!(ApprovalId::parse(text), None);
    }
}

// spec: KY-01
#[test]
fn keys_have_one_form_and_differ() {
    let mut seen = BTreeSet::new();
    for n in 0_u64..10_000 {
        let mut entropy = [0_u8; 20];
        entropy[..8].copy_from_slice(&n.to_le_bytes());
        let key = AgentKey::from_entropy(entropy);
        let body = key.reveal().strip_prefix("tg_").unwrap();
        assert_eq!(body.len(), 32);
        assert!(body.bytes().all(|b| matches!(b, b'a'..=b'z' | b'2'..=b'7')));
        assert!(seen.insert(key.reveal().to_owned()));
    }
    assert!(
        OperatorToken::from_entropy([1; 20])
            .reveal()
            .starts_with("tga_")
    );
    assert_eq!(
        format!("{:?}", OperatorToken::from_entropy([1; 20])),
        "OperatorToken(…)"
    );
    let good = AgentKey::from_entropy([3; 20]).reveal().to_owned();
    for bad in [
        "",
        "tg_",
        "tg_x",
        good.get(..34).unwrap(),
        &format!("{good}a"),
        &good.to_uppercase(),
    ] {
        assert!(AgentKey::parse(bad).is_none());
    }
    for bad in [format!("{good}\n"), format!("{good}\0"), format!(" {good}")] {
        assert!(AgentKey::parse(&bad).is_none());
    }
}

#[test]
fn moves_survive_a_wire() {
    let create = Move::Create(Box::new(Create {
        name: "bot".parse().unwrap(),
        owner: Some("ann".parse().unwrap()),
        policy: "{}".to_owned(),
        policy_name: None,
        by: "ann".parse().unwrap(),
    }));
    let moves = [
        create,
        Move::Sweep,
        Move::Kill {
            by: "ann".parse().unwrap(),
            reason: Some("drill".to_owned()),
        },
        Move::Revive {
            by: "ann".parse().unwrap(),
        },
    ];
    for asked in moves {
        let text = serde_json::to_string(&asked).unwrap();
        assert_eq!(serde_json::from_str::<Move>(&text).unwrap(), asked);
    }
}

proptest! {
    // spec: F24
    #[test]
    fn stamps_and_versions_never_go_back(clocks in prop::collection::vec(0_i64..10_000_000, 1..30)) {
        let id = "p1".parse().unwrap();
        let create = Move::Create(Box::new(Create {
            name: "bot".parse().unwrap(),
            owner: None,
            policy: "{}".to_owned(),
            policy_name: None,
            by: "ann".parse().unwrap(),
        }));
        let born = step(&id, &Loaded::default(), &create, Timestamp::from_millis(5_000_000));
        let mut head = born.changes.head.unwrap();
        for (n, clock) in clocks.into_iter().enumerate() {
            let by = "ann".parse().unwrap();
            let asked = if n % 2 == 0 {
                Move::Kill { by, reason: None }
            } else {
                Move::Revive { by }
            };
            let loaded = Loaded { head: Some(head.clone().into()), ..Loaded::default() };
            let done = step(&id, &loaded, &asked, Timestamp::from_millis(clock));
            prop_assert_eq!(done.outcome, Outcome::Done);
            let next = done.changes.head.unwrap();
            prop_assert!(next.at >= head.at);
            prop_assert_eq!(next.version, head.version + 1);
            head = next;
        }
    }
}
