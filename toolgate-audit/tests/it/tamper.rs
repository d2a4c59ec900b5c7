//! Every way to tamper with stored rows is named: the first bad row and its kind.

use toolgate_audit::Hash;
use toolgate_audit::Head;
use toolgate_audit::ProblemKind;

use super::support::Stored;
use super::support::chain;
use super::support::check;
use super::support::first;
use super::support::stored;

fn edit(row: &mut Stored) {
    let text = String::from_utf8(row.bytes.clone()).unwrap();
    row.bytes = text
        .replace("\"tool\":\"look\"", "\"tool\":\"lool\"")
        .into_bytes();
}

fn verdict(change: impl Fn(&mut Vec<Stored>)) -> Option<(u64, ProblemKind)> {
    let (rows, head) = chain(6, "");
    let mut rows = stored(&rows);
    change(&mut rows);
    first(&check(&rows, Some(&head)))
}

// spec: AU-04 MC-04
#[test]
fn each_tampering_is_named_with_its_row() {
    assert_eq!(verdict(|_| {}), None);
    for n in 0..6 {
        let seq = n as u64 + 1;
        assert_eq!(
            verdict(|rows| edit(&mut rows[n])),
            Some((seq, ProblemKind::Edited))
        );
        let forged = verdict(|rows| {
            edit(&mut rows[n]);
            rows[n].hash = Hash::leaf(&rows[n].bytes);
        });
        assert_eq!(forged, Some((seq, ProblemKind::Forged)));
        let torn = verdict(|rows| rows[n].bytes.truncate(20));
        assert_eq!(torn, Some((seq, ProblemKind::Torn)));
        let gone = verdict(|rows| drop(rows.remove(n)));
        let kind = if n == 5 {
            ProblemKind::Cut
        } else {
            ProblemKind::Deleted
        };
        assert_eq!(gone, Some((seq, kind)));
        let cut = verdict(|rows| rows.truncate(n));
        assert_eq!(cut, Some((seq, ProblemKind::Cut)));
    }
    for n in 0..5 {
        let swapped = verdict(|rows| {
            let (a, b) = (rows[n].clone(), rows[n + 1].clone());
            rows[n] = Stored {
                seq: a.seq,
                ..b.clone()
            };
            rows[n + 1] = Stored { seq: b.seq, ..a };
        });
        assert_eq!(swapped, Some((n as u64 + 1, ProblemKind::Reordered)));
    }
    let beyond = verdict(|rows| {
        let (longer, _) = chain(7, "");
        rows.push(stored(&longer)[6].clone());
    });
    assert_eq!(beyond, Some((7, ProblemKind::Inserted)));
    let twice = verdict(|rows| {
        let again = rows[2].clone();
        rows.insert(3, again);
    });
    assert_eq!(twice, Some((3, ProblemKind::Inserted)));
}

// spec: AU-04
#[test]
fn a_chain_that_was_rebuilt_or_lost_is_found_against_the_writers_head() {
    let (_, head) = chain(6, "");
    let (rebuilt, _) = chain(6, "other");
    assert!(check(&stored(&rebuilt), None).ok);
    assert_eq!(
        first(&check(&stored(&rebuilt), Some(&head))),
        Some((6, ProblemKind::Forged))
    );
    assert_eq!(first(&check(&[], Some(&head))), Some((1, ProblemKind::Cut)));
    let never = check(&[], Some(&Head::default()));
    assert!(never.ok && never.complete);
}

#[test]
fn without_a_head_the_end_is_not_judged() {
    let (rows, _) = chain(6, "");
    let cut = check(&stored(&rows)[..3], None);
    assert!(cut.ok && !cut.complete);
    assert_eq!((cut.entries, cut.size), (3, 3));
}
