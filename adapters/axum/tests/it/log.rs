//! The log of the store in a file: how long it gets, and what is left in it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;
use toolgate_axum::sqlite::DATABASE;
use toolgate_axum::sqlite::Durability;
use toolgate_axum::sqlite::SqliteStore;
use toolgate_core::approval::Approval;
use toolgate_core::approval::Status;
use toolgate_core::approval::StoredResult;
use toolgate_core::id::PrincipalId;
use toolgate_core::unit::Create;
use toolgate_core::unit::Decide;
use toolgate_core::unit::Ending;
use toolgate_core::unit::Settle;
use toolgate_core::verdict::Decision;
use toolgate_mcp::store::ApprovalQuery;
use toolgate_mcp::store::Ledger as _;
use toolgate_mcp::store::LedgerExt as _;
use toolgate_mcp::store::contract;
use toolgate_mcp::store::contract::Clocked;

/// What is looked for in the files, and stands nowhere else.
const WORD: &str = "a-word-that-stands-nowhere-else";
/// How long erased arguments may stay in the log, and what a slow machine adds.
const SOON: Duration = Duration::from_secs(20);

fn open(folder: &TempDir) -> SqliteStore {
    SqliteStore::open(folder.path(), Durability::Strict, Clocked::default()).unwrap()
}

async fn principal(store: &SqliteStore) -> PrincipalId {
    let id: PrincipalId = "bot".parse().unwrap();
    let create = Create {
        name: "bot".parse().unwrap(),
        owner: None,
        policy: r#"{"tools":{}}"#.to_owned(),
        policy_name: None,
        by: "ann".parse().unwrap(),
    };
    store.create(&id, create).await.unwrap();
    id
}

/// The newest request, which is not settled yet.
async fn waiting(store: &SqliteStore, id: &PrincipalId) -> Approval {
    let query = ApprovalQuery {
        principal: Some(id.clone()),
        status: None,
        before: None,
        limit: 1_000,
    };
    let found = store.approvals(&query).await.unwrap();
    let mut open = found
        .into_iter()
        .filter(|(_, approval)| matches!(approval.status, Status::Pending | Status::Applying));
    open.next().unwrap().1
}

/// Asks for an action with the word in its arguments, and declines it.
async fn declined(store: &SqliteStore, id: &PrincipalId) {
    let mut asked = contract::admit(id, WORD, Decision::Queue);
    asked.redacted = None;
    store.admit(id, asked).await.unwrap();
    let no = Decide {
        call: "d1".parse().unwrap(),
        approval: waiting(store, id).await.id,
        approved: false,
        by: "ann".parse().unwrap(),
        reason: None,
        recheck: None,
        lease_ms: 40_000,
    };
    store.decide(id, no).await.unwrap();
}

/// Makes an action that nobody is asked for.
async fn acted(store: &SqliteStore, id: &PrincipalId, text: &str) {
    let asked = contract::admit(id, text, Decision::AutoApply);
    store.admit(id, asked).await.unwrap();
    let approval = waiting(store, id).await;
    let settle = Settle {
        approval: approval.id,
        fence: approval.claim.unwrap().fence,
        result: Some(StoredResult {
            value: json!({"content": []}),
            is_error: false,
        }),
        not_made: false,
        message: None,
        ending: Ending::default(),
    };
    store.settle(id, settle).await.unwrap();
}

fn holds(folder: &TempDir) -> bool {
    std::fs::read_dir(folder.path()).unwrap().any(|file| {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        let mut parts = bytes.windows(WORD.len());
        parts.any(|part| part == WORD.as_bytes())
    })
}

fn length(folder: &TempDir) -> u64 {
    let path = folder.path().join(format!("{DATABASE}-wal"));
    std::fs::metadata(path).unwrap().len()
}

#[tokio::test(flavor = "multi_thread")]
async fn large_rows_do_not_make_the_log_long() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let mut longest = 0;
    for n in 0..300_u32 {
        let letter = char::from(b'a' + u8::try_from(n % 26).unwrap());
        let value = json!(letter.to_string().repeat(1_000_000));
        let name = format!("{}", n % 3);
        store.put_record("files", &name, &value).await.unwrap();
        longest = longest.max(length(&folder));
    }
    assert!(longest < 128 << 20, "{} MB", longest >> 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn erased_arguments_leave_the_log_of_a_gate_that_is_never_quiet() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(open(&folder));
    let id = principal(&store).await;
    declined(&store, &id).await;
    assert!(holds(&folder));
    let acting = async {
        for n in 0_u64.. {
            acted(&store, &id, &format!("t{n}")).await;
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    };
    let gone = async {
        while holds(&folder) {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    let gone = tokio::time::timeout(SOON, gone);
    tokio::select! {
        () = acting => {}
        done = gone => assert!(done.is_ok(), "the arguments are still in the log"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn erased_arguments_leave_the_log_of_a_process_that_was_killed() {
    let (folder, next) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = open(&folder);
    let id = principal(&store).await;
    declined(&store, &id).await;
    // The process is killed here: what is in its files is what the next one finds.
    for file in std::fs::read_dir(folder.path()).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), next.path().join(file.file_name())).unwrap();
    }
    assert!(holds(&next));
    let _again = open(&next);
    let gone = async {
        while holds(&next) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let gone = tokio::time::timeout(SOON, gone).await;
    assert!(gone.is_ok(), "the arguments are still in the log");
}
