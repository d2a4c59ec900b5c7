//! The store in a file: the contract suite, and what only a file can get wrong.

use std::path::Path;
use std::sync::Arc;

use futures_util::future::join_all;
use rusqlite::Connection;
use serde_json::json;
use tempfile::TempDir;
use toolgate_audit::ChainId;
use toolgate_audit::Problem;
use toolgate_audit::ProblemKind;
use toolgate_axum::sqlite::DATABASE;
use toolgate_axum::sqlite::Durability;
use toolgate_axum::sqlite::Health;
use toolgate_axum::sqlite::OpenError;
use toolgate_axum::sqlite::ReadOnly;
use toolgate_axum::sqlite::SqliteStore;
use toolgate_core::id::PrincipalId;
use toolgate_core::key::AgentKey;
use toolgate_core::key::OperatorToken;
use toolgate_core::unit::Create;
use toolgate_core::unit::Event;
use toolgate_core::unit::Key;
use toolgate_core::unit::Outcome;
use toolgate_mcp::gateway::verify;
use toolgate_mcp::store::Directory as _;
use toolgate_mcp::store::Ledger;
use toolgate_mcp::store::LedgerExt as _;
use toolgate_mcp::store::Operator;
use toolgate_mcp::store::Role;
use toolgate_mcp::store::StoreErrorKind;
use toolgate_mcp::store::contract::Clocked;
use toolgate_mcp::store::contract::Faulty;
use toolgate_mcp::store::contract::Temporary;

async fn make(clock: Clocked) -> Temporary<SqliteStore> {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path(), Durability::Strict, clock).unwrap();
    Temporary::new(store, folder)
}

async fn make_relaxed(clock: Clocked) -> Temporary<SqliteStore> {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path(), Durability::Relaxed, clock).unwrap();
    Temporary::new(store, folder)
}

mod strict {
    toolgate_mcp::store_conformance!(tokio::test, super::make);
}

mod relaxed {
    toolgate_mcp::store_conformance!(tokio::test, super::make_relaxed);
}

async fn make_failing(clock: Clocked) -> Box<Faulty<Temporary<SqliteStore>>> {
    Box::new(Faulty::failing(make(clock).await))
}

async fn make_forgetful(clock: Clocked) -> Box<Faulty<Temporary<SqliteStore>>> {
    Box::new(Faulty::forgetful(make(clock).await))
}

mod failing {
    toolgate_mcp::store_conformance!(tokio::test, super::make_failing);
}

mod forgetful {
    toolgate_mcp::store_conformance!(tokio::test, super::make_forgetful);
}

// spec: IT-06
/// The contract holds on what it left behind, also in the same store at the same time.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_contract_holds_again_in_a_folder_that_was_used() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Clocked::default();
    for _ in 0..2 {
        let open = SqliteStore::open(folder.path(), Durability::Strict, clock.clone());
        let store = open.unwrap();
        toolgate_mcp::store_conformance!(in_turn & store, &clock);
        assert!(verify(&store).await.unwrap().ok);
    }
}

fn open(folder: &TempDir) -> SqliteStore {
    SqliteStore::open(folder.path(), Durability::Strict, Clocked::default()).unwrap()
}

async fn principal(store: &SqliteStore, name: &str) -> PrincipalId {
    let id: PrincipalId = name.parse().unwrap();
    let create = Create {
        name: name.parse().unwrap(),
        owner: None,
        policy: r#"{"tools":{}}"#.to_owned(),
        policy_name: None,
        by: "ann".parse().unwrap(),
    };
    assert_eq!(
        store.create(&id, create).await.unwrap().outcome,
        Outcome::Done
    );
    id
}

fn raw(folder: &Path) -> Connection {
    Connection::open(folder.join(DATABASE)).unwrap()
}

