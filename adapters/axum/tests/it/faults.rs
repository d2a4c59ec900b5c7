//! What the store in a file does when the disk, or somebody with access to the file, does wrong.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use serde_json::json;
use tempfile::TempDir;
use toolgate_audit::ChainId;
use toolgate_axum::sqlite::DATABASE;
use toolgate_axum::sqlite::Durability;
use toolgate_axum::sqlite::Fault;
use toolgate_axum::sqlite::Health;
use toolgate_axum::sqlite::SqliteStore;
use toolgate_core::id::PrincipalId;
use toolgate_core::policy::Limits;
use toolgate_core::unit::Admit;
use toolgate_core::unit::Create;
use toolgate_core::unit::Decide;
use toolgate_core::unit::Ending;
use toolgate_core::unit::Event;
use toolgate_core::unit::Outcome;
use toolgate_core::unit::Record;
use toolgate_core::unit::SetPolicy;
use toolgate_core::verdict::Decision;
use toolgate_mcp::gateway::verify;
use toolgate_mcp::store::EntryQuery;
use toolgate_mcp::store::Ledger as _;
use toolgate_mcp::store::LedgerExt;
use toolgate_mcp::store::StoreErrorKind;
use toolgate_mcp::store::contract;
use toolgate_mcp::store::contract::Clocked;

const OPEN: &str = r#"{"tools":{"a":{}}}"#;
const SHUT: &str = r#"{"tools":{}}"#;

fn open(folder: &TempDir) -> SqliteStore {
    SqliteStore::open(folder.path(), Durability::Strict, Clocked::default()).unwrap()
}

fn raw(folder: &Path) -> Connection {
    Connection::open(folder.join(DATABASE)).unwrap()
}

async fn principal(store: &SqliteStore, name: &str) -> PrincipalId {
    let id: PrincipalId = name.parse().unwrap();
    let create = Create {
        name: name.parse().unwrap(),
        owner: None,
        policy: OPEN.to_owned(),
        policy_name: None,
        by: "ann".parse().unwrap(),
    };
    let made = store.create(&id, create).await.unwrap();
    assert_eq!(made.outcome, Outcome::Done);
    id
}

fn observe(id: &PrincipalId) -> Admit {
    contract::admit(id, "a", Decision::Run)
}

fn record(admit: &Admit) -> Record {
    Record {
        call: admit.call.clone(),
        ending: Ending {
            outcome: "ok".to_owned(),
            ..Ending::default()
        },
    }
}

fn shut(from: u64) -> SetPolicy {
    SetPolicy {
        from,
        text: SHUT.to_owned(),
        name: None,
        diff: json!({}),
        by: "ann".parse().unwrap(),
    }
}

/// An observation is answered before its commit; what cannot be committed is never recorded, and
/// so never disclosed.
#[tokio::test]
async fn an_admission_that_was_not_kept_discloses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let id = principal(&store, "bot").await;
    let before = store.head(&id).await.unwrap();
    let asked = observe(&id);
    store.rehearse(Fault::Undone);
    let moved = store.admit(&id, asked.clone()).await.unwrap();
    assert_eq!(moved.outcome, Outcome::Admitted);
    let lost = LedgerExt::record(&store, &id, record(&asked)).await;
    assert_eq!(lost.unwrap_err().kind(), StoreErrorKind::Unavailable);
    let recorded = LedgerExt::record(&store, &id, record(&asked))
        .await
        .unwrap();
    assert_eq!(recorded.outcome, Outcome::Missing);
    assert_eq!(store.head(&id).await.unwrap(), before);
    assert!(verify(&store).await.unwrap().ok);
}

