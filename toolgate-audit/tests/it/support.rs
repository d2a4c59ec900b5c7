//! Chains for the tests.

use serde_json::json;
use toolgate_audit::Body;
use toolgate_audit::ChainId;
use toolgate_audit::EntryKind;
use toolgate_audit::Head;
use toolgate_audit::Problem;
use toolgate_audit::ProblemKind;
use toolgate_audit::Report;
use toolgate_audit::Row;
use toolgate_audit::StoredRow;
use toolgate_audit::Verifier;
use toolgate_audit::append;

pub(crate) fn chain_id() -> ChainId {
    ChainId::new("p_1").unwrap()
}

/// A chain of that many rows whose bodies differ by `salt`.
pub(crate) fn chain(size: u64, salt: &str) -> (Vec<Row>, Head) {
    let mut head = Head::default();
    let mut rows = Vec::new();
    for n in 0..size {
        let body = Body::new(1_767_225_600_000, EntryKind::CALL)
            .principal("p_1")
            .tool("look")
            .args(json!({ "n": n, "salt": salt }));
        let (row, next) = append(&head, &chain_id(), &body).unwrap();
        rows.push(row);
        head = next;
    }
    (rows, head)
}

/// A row as a store holds it: key, bytes, hash.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) seq: u64,
    pub(crate) bytes: Vec<u8>,
    pub(crate) hash: toolgate_audit::Hash,
}

pub(crate) fn stored(rows: &[Row]) -> Vec<Stored> {
    rows.iter()
        .map(|row| Stored {
            seq: row.seq,
            bytes: row.bytes.clone(),
            hash: row.hash,
        })
        .collect()
}

pub(crate) fn check(rows: &[Stored], head: Option<&Head>) -> Report {
    let mut verifier = Verifier::new(chain_id());
    for row in rows {
        verifier.feed(StoredRow {
            seq: row.seq,
            bytes: &row.bytes,
            hash: row.hash,
        });
    }
    verifier.finish(head)
}

pub(crate) fn first(report: &Report) -> Option<(u64, ProblemKind)> {
    report
        .problems
        .first()
        .map(|Problem { seq, kind }| (*seq, *kind))
}
