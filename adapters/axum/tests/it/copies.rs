//! Copies of a store, and the way back from one.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;

use rusqlite::Connection;
use tempfile::TempDir;
use toolgate_axum::native::RestoreError;
use toolgate_axum::native::backup;
use toolgate_axum::native::restore;
use toolgate_axum::sqlite::DATABASE;
use toolgate_axum::sqlite::Durability;
use toolgate_axum::sqlite::OpenError;
use toolgate_axum::sqlite::SqliteStore;
use toolgate_core::id::PrincipalId;
use toolgate_core::unit::Event;
use toolgate_mcp::gateway::verify;
use toolgate_mcp::store::LedgerExt as _;
use toolgate_mcp::store::contract::Clocked;

fn open(folder: &Path) -> SqliteStore {
    SqliteStore::open(folder, Durability::Relaxed, Clocked::default()).unwrap()
}

async fn note(store: &SqliteStore, times: u32) {
    for _ in 0..times {
        let event = Event::note("tested");
        store.note(&PrincipalId::system(), event).await.unwrap();
    }
}

/// How many entries a sound store has.
async fn entries(store: &SqliteStore) -> u64 {
    let summary = verify(store).await.unwrap();
    assert!(summary.ok && summary.complete);
    summary.entries
}

/// A folder with a store of ten entries, a copy of it, and two more entries since.
async fn copied() -> (TempDir, PathBuf, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let (data, copy) = (folder.path().join("data"), folder.path().join("copy"));
    let store = open(&data);
    note(&store, 10).await;
    backup(&data, &copy).unwrap();
    note(&store, 2).await;
    store.close();
    (folder, data, copy)
}

/// Every file below a folder with its bytes.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let Ok(entries) = fs::read_dir(folder) else {
        return found;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.insert(path.clone(), Vec::new());
            found.append(&mut files(&path));
        } else {
            found.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_beside_a_busy_gate_ends_and_is_a_sound_store() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let store = Arc::new(open(&data));
    // Many pages, so that writes come while they are copied.
    note(&store, 500).await;
    let ended = Arc::new(AtomicBool::new(false));
    let (busy, until) = (Arc::clone(&store), Arc::clone(&ended));
    let writer = tokio::spawn(async move {
        while !until.load(Ordering::Relaxed) {
            note(&busy, 1).await;
        }
    });
    for number in 0..3 {
        let copy = folder.path().join(format!("copy-{number}"));
        fs::create_dir(&copy).unwrap();
        let least = entries(&store).await;
        let (from, to) = (data.clone(), copy.join(DATABASE));
        let again = (from.clone(), to.clone());
        tokio::task::spawn_blocking(move || backup(&from, &to))
            .await
            .unwrap()
            .unwrap();
        assert!(matches!(backup(&again.0, &again.1), Err(OpenError::Exists)));
        let opened = open(&copy);
        assert!(entries(&opened).await >= least);
    }
    ended.store(true, Ordering::Relaxed);
    writer.await.unwrap();
    assert!(entries(&store).await > 500);
}

#[tokio::test]
async fn a_copy_is_restored_into_a_new_folder() {
    let (folder, _, copy) = copied().await;
    let beside = files(folder.path()).len();
    let fresh = folder.path().join("fresh/data");
    let restored = restore(&copy, &fresh, false).await.unwrap();
    assert_eq!((restored.kept, restored.rollback), (None, false));
    let left = files(&fresh)
        .into_keys()
        .map(|path| path.file_name().unwrap().to_owned());
    assert_eq!(left.collect::<Vec<_>>(), ["toolgate.lock", DATABASE]);
    // The folders, the lock and the database; nothing beside the copy.
    assert_eq!(files(folder.path()).len(), beside + 4);
    let store = open(&fresh);
    // Its restore is written down in it.
    assert_eq!(entries(&store).await, 11);
}

#[tokio::test]
async fn an_older_copy_is_restored_only_if_the_rollback_is_accepted() {
    let (_folder, data, copy) = copied().await;
    let before = files(&data);
    let refused = restore(&copy, &data, false).await.unwrap_err();
    assert!(matches!(refused, RestoreError::Rollback));
    assert_eq!(files(&data), before);
    let restored = restore(&copy, &data, true).await.unwrap();
    assert!(restored.rollback);
    let kept = restored.kept.unwrap();
    assert_eq!(fs::read(kept).unwrap(), before[&data.join(DATABASE)]);
    assert_eq!(entries(&open(&data)).await, 11);
}

#[tokio::test]
async fn a_copy_that_is_not_behind_is_no_rollback() {
    let (folder, data, _) = copied().await;
    let copy = folder.path().join("fresh copy");
    backup(&data, &copy).unwrap();
    let restored = restore(&copy, &data, false).await.unwrap();
    assert!(!restored.rollback && restored.kept.is_some());
    assert_eq!(entries(&open(&data)).await, 13);
}

#[tokio::test]
async fn a_database_in_use_is_copied_with_its_log() {
    let (folder, data, _) = copied().await;
    let store = open(&data);
    note(&store, 5).await;
    let fresh = folder.path().join("fresh");
    restore(&data.join(DATABASE), &fresh, false).await.unwrap();
    assert_eq!(entries(&open(&fresh)).await, 18);
}

#[tokio::test]
async fn a_wrong_copy_is_named_and_leaves_the_folder_as_it_was() {
    let (folder, data, copy) = copied().await;
    let at = |name: &str| folder.path().join(name);
    let whole = fs::read(&copy).unwrap();
    fs::write(at("empty"), "").unwrap();
    fs::write(
        at("text"),
        "this is a text that is longer than any magic word",
    )
    .unwrap();
    fs::write(at("cut"), whole.get(..whole.len() / 2).unwrap()).unwrap();
    let other = Connection::open(at("other")).unwrap();
    other
        .execute_batch("CREATE TABLE a (b); PRAGMA user_version = 1")
        .unwrap();
    fs::write(at("newer"), &whole).unwrap();
    let newer = Connection::open(at("newer")).unwrap();
    newer.pragma_update(None, "user_version", 99).unwrap();
    drop((other, newer));
    for data in [data, at("new/data")] {
        let before = files(folder.path());
        for (name, wrong) in [
            ("empty", "Foreign"),
            ("text", "Foreign"),
            ("cut", "Foreign"),
            ("other", "Foreign"),
            ("newer", "Newer(99)"),
            ("missing", "Unreadable"),
            (".", "Unreadable"),
        ] {
            let failed = restore(&at(name), &data, true).await.unwrap_err();
            let said = format!("{failed:?}");
            assert!(said.starts_with(&format!("Copy({wrong}")), "{name}: {said}");
            assert!(failed.to_string().starts_with("the copy "), "{failed}");
            let after = files(folder.path());
            assert!(after.keys().eq(before.keys()), "{name}: {:?}", after.keys());
            assert!(after == before, "{name}");
        }
    }
}

#[tokio::test]
async fn a_store_that_cannot_be_read_or_is_in_use_stays() {
    let (_folder, data, copy) = copied().await;
    let store = open(&data);
    let taken = restore(&copy, &data, true).await.unwrap_err();
    assert!(matches!(taken, RestoreError::Open(OpenError::Taken)));
    store.close();
    fs::write(
        data.join(DATABASE),
        "this is a text that is longer than any magic word",
    )
    .unwrap();
    let before = files(&data);
    let broken = restore(&copy, &data, true).await.unwrap_err();
    assert!(matches!(broken, RestoreError::Open(OpenError::Database(_))));
    assert_eq!(files(&data), before);
}