/// What was worked out while a commit was made falls with it, and what is told stands.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_built_on_a_failed_commit_falls_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = std::sync::Arc::new(open(&folder));
    let id = principal(&store, "bot").await;
    let mut tasks = Vec::new();
    for n in 0..300 {
        let (store, id) = (std::sync::Arc::clone(&store), id.clone());
        tasks.push(tokio::spawn(async move {
            if n % 40 == 20 {
                store.rehearse(if n % 80 == 20 {
                    Fault::Undone
                } else {
                    Fault::Kept
                });
            }
            let asked = observe(&id);
            let call = asked.call.clone();
            let Ok(moved) = store.admit(&id, asked.clone()).await else {
                return (call, false);
            };
            assert_eq!(moved.outcome, Outcome::Admitted);
            let recorded = LedgerExt::record(store.as_ref(), &id, record(&asked)).await;
            let told = recorded.is_ok_and(|moved| moved.outcome == Outcome::Recorded);
            (call, told)
        }));
    }
    let mut told = Vec::new();
    for task in tasks {
        let (call, kept) = task.await.unwrap();
        if kept {
            told.push(call);
        }
    }
    assert!(told.len() < 300);
    // The last fault may still wait for a commit.
    let _ = store.note(&id, Event::note("dry_run")).await;
    store.note(&id, Event::note("dry_run")).await.unwrap();
    let chain = ChainId::new(id.as_str()).unwrap();
    let rows = store.slice(&chain, 1, 1_000).await.unwrap();
    for call in told {
        let word = format!("\"call\":\"{}\"", call.as_str());
        let holds = |bytes: &[u8]| std::str::from_utf8(bytes).unwrap().contains(&word);
        let found = rows.iter().filter(|row| holds(&row.bytes)).count();
        assert_eq!(found, 1, "{word}");
    }
    assert!(verify(store.as_ref()).await.unwrap().ok);
}

/// Nothing is let pass by a change that is not kept yet.
#[tokio::test(flavor = "multi_thread")]
async fn a_revival_that_was_not_kept_lets_nothing_pass() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let id = principal(&store, "bot").await;
    store.kill(&id, "ann".parse().unwrap(), None).await.unwrap();
    for _ in 0..50 {
        store.rehearse(Fault::Undone);
        let (revived, admitted) = tokio::join!(
            store.revive(&id, "ann".parse().unwrap()),
            store.admit(&id, observe(&id)),
        );
        let passed = admitted.is_ok_and(|moved| moved.outcome == Outcome::Admitted);
        assert!(!passed || revived.is_ok());
        store.kill(&id, "ann".parse().unwrap(), None).await.ok();
    }
}

/// A read that goes on for a while is in the file before it is over, and a store that is closed
/// meanwhile leaves it there to be written down as lost.
#[tokio::test]
async fn a_running_read_is_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let running = || -> i64 {
        let sql = "SELECT count(*) FROM calls";
        raw(folder.path())
            .query_row(sql, (), |row| row.get(0))
            .unwrap()
    };
    let store = open(&folder);
    let id = principal(&store, "bot").await;
    let first = observe(&id);
    store.admit(&id, first.clone()).await.unwrap();
    let saved = async {
        while running() == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), saved)
        .await
        .unwrap();
    LedgerExt::record(&store, &id, record(&first))
        .await
        .unwrap();
    assert_eq!(running(), 0);
    let second = observe(&id);
    store.admit(&id, second.clone()).await.unwrap();
    drop(store);
    assert_eq!(running(), 1);
    let store = open(&folder);
    let again = store.admit(&id, second.clone()).await.unwrap();
    assert_eq!(again.outcome, Outcome::Admitted);
    let recorded = LedgerExt::record(&store, &id, record(&second))
        .await
        .unwrap();
    assert_eq!(recorded.outcome, Outcome::Recorded);
    assert_eq!(running(), 0);
}

