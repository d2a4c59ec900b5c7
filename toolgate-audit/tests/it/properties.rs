//! Chains beside a naive model.

use proptest::prelude::*;
use serde_json::Value;
use serde_json::json;
use sha2::Digest as _;
use sha2::Sha256;
use toolgate_audit::Body;
use toolgate_audit::ChainId;
use toolgate_audit::EntryKind;
use toolgate_audit::Head;
use toolgate_audit::append;
use toolgate_audit::canonical;

use super::support::chain;
use super::support::check;
use super::support::stored;

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-9_007_199_254_740_991_i64..=9_007_199_254_740_991).prop_map(Value::from),
        any::<f64>()
            .prop_filter("finite", |n| n.is_finite())
            .prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(".{0,6}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn canonical_bytes_are_those_of_another_implementation(value in value()) {
        let ours = canonical(&value);
        if let Ok(ours) = ours {
            prop_assert_eq!(String::from_utf8(ours).unwrap(), serde_jcs::to_string(&value).unwrap());
        }
    }

    // spec: AU-02
    #[test]
    fn a_chain_is_the_naive_chain(args in prop::collection::vec(value(), 1..6)) {
        let id = ChainId::new("p_1").unwrap();
        let mut head = Head::default();
        let mut prev = "0".repeat(64);
        for (n, args) in (1_u64..).zip(args) {
            let body = Body::new(0, EntryKind::CALL).args(args.clone());
            let Ok((row, next)) = append(&head, &id, &body) else { break };
            let naive = json!({
                "v": 1, "chain": "p_1", "seq": n, "prev": prev, "kind": "call",
                "at": "1970-01-01T00:00:00.000Z", "args": args,
            });
            let bytes = serde_jcs::to_string(&naive).unwrap();
            prop_assert_eq!(String::from_utf8(row.bytes).unwrap(), bytes.clone());
            let mut hasher = Sha256::new();
            hasher.update([0_u8]);
            hasher.update(bytes.as_bytes());
            let hash: [u8; 32] = hasher.finalize().into();
            prop_assert_eq!(row.hash.as_bytes(), &hash);
            prev = row.hash.to_string();
            head = next;
        }
    }

    // spec: AU-04
    #[test]
    fn any_changed_byte_is_found(
        row in 0_usize..5,
        at in any::<prop::sample::Index>(),
        to in any::<u8>(),
    ) {
        let (rows, head) = chain(5, "");
        let mut rows = stored(&rows);
        let place = at.index(rows[row].bytes.len());
        let same = rows[row].bytes[place] == to;
        rows[row].bytes[place] = to;
        let report = check(&rows, Some(&head));
        prop_assert_eq!(report.ok, same);
        if !same {
            prop_assert_eq!(report.problems[0].seq, row as u64 + 1);
        }
    }
}
