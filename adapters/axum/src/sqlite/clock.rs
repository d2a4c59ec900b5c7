//! Time that goes on from where the store's last writer left it.

use std::sync::Arc;

use rusqlite::Connection;
use toolgate_core::time::Timestamp;
use toolgate_core::unit::Head;
use toolgate_mcp::store::Clock;

use super::rows;

/// A lead over the machine's clock that is worth a line in the log, in milliseconds.
const WORTH_A_LINE: i64 = 60_000;
/// How much slower than the machine's a clock runs that is ahead of it: one part in so many.
const SLOWER: i64 = 10;

/// A clock that does not begin before the newest stamp of a store.
///
/// Stamps never go back, so behind a stamp of the future a principal's time would stand still, and
/// nothing of its limits would come back, until the machine's clock has caught up. Instead, time
/// goes on from there, a tenth slower than it is, until it has.
#[derive(Debug)]
pub(super) struct Caught {
    clock: Arc<dyn Clock>,
    began: Timestamp,
    newest: Timestamp,
}

impl Caught {
    pub(super) fn new(clock: Arc<dyn Clock>, newest: Timestamp) -> Self {
        let began = clock.now();
        let ahead = newest.as_millis().saturating_sub(began.as_millis());
        if ahead > WORTH_A_LINE {
            tracing::warn!(
                seconds = ahead / 1_000,
                "the store was written by a clock that is ahead of this machine's"
            );
        }
        Self {
            clock,
            began,
            newest,
        }
    }
}

impl Clock for Caught {
    fn now(&self) -> Timestamp {
        let now = self.clock.now();
        let passed = now.as_millis().saturating_sub(self.began.as_millis());
        now.max(self.newest.plus(passed - passed / SLOWER))
    }
}

/// The newest stamp of any unit. One that cannot be read counts for nothing here; its unit says so
/// itself.
pub(super) fn newest(db: &Connection) -> rusqlite::Result<Option<Timestamp>> {
    let mut query = db.prepare("SELECT head FROM units")?;
    let heads = query.query_map((), |row| row.get::<_, String>(0))?;
    let mut newest = None;
    for head in heads {
        let at = rows::read(&head?).map(|head: Head| head.at);
        newest = newest.max(at.ok());
    }
    Ok(newest)
}