/// A read on a spoilt chain is refused when it is recorded, with all that was built on it, and
/// the reads of others in the same commit are kept.
#[tokio::test]
async fn a_spoilt_chain_stops_no_other_read() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let (one, two) = (
        principal(&store, "one").await,
        principal(&store, "two").await,
    );
    let (lost, kept) = (observe(&one), observe(&two));
    for (id, asked) in [(&one, &lost), (&two, &kept)] {
        // The first of each takes its unit into memory.
        let first = observe(id);
        store.admit(id, first.clone()).await.unwrap();
        LedgerExt::record(&store, id, record(&first)).await.unwrap();
        store.admit(id, asked.clone()).await.unwrap();
    }
    let sql = "INSERT INTO entries (chain, seq, bytes, hash) \
               SELECT chain, 3, bytes, hash FROM entries WHERE chain = 'one' AND seq = 1";
    raw(folder.path()).execute(sql, ()).unwrap();
    let (spoilt, sound) = tokio::join!(
        LedgerExt::record(&store, &one, record(&lost)),
        LedgerExt::record(&store, &two, record(&kept)),
    );
    assert_eq!(spoilt.unwrap_err().kind(), StoreErrorKind::Corrupt);
    assert_eq!(sound.unwrap().outcome, Outcome::Recorded);
    let found = verify(&store).await.unwrap();
    let bad: Vec<_> = found.reports.iter().filter(|report| !report.ok).collect();
    assert_eq!(bad.len(), 1);
    assert_eq!(bad[0].chain.as_str(), "one");
}

/// A refusal is an entry of the audit, so it is told when the entry is kept and not before.
#[tokio::test]
async fn a_refusal_is_told_when_it_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let id = principal(&store, "bot").await;
    let mut asked = observe(&id);
    asked.limits = Limits {
        per_minute: 0,
        ..asked.limits
    };
    store.rehearse(Fault::Undone);
    let lost = store.admit(&id, asked.clone()).await.unwrap_err();
    assert_eq!(lost.kind(), StoreErrorKind::Unavailable);
    let told = store.admit(&id, asked).await.unwrap();
    assert!(matches!(told.outcome, Outcome::Refused(_)));
    let chain = ChainId::new(id.as_str()).unwrap();
    assert_eq!(store.slice(&chain, 1, 10).await.unwrap().len(), 2);
}

// spec: F03
/// A commit that was made and told as failed is found by the next try, which makes it no second
/// time.
#[tokio::test]
async fn a_commit_that_was_kept_after_all_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let id = principal(&store, "bot").await;
    let approval = contract::claimed(&store, &id, "a").await;
    let fence = approval.claim.as_ref().unwrap().fence;
    let settle = toolgate_core::unit::Settle {
        approval: approval.id.clone(),
        fence,
        result: Some(toolgate_core::approval::StoredResult {
            value: json!({"content": []}),
            is_error: false,
        }),
        not_made: false,
        message: None,
        ending: Ending::default(),
    };
    store.rehearse(Fault::Kept);
    let lost = store.settle(&id, settle.clone()).await.unwrap_err();
    assert_eq!(lost.kind(), StoreErrorKind::Unavailable);
    let Outcome::Settled(found) = store.settle(&id, settle).await.unwrap().outcome else {
        panic!("not settled");
    };
    assert!(found.result.is_some());
    let chain = ChainId::new(id.as_str()).unwrap();
    let kinds: Vec<_> = store
        .slice(&chain, 1, 10)
        .await
        .unwrap()
        .iter()
        .map(|row| toolgate_audit::decode(&row.bytes).unwrap().kind)
        .collect();
    let outcomes = kinds.iter().filter(|kind| kind.as_str() == "outcome");
    assert_eq!(outcomes.count(), 1);
}

/// The version and the text of a policy are of one moment, also after a commit that was kept and
/// told as failed: an older, wider text under the newer version would pass every later check.
#[tokio::test]
async fn a_policys_text_and_version_never_part() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let id = principal(&store, "bot").await;
    assert_eq!(store.policy(&id).await.unwrap(), Some((1, OPEN.to_owned())));
    store.rehearse(Fault::Kept);
    store.set_policy(&id, shut(1)).await.unwrap_err();
    assert_eq!(store.policy(&id).await.unwrap(), Some((2, SHUT.to_owned())));
    store.note(&id, Event::note("dry_run")).await.unwrap();
    assert_eq!(store.policy(&id).await.unwrap(), Some((2, SHUT.to_owned())));
    assert_eq!(store.head(&id).await.unwrap().unwrap().policy.version, 2);
}

