//! Which connections are kept when there are more than may be.
//!
//! Nobody waits for a place: the newest connection gets one, and the one that is least worth
//! keeping is cut. So whoever holds many connections cannot keep an operator from the kill switch.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;

use tokio::sync::Notify;

/// How much a connection is worth keeping; those of one worth go by age.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Worth {
    /// Nobody known has used it yet.
    Unknown,
    /// Somebody known has used it, and it is idle.
    Known,
    /// A request of it is being answered.
    Answering,
}

#[derive(Debug)]
struct Kept {
    worth: Worth,
    /// When it came to be worth that, in turns of the table.
    since: u64,
    cut: Arc<Notify>,
}

#[derive(Debug, Default)]
struct Table {
    turn: u64,
    kept: BTreeMap<u64, Kept>,
}

/// The places of a server.
#[derive(Debug)]
pub(super) struct Places {
    most: usize,
    table: Mutex<Table>,
}

impl Places {
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            most: most.max(1),
            table: Mutex::default(),
        })
    }

    /// A place for a new connection. The one that is least worth keeping is cut if there are too
    /// many.
    pub(super) fn enter(self: &Arc<Self>) -> Place {
        let cut = Arc::new(Notify::new());
        let mut table = self.table();
        if table.kept.len() >= self.most {
            let least = table
                .kept
                .iter()
                .min_by_key(|(_, kept)| (kept.worth, kept.since));
            if let Some(id) = least.map(|(id, _)| *id)
                && let Some(gone) = table.kept.remove(&id)
            {
                gone.cut.notify_one();
            }
        }
        let id = table.turn();
        let kept = Kept {
            worth: Worth::Unknown,
            since: id,
            cut: Arc::clone(&cut),
        };
        table.kept.insert(id, kept);
        drop(table);
        Place {
            places: Arc::clone(self),
            id,
            cut,
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        // Each change leaves the table whole.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn turn(&mut self) -> u64 {
        self.turn = self.turn.saturating_add(1);
        self.turn
    }
}

/// One connection's place, given back when it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    places: Arc<Places>,
    id: u64,
    cut: Arc<Notify>,
}

impl Place {
    /// Ready once the connection is to be cut.
    pub(super) async fn cut(&self) {
        self.cut.notified().await;
    }

    /// A request of it is being answered.
    pub(super) fn answering(&self) {
        self.set(Worth::Answering);
    }

    /// The request is answered, to somebody known or not.
    pub(super) fn answered(&self, known: bool) {
        self.set(if known { Worth::Known } else { Worth::Unknown });
    }

    fn set(&self, worth: Worth) {
        let mut table = self.places.table();
        let since = table.turn();
        if let Some(kept) = table.kept.get_mut(&self.id) {
            // Whom nobody knows gains nothing by asking again and again.
            if kept.worth == Worth::Answering && worth == Worth::Unknown {
                kept.since = self.id;
            } else {
                kept.since = since;
            }
            kept.worth = worth;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.table().kept.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_kept(place: &Place) -> bool {
        place.places.table().kept.contains_key(&place.id)
    }

    #[test]
    fn those_that_nobody_knows_are_cut_first_and_the_oldest_of_them() {
        let places = Places::new(3);
        let known = places.enter();
        known.answering();
        known.answered(true);
        let (older, newer) = (places.enter(), places.enter());
        older.answering();
        older.answered(false);
        let fresh = places.enter();
        assert!(!is_kept(&older));
        assert!(is_kept(&known) && is_kept(&newer) && is_kept(&fresh));
    }

    #[test]
    fn what_is_being_answered_is_cut_last() {
        let places = Places::new(2);
        let (busy, idle) = (places.enter(), places.enter());
        busy.answering();
        idle.answering();
        idle.answered(true);
        let fresh = places.enter();
        assert!(is_kept(&busy) && is_kept(&fresh) && !is_kept(&idle));
    }

    #[tokio::test]
    async fn a_place_that_is_given_back_cuts_nobody() {
        let places = Places::new(1);
        drop(places.enter());
        let only = places.enter();
        assert!(is_kept(&only));
        let next = places.enter();
        only.cut().await;
        assert!(is_kept(&next));
    }
}
