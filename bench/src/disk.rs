//! Durable entries beside what the disk can sync.

use std::fs::File;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use toolgate_axum::hands::SystemClock;
use toolgate_axum::sqlite::Durability;
use toolgate_axum::sqlite::SqliteStore;
use toolgate_core::id::PrincipalId;
use toolgate_core::unit::Event;
use toolgate_mcp::store::LedgerExt as _;

use crate::Outcome;
use crate::load::count;
use crate::process::scratch;

const CALLERS: usize = 64;
const PAGE: [u8; 4096] = [7; 4096];

#[derive(Debug)]
pub(crate) struct Disk {
    /// Pages of 4 KiB appended and synced, in a second.
    pub(crate) syncs: f64,
    /// Entries made durable by 64 callers at once, in a second.
    pub(crate) appends: f64,
}

pub(crate) async fn measure(time: Duration) -> Outcome<Disk> {
    let folder = tempfile::tempdir_in(scratch()?)?;
    let mut file = File::create(folder.path().join("synced"))?;
    let began = Instant::now();
    let mut syncs = 0;
    while began.elapsed() < time {
        file.write_all(&PAGE)?;
        file.sync_data()?;
        syncs += 1;
    }
    let syncs = count(syncs) / began.elapsed().as_secs_f64();
    let clock = Arc::new(SystemClock::start());
    let store = SqliteStore::open(&folder.path().join("store"), Durability::Strict, clock)?;
    let store = Arc::new(store);
    let began = Instant::now();
    let callers: Vec<_> = (0..CALLERS)
        .map(|_| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                let mut made = 0;
                while began.elapsed() < time {
                    let event = Event::note("bench").with("text", "about a hundred bytes of text");
                    if store.note(&PrincipalId::system(), event).await.is_err() {
                        break;
                    }
                    made += 1;
                }
                made
            })
        })
        .collect();
    let mut appends = 0;
    for caller in callers {
        appends += caller.await?;
    }
    let appends = count(appends) / began.elapsed().as_secs_f64();
    store.close();
    Ok(Disk { syncs, appends })
}