// spec: F17
/// After a failed flush nobody knows what the disk holds: nothing is accepted until a restart.
#[tokio::test]
async fn a_failed_flush_ends_the_writing() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let id = principal(&store, "bot").await;
    store.rehearse(Fault::Flush);
    store.note(&id, Event::note("dry_run")).await.unwrap_err();
    assert_eq!(store.health(), Health::Poisoned);
    for _ in 0..3 {
        let refused = store.admit(&id, observe(&id)).await.unwrap_err();
        assert_eq!(refused.kind(), StoreErrorKind::Unavailable);
        store.put_record("flags", "a", &json!(1)).await.unwrap_err();
    }
    assert_eq!(store.health(), Health::Poisoned);
    drop(store);
    let store = open(&folder);
    assert_eq!(store.health(), Health::Ok);
    let moved = store.note(&id, Event::note("dry_run")).await.unwrap();
    assert_eq!(moved.seq, Some(2));
    assert!(verify(&store).await.unwrap().ok);
}

/// Only a write that was kept shows that the disk takes writes again.
#[tokio::test]
async fn what_writes_nothing_heals_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let id = principal(&store, "bot").await;
    store.rehearse(Fault::Undone);
    store.note(&id, Event::note("dry_run")).await.unwrap_err();
    assert_eq!(store.health(), Health::Failing);
    assert_eq!(store.sweep(&id).await.unwrap().outcome, Outcome::Swept(0));
    assert_eq!(store.health(), Health::Failing);
    store.note(&id, Event::note("dry_run")).await.unwrap();
    assert_eq!(store.health(), Health::Ok);
}

/// A row that no writer appended stops its own chain and no other; nothing is renumbered.
#[tokio::test]
async fn a_spoilt_chain_stops_nobody_else() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let (one, two) = (
        principal(&store, "one").await,
        principal(&store, "two").await,
    );
    let sql = "INSERT INTO entries (chain, seq, bytes, hash) \
               SELECT chain, 2, bytes, hash FROM entries WHERE chain = 'one'";
    raw(folder.path()).execute(sql, ()).unwrap();
    let (spoilt, sound) = tokio::join!(
        store.note(&one, Event::note("dry_run")),
        store.note(&two, Event::note("dry_run")),
    );
    assert_eq!(spoilt.unwrap_err().kind(), StoreErrorKind::Corrupt);
    assert_eq!(sound.unwrap().seq, Some(2));
    assert_eq!(store.head(&one).await.unwrap().unwrap().version, 1);
    let found = verify(&store).await.unwrap();
    let bad: Vec<_> = found.reports.iter().filter(|report| !report.ok).collect();
    assert_eq!(bad.len(), 1);
    assert_eq!(bad[0].chain.as_str(), "one");
}

/// Whatever stands in the columns of an entry, a verification says what is wrong with it, and
/// the list of entries is still shown.
#[tokio::test]
async fn spoilt_columns_are_reported_and_hide_nothing() {
    for (spoil, seq) in [
        ("UPDATE entries SET hash = x'00' WHERE seq = 2", 2),
        ("UPDATE entries SET bytes = x'' WHERE seq = 2", 2),
        (
            "INSERT INTO entries (chain, seq, bytes, hash) \
             SELECT chain, -1, bytes, hash FROM entries WHERE seq = 1",
            0,
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let store = open(&folder);
        let id = principal(&store, "bot").await;
        store.note(&id, Event::note("dry_run")).await.unwrap();
        store.note(&id, Event::note("dry_run")).await.unwrap();
        raw(folder.path()).execute(spoil, ()).unwrap();
        let found = verify(&store).await.unwrap();
        let problem = found.reports.iter().flat_map(|r| &r.problems).next();
        assert_eq!(problem.map(|problem| problem.seq), Some(seq), "{spoil}");
        let query = EntryQuery {
            chain: None,
            before: None,
            limit: 10,
        };
        assert!(store.entries(&query).await.unwrap().len() >= 3, "{spoil}");
    }
}

/// The arguments of a request leave the files soon after it leaves its window.
#[tokio::test]
async fn decided_arguments_leave_the_files() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let id = principal(&store, "bot").await;
    let word = "a-word-that-stands-nowhere-else";
    let mut asked = contract::admit(&id, word, Decision::Queue);
    asked.redacted = None;
    let Outcome::Queued(approval) = store.admit(&id, asked).await.unwrap().outcome else {
        panic!("not queued");
    };
    let holds = || {
        std::fs::read_dir(folder.path()).unwrap().any(|file| {
            let bytes = std::fs::read(file.unwrap().path()).unwrap();
            bytes
                .windows(word.len())
                .any(|part| part == word.as_bytes())
        })
    };
    assert!(holds());
    let no = Decide {
        call: "d1".parse().unwrap(),
        approval: approval.id.clone(),
        approved: false,
        by: "ann".parse().unwrap(),
        reason: None,
        recheck: None,
        lease_ms: 40_000,
    };
    store.decide(&id, no).await.unwrap();
    let gone = async {
        while holds() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), gone)
        .await
        .unwrap();
}