// spec: MC-03
#[tokio::test(flavor = "multi_thread")]
async fn thirty_concurrent_appends_are_one_chain() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(open(&folder));
    let id = principal(&store, "bot").await;
    let notes = (0..29).map(|n| {
        let (store, id) = (Arc::clone(&store), id.clone());
        tokio::spawn(async move { store.note(&id, Event::note("dry_run").with("n", n)).await })
    });
    let mut numbers: Vec<u64> = join_all(notes)
        .await
        .into_iter()
        .map(|m| m.unwrap().unwrap().seq.unwrap())
        .collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (2..=30).collect::<Vec<_>>());
    assert!(verify(store.as_ref()).await.unwrap().ok);
}

// spec: F24
/// Behind a stamp of the future time goes on, and limits come back.
#[tokio::test]
async fn a_clock_that_was_set_back_between_two_starts_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let limits = toolgate_core::policy::Limits {
        per_minute: 2,
        per_day: 100,
        tool_per_minute: None,
    };
    let asked = |id: &PrincipalId| admit(id, limits);
    let ahead = Clocked::default();
    ahead.pass(400 * 86_400_000);
    let store = SqliteStore::open(folder.path(), Durability::Strict, ahead).unwrap();
    let id = principal(&store, "bot").await;
    for _ in 0..2 {
        let moved = store.admit(&id, asked(&id)).await.unwrap();
        assert_eq!(moved.outcome, Outcome::Admitted);
    }
    let left_at = store.now();
    drop(store);

    let clock = Clocked::default();
    let store = SqliteStore::open(folder.path(), Durability::Strict, clock.clone()).unwrap();
    assert_eq!(store.now(), left_at);
    let moved = store.admit(&id, asked(&id)).await.unwrap();
    assert!(matches!(moved.outcome, Outcome::Refused(_)));
    clock.pass(34_000);
    let moved = store.admit(&id, asked(&id)).await.unwrap();
    assert_eq!(moved.outcome, Outcome::Admitted);
    // A clock that is ahead is caught up with.
    clock.pass(4_000 * 86_400_000);
    assert_eq!(store.now(), toolgate_mcp::store::Clock::now(&*clock));
}

// spec: BU-02 F26
#[tokio::test]
async fn meters_and_chains_survive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let id = principal(&store, "bot").await;
    let mut head = (*store.head(&id).await.unwrap().unwrap()).clone();
    let limits = toolgate_core::policy::Limits {
        per_minute: 2,
        per_day: 5,
        tool_per_minute: None,
    };
    for _ in 0..2 {
        let asked = admit(&id, limits);
        assert_eq!(
            store.admit(&id, asked).await.unwrap().outcome,
            Outcome::Admitted
        );
    }
    assert!(matches!(
        store.admit(&id, admit(&id, limits)).await.unwrap().outcome,
        Outcome::Refused(_)
    ));
    head.meters = store.head(&id).await.unwrap().unwrap().meters.clone();
    store.close();
    drop(store);
    let store = open(&folder);
    assert_eq!(store.head(&id).await.unwrap().unwrap().meters, head.meters);
    assert!(matches!(
        store.admit(&id, admit(&id, limits)).await.unwrap().outcome,
        Outcome::Refused(_)
    ));
    assert!(verify(&store).await.unwrap().ok);
}

fn admit(id: &PrincipalId, limits: toolgate_core::policy::Limits) -> toolgate_core::unit::Admit {
    use toolgate_core::verdict::Decision;
    toolgate_core::unit::Admit {
        limits,
        ..toolgate_mcp::store::contract::admit(id, "a", Decision::Run)
    }
}

// spec: AC-03
#[tokio::test]
async fn a_claim_is_on_disk_before_its_call_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let id = principal(&store, "bot").await;
    let approval = toolgate_mcp::store::contract::claimed(&store, &id, "a").await;
    let sql = "SELECT status, due_at FROM approvals WHERE id = ?1";
    let (status, due): (String, i64) = raw(folder.path())
        .query_row(sql, [approval.id.as_str()], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    assert_eq!(status, "applying");
    assert_eq!(due, approval.claim.unwrap().lease_until.as_millis());
    let sql = "SELECT CAST(bytes AS TEXT) FROM entries ORDER BY position DESC LIMIT 1";
    let last: String = raw(folder.path())
        .query_row(sql, (), |row| row.get(0))
        .unwrap();
    assert!(last.contains("\"kind\":\"intent\""));
}

