use serde_json::Value;
use serde_json::json;
use toolgate_audit::Body;
use toolgate_audit::ChainId;
use toolgate_audit::EntryKind;
use toolgate_audit::ExportVerifier;
use toolgate_audit::Hash;
use toolgate_audit::Head;
use toolgate_audit::StoredRow;
use toolgate_audit::append;
use toolgate_audit::decode;
use toolgate_audit::head_line;
use toolgate_audit::row_line;
use toolgate_audit::verify_export;

use crate::plain;
use crate::support;

/// Audit: the bytes of a row, then lines of an export, then a script that edits a good chain. What
/// is read is written back byte for byte; a chain that was changed is never found good.
pub fn entry(data: &[u8]) {
    row(data);
    lines(data);
    edited(data);
}

fn row(bytes: &[u8]) {
    let decoded = decode(bytes);
    let chain = ChainId::system();
    let (chain, seq) = match &decoded {
        Ok(entry) => {
            let again = entry.to_bytes().expect("what was read can be written");
            assert_eq!(again, bytes, "it is written as it was read");
            let shown = serde_json::to_string(entry).expect("an entry can be shown");
            assert!(plain::read(&shown).is_some());
            (&entry.chain, entry.seq)
        }
        Err(_) => (&chain, 1),
    };
    let hash = Hash::leaf(bytes);
    let line = row_line(chain, StoredRow { seq, bytes, hash });
    let summary = verify_export([&line]);
    assert_eq!(
        (summary.entries, summary.unreadable),
        (1, 0),
        "a row is a line"
    );
    assert!(
        !summary.ok || decoded.is_ok(),
        "what is no entry is not good"
    );
}

fn lines(data: &[u8]) {
    let lines: Vec<&[u8]> = data.split(|byte| *byte == b'\n').collect();
    let summary = verify_export(&lines);
    if !summary.ok {
        return;
    }
    let filled = lines.iter().filter(|line| !line.trim_ascii().is_empty());
    let mut entries = 0;
    for line in filled {
        let text = std::str::from_utf8(line).expect("a good line is text");
        let value = plain::read(text).expect("a good line is JSON");
        entries += u64::from(value.get("hash").is_some());
        assert!(
            value.get("hash").is_some() || value.get("head").is_some(),
            "{text}"
        );
    }
    assert_eq!(summary.entries, entries, "each row was looked at");
}

/// A chain whose entries hold the lines of `data`, with the first line as a script of changes.
fn edited(data: &[u8]) {
    let text = support::text(data);
    let (script, rest) = support::line(&text);
    let chain = ChainId::new("p_1").expect("a name of ours");
    let mut head = Head::default();
    let mut rows: Vec<(u64, Vec<u8>, Hash)> = Vec::new();
    for args in rest.lines().chain(["a", "b", "c", "d"]).take(8) {
        let args = plain::read(args).unwrap_or_else(|| Value::from(args));
        let body = Body::new(0, EntryKind::CALL)
            .args(args)
            .detail("n", json!(1));
        let Ok((row, next)) = append(&head, &chain, &body) else {
            continue;
        };
        let entry = decode(&row.bytes).expect("what was appended can be read");
        assert_eq!((entry.seq, entry.prev), (row.seq, head.hash));
        rows.push((row.seq, row.bytes, row.hash));
        head = next;
    }
    let good = rows.clone();
    for step in script.as_bytes().chunks_exact(2).take(6) {
        change(&mut rows, step[0], usize::from(step[1]));
    }
    let is_changed = rows != good;
    let mut anchored = ExportVerifier::new();
    let mut own = ExportVerifier::new();
    anchored.expect(chain.clone(), head);
    for (seq, bytes, hash) in &rows {
        let (seq, hash) = (*seq, *hash);
        let line = row_line(&chain, StoredRow { seq, bytes, hash });
        anchored.feed(line.as_bytes());
        own.feed(line.as_bytes());
    }
    own.feed(head_line(&chain, &head).as_bytes());
    for summary in [anchored.finish(), own.finish()] {
        assert!(summary.complete, "the end was held against a head");
        assert_eq!(summary.ok, !is_changed, "{script:?} {:?}", summary.problems);
        assert_eq!(summary.ok, summary.problems.is_empty());
    }
}

fn change(rows: &mut Vec<(u64, Vec<u8>, Hash)>, what: u8, at: usize) {
    if rows.is_empty() {
        return;
    }
    let (count, at) = (rows.len(), at % rows.len());
    match what {
        b'd' => drop(rows.remove(at)),
        b's' => rows.swap(at, (at + 1) % count),
        b'r' => rows.insert(at, rows[at].clone()),
        b'c' => rows.truncate(at),
        b't' => rows[at].1.truncate(at * 7),
        b'k' => rows[at].0 = rows[at].0.wrapping_add(1),
        b'l' => rows[at].0 = u64::MAX,
        b'e' => {
            let (row, length) = (&mut rows[at], at * 31);
            if let Some(byte) = row.1.get_mut(length) {
                *byte ^= 1;
            }
        }
        b'f' => {
            let text = String::from_utf8_lossy(&rows[at].1).replace(r#""n":1"#, r#""n":2"#);
            rows[at].1 = text.into_bytes();
            rows[at].2 = Hash::leaf(&rows[at].1);
        }
        b'h' => rows[at].2 = Hash::leaf(&rows[at].1),
        b'n' => {
            for (seq, row) in (1_u64..).zip(rows.iter_mut()) {
                row.0 = seq;
            }
        }
        _ => {}
    }
}