/// A copy is of one moment and comes to an end however much is written meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn a_backup_ends_while_the_store_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let store = std::sync::Arc::new(open(&folder));
    let id = principal(&store, "bot").await;
    let pad = "x".repeat(48_000_000);
    store
        .put_record("files", "large", &json!(pad))
        .await
        .unwrap();
    let writes = {
        let (store, id) = (std::sync::Arc::clone(&store), id.clone());
        tokio::spawn(async move {
            loop {
                store.note(&id, Event::note("dry_run")).await.unwrap();
            }
        })
    };
    let to = tempfile::tempdir().unwrap();
    let backup = store.backup(to.path().join(DATABASE));
    tokio::time::timeout(Duration::from_secs(20), backup)
        .await
        .unwrap()
        .unwrap();
    writes.abort();
    assert!(verify(&open(&to)).await.unwrap().ok);
}

/// A policy's text that somebody changed in the file is not judged by.
#[tokio::test]
async fn a_policy_that_was_never_set_is_not_in_force() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let id = principal(&store, "bot").await;
    store.set_policy(&id, shut(1)).await.unwrap();
    drop(store);
    raw(folder.path())
        .execute("UPDATE units SET policy = ?1", [OPEN])
        .unwrap();
    let store = open(&folder);
    let error = store.policy(&id).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Corrupt);
}

/// What a read takes of a limit is not given back while the disk takes nothing.
#[tokio::test]
async fn limits_hold_while_the_disk_is_full() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let id = principal(&store, "bot").await;
    store.limit_pages(1).await.unwrap();
    let full = |pad: usize| {
        let note = Event::note("dry_run").with("pad", "x".repeat(pad));
        async { store.note(&id, note).await.is_err() }
    };
    // Nothing fits any more, be it large or small.
    for pad in [3_000, 1] {
        while !full(pad).await {}
    }
    assert_eq!(store.health(), Health::Failing);
    let mut passed = 0;
    for _ in 0..20 {
        let mut asked = contract::admit(&id, &"x".repeat(3_000), Decision::Run);
        asked.limits = Limits {
            per_minute: 2,
            per_day: 5,
            tool_per_minute: None,
        };
        let admitted = store.admit(&id, asked.clone()).await;
        passed += u32::from(admitted.is_ok_and(|moved| moved.outcome == Outcome::Admitted));
        let _ = LedgerExt::record(&store, &id, record(&asked)).await;
    }
    assert!(passed <= 2, "{passed} reads under a limit of 2");
}

/// A read that runs is soon in the file, also while the writer waits for a second of quiet.
#[tokio::test]
async fn a_read_that_runs_is_soon_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let id = principal(&store, "bot").await;
    let kept = raw(folder.path());
    let mut soon = false;
    for n in 0..5 {
        // Arguments that are erased are what it waits for.
        let asked = contract::admit(&id, &format!("w{n}"), Decision::Queue);
        let Outcome::Queued(approval) = store.admit(&id, asked).await.unwrap().outcome else {
            panic!("not queued")
        };
        let no = Decide {
            call: format!("d{n}").parse().unwrap(),
            approval: approval.id,
            approved: false,
            by: "ann".parse().unwrap(),
            reason: None,
            recheck: None,
            lease_ms: 40_000,
        };
        store.decide(&id, no).await.unwrap();
        tokio::time::sleep(Duration::from_millis(60)).await;
        let asked = observe(&id);
        store.admit(&id, asked.clone()).await.unwrap();
        let held = || -> bool {
            let sql = "SELECT count(*) FROM calls WHERE call = ?1";
            kept.query_row(sql, [asked.call.as_str()], |row| row.get(0))
                .unwrap()
        };
        let waited = async {
            while !held() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let quiet = Duration::from_millis(500);
        soon |= tokio::time::timeout(quiet, waited).await.is_ok();
    }
    assert!(soon, "a read that runs waits for the quiet");
}