// spec: KY-02
#[tokio::test]
async fn no_file_holds_a_key_or_a_token() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let id = principal(&store, "bot").await;
    let key = AgentKey::from_entropy([5; 20]);
    let token = OperatorToken::from_entropy([6; 20]);
    store.remember_key(&key.hash(), &id).await.unwrap();
    let row = Key {
        id: "k1".parse().unwrap(),
        hash: key.hash(),
        created_at: store.now(),
        last_used_at: None,
        expires_at: None,
        revoked_at: None,
    };
    store
        .add_key(&id, row, "ann".parse().unwrap())
        .await
        .unwrap();
    let operator = Operator {
        name: "bob".parse().unwrap(),
        role: Role::Viewer,
        token: token.hash(),
        created_at: store.now(),
    };
    store.add_operator(operator).await.unwrap();
    let holds = |word: &str| {
        std::fs::read_dir(folder.path()).unwrap().any(|file| {
            let bytes = std::fs::read(file.unwrap().path()).unwrap();
            bytes
                .windows(word.len())
                .any(|part| part == word.as_bytes())
        })
    };
    assert!(holds(&key.hash().to_hex()));
    assert!(!holds(key.reveal()) && !holds(token.reveal()));
    store.close();
    assert!(!holds(key.reveal()) && !holds(token.reveal()));
}

// spec: F21
#[tokio::test]
async fn a_folder_has_one_writer() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let again = SqliteStore::open(folder.path(), Durability::Strict, Clocked::default());
    assert!(matches!(again, Err(OpenError::Taken)));
    assert!(ReadOnly::open(folder.path()).is_ok());
    store.close();
    drop(open(&folder));
}

#[tokio::test]
async fn a_newer_schema_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    open(&folder).close();
    raw(folder.path())
        .pragma_update(None, "user_version", 99)
        .unwrap();
    let newer = SqliteStore::open(folder.path(), Durability::Strict, Clocked::default());
    assert!(matches!(newer, Err(OpenError::Newer(99))));
    assert!(matches!(
        ReadOnly::open(folder.path()),
        Err(OpenError::Newer(99))
    ));
}

#[cfg(unix)]
#[tokio::test]
async fn nobody_else_can_read_the_files() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(DATABASE), b"").unwrap();
    let loose = std::fs::Permissions::from_mode(0o666);
    std::fs::set_permissions(folder.path().join(DATABASE), loose).unwrap();
    let store = open(&folder);
    principal(&store, "bot").await;
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for file in std::fs::read_dir(folder.path()).unwrap() {
        assert_eq!(mode(&file.unwrap().path()), 0o600);
    }
}

#[cfg(unix)]
#[tokio::test]
async fn only_a_folder_that_is_made_is_closed() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let open = |path: &Path| SqliteStore::open(path, Durability::Strict, Clocked::default());
    let there = folder.path().join("there");
    std::fs::create_dir(&there).unwrap();
    std::fs::set_permissions(&there, std::fs::Permissions::from_mode(0o755)).unwrap();
    drop(open(&there).unwrap());
    assert_eq!((mode(&there), mode(&there.join(DATABASE))), (0o755, 0o600));
    let made = folder.path().join("above/made");
    drop(open(&made).unwrap());
    assert_eq!((mode(&made), mode(made.parent().unwrap())), (0o700, 0o700));
}

// spec: F16
#[tokio::test]
async fn a_full_disk_refuses_and_recovers_without_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let id = principal(&store, "bot").await;
    let before = store.head(&id).await.unwrap().unwrap();
    store.limit_pages(1).await.unwrap();
    let mut refused = 0;
    for n in 0..2_000 {
        let note = Event::note("dry_run")
            .with("pad", "x".repeat(2_000))
            .with("n", n);
        match store.note(&id, note).await {
            Ok(moved) => assert_eq!(moved.outcome, Outcome::Done),
            Err(error) => {
                assert_eq!(error.kind(), StoreErrorKind::Unavailable);
                refused += 1;
                if refused == 3 {
                    break;
                }
            }
        }
    }
    assert_eq!(refused, 3);
    assert_eq!(store.health(), Health::Failing);
    let seen = store.head(&id).await.unwrap().unwrap();
    let chain = ChainId::new(id.as_str()).unwrap();
    let rows = store.slice(&chain, 1, 10_000).await.unwrap();
    assert_eq!(seen.version, rows.len() as u64);
    assert!(seen.version >= before.version);
    store.limit_pages(1_000_000).await.unwrap();
    let moved = store.note(&id, Event::note("dry_run")).await.unwrap();
    assert_eq!(moved.seq, Some(rows.len() as u64 + 1));
    assert_eq!(store.health(), Health::Ok);
    assert!(verify(&store).await.unwrap().ok);
}