/// The entries of a chain are listed in the order of their numbers, and pages leave none out.
#[tokio::test(flavor = "multi_thread")]
async fn pages_of_a_chain_leave_nothing_out() {
    let folder = tempfile::tempdir().unwrap();
    let store = std::sync::Arc::new(open(&folder));
    let id = principal(&store, "bot").await;
    let mut tasks = Vec::new();
    for n in 0..2_000 {
        let (store, id) = (std::sync::Arc::clone(&store), id.clone());
        tasks.push(tokio::spawn(async move {
            if n % 2 == 0 {
                store.note(&id, Event::note("dry_run")).await.unwrap();
            } else {
                let mut asked = observe(&id);
                asked.limits.per_minute = 1_000_000;
                store.admit(&id, asked.clone()).await.unwrap();
                let done = LedgerExt::record(store.as_ref(), &id, record(&asked)).await;
                done.unwrap();
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let chain = ChainId::new(id.as_str()).unwrap();
    let rows = store.slice(&chain, 1, 10_000).await.unwrap();
    assert_eq!(rows.len(), 2_001);
    let ordered = rows.is_sorted_by(|a, b| a.position < b.position);
    assert!(ordered, "a position is not in the order of the numbers");
}

/// A disk that fills up in the middle of a batch takes nothing of it halfway.
#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_fills_up_keeps_moves_whole() {
    let folder = tempfile::tempdir().unwrap();
    let store = std::sync::Arc::new(open(&folder));
    let mut ids = Vec::new();
    for n in 0..8 {
        ids.push(principal(&store, &format!("bot{n}")).await);
    }
    store.limit_pages(1).await.unwrap();
    let mut tasks = Vec::new();
    for n in 0..400 {
        let (store, id) = (std::sync::Arc::clone(&store), ids[n % ids.len()].clone());
        tasks.push(tokio::spawn(async move {
            let pad = "x".repeat(3_000);
            let note = Event::note("dry_run").with("pad", pad).with("n", n);
            (n, store.note(&id, note).await)
        }));
    }
    let mut kept = Vec::new();
    let mut refused = 0;
    for task in tasks {
        match task.await.unwrap() {
            (n, Ok(_)) => kept.push(n),
            (_, Err(error)) => {
                assert_eq!(error.kind(), StoreErrorKind::Unavailable);
                refused += 1;
            }
        }
    }
    assert!(refused > 0);
    assert_eq!(store.health(), Health::Failing);
    store.limit_pages(1_000_000).await.unwrap();
    for id in &ids {
        let head = store.head(id).await.unwrap().unwrap();
        let chain = ChainId::new(id.as_str()).unwrap();
        let rows = store.slice(&chain, 1, 1_000).await.unwrap();
        assert_eq!(head.version, rows.len() as u64);
        let moved = store.note(id, Event::note("dry_run")).await.unwrap();
        assert_eq!(moved.seq, Some(head.version + 1));
    }
    let every = EntryQuery {
        chain: None,
        before: None,
        limit: 10_000,
    };
    let entries = store.entries(&every).await.unwrap();
    for n in kept {
        let word = format!("\"n\":{n},");
        let holds = |bytes: &[u8]| std::str::from_utf8(bytes).unwrap().contains(&word);
        assert!(entries.iter().any(|row| holds(&row.bytes)), "{n}");
    }
    assert!(verify(store.as_ref()).await.unwrap().ok);
}