async fn first(store: &SqliteStore) -> Option<Problem> {
    let reports = verify(store).await.unwrap().reports;
    reports
        .into_iter()
        .find_map(|report| report.problems.first().copied())
}

#[tokio::test]
async fn tampering_with_the_file_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let id = principal(&store, "bot").await;
    for _ in 0..4 {
        store.note(&id, Event::note("dry_run")).await.unwrap();
    }
    let sql = raw(folder.path());
    let kept: Vec<u8> = sql
        .query_row("SELECT bytes FROM entries WHERE seq = 3", (), |row| {
            row.get(0)
        })
        .unwrap();
    let edited = String::from_utf8(kept.clone())
        .unwrap()
        .replace("dry_run", "dry_ran");
    sql.execute(
        "UPDATE entries SET bytes = ?1 WHERE seq = 3",
        [edited.into_bytes()],
    )
    .unwrap();
    let problem = first(&store).await.unwrap();
    assert_eq!((problem.seq, problem.kind), (3, ProblemKind::Edited));
    sql.execute("UPDATE entries SET bytes = ?1 WHERE seq = 3", [kept])
        .unwrap();
    assert!(first(&store).await.is_none());
    sql.execute("INSERT INTO entries (chain, seq, bytes, hash) SELECT chain, 6, bytes, hash FROM entries WHERE seq = 5", ()).unwrap();
    let problem = first(&store).await.unwrap();
    assert_eq!(problem.seq, 6);
    sql.execute("DELETE FROM entries WHERE seq = 6", ())
        .unwrap();
    sql.execute("DELETE FROM entries WHERE seq = 2", ())
        .unwrap();
    let problem = first(&store).await.unwrap();
    assert_eq!((problem.seq, problem.kind), (2, ProblemKind::Deleted));
    sql.execute("DELETE FROM entries", ()).unwrap();
    let problem = first(&store).await.unwrap();
    assert_eq!((problem.seq, problem.kind), (1, ProblemKind::Cut));
}

#[tokio::test]
async fn a_backup_is_a_store_and_never_overwrites() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let id = principal(&store, "bot").await;
    let to = tempfile::tempdir().unwrap();
    store.backup(to.path().join(DATABASE)).await.unwrap();
    let again = store.backup(to.path().join(DATABASE)).await;
    assert!(matches!(again, Err(OpenError::Exists)));
    let copy = open(&to);
    assert_eq!(
        copy.head(&id).await.unwrap(),
        store.head(&id).await.unwrap()
    );
    assert!(verify(&copy).await.unwrap().ok);
}

#[tokio::test]
async fn records_are_kept_beside_the_units() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    assert_eq!(store.record("flags", "a").await.unwrap(), None);
    store.put_record("flags", "a", &json!(true)).await.unwrap();
    store.put_record("flags", "a", &json!(false)).await.unwrap();
    store.put_record("flags", "b%", &json!("x")).await.unwrap();
    store.put_record("tickets", "a", &json!(1)).await.unwrap();
    assert_eq!(
        store.record("flags", "a").await.unwrap(),
        Some(json!(false))
    );
    let listed = store.records("flags", "b%").await.unwrap();
    assert_eq!(listed, [("b%".to_owned(), json!("x"))]);
    assert_eq!(store.records("flags", "").await.unwrap().len(), 2);
    assert!(store.delete_record("flags", "a").await.unwrap());
    assert!(!store.delete_record("flags", "a").await.unwrap());
}
