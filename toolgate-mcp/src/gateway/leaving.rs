//! Calls on their way out of the gate, so that a kill answers once none is left that it did not
//! stop.
//!
//! A call takes a ticket before its unit lets it pass, and gives it back when its source has heard
//! of it. In between it looks once more whether its principal is switched off: what left before a
//! kill was on its way, and nothing leaves after it. This holds within one process.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;

use futures_channel::oneshot;
use toolgate_core::id::PrincipalId;

/// The tickets of all principals.
#[derive(Debug, Clone, Default)]
pub(super) struct Leaving(Arc<Mutex<Tickets>>);

#[derive(Debug, Default)]
struct Tickets {
    next: u64,
    exits: HashMap<PrincipalId, Exit>,
}

/// The tickets of one principal.
#[derive(Debug, Default)]
struct Exit {
    out: BTreeSet<u64>,
    /// Who waits until every ticket below a number is back.
    waiting: BTreeMap<u64, Vec<oneshot::Sender<()>>>,
}

/// A call's leave to go out; it is given back when this value goes away.
pub(super) struct Ticket {
    number: u64,
    principal: PrincipalId,
    of: Leaving,
}

impl Leaving {
    pub(super) fn ticket(&self, principal: &PrincipalId) -> Ticket {
        let mut tickets = self.tickets();
        let number = tickets.next;
        tickets.next += 1;
        let exit = tickets.exits.entry(principal.clone()).or_default();
        exit.out.insert(number);
        Ticket {
            number,
            principal: principal.clone(),
            of: self.clone(),
        }
    }

    /// Waits until every ticket that is out now is back.
    pub(super) async fn back(&self, principal: &PrincipalId) {
        let told = {
            let mut tickets = self.tickets();
            let next = tickets.next;
            let Some(exit) = tickets.exits.get_mut(principal) else {
                return;
            };
            let (tell, told) = oneshot::channel();
            exit.waiting.entry(next).or_default().push(tell);
            told
        };
        // A sender that is gone has nobody left to wait for.
        let _ = told.await;
    }

    fn tickets(&self) -> MutexGuard<'_, Tickets> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut tickets = self.of.tickets();
        let Some(exit) = tickets.exits.get_mut(&self.principal) else {
            return;
        };
        exit.out.remove(&self.number);
        let oldest = exit.out.first().copied();
        while let Some(waiting) = exit.waiting.first_entry()
            && oldest.is_none_or(|oldest| oldest >= *waiting.key())
        {
            for tell in waiting.remove() {
                let _ = tell.send(());
            }
        }
        if oldest.is_none() {
            tickets.exits.remove(&self.principal);
        }
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket")
            .field("number", &self.number)
            .field("principal", &self.principal)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    #[test]
    fn only_tickets_that_were_out_before_are_waited_for() {
        let leaving = Leaving::default();
        let (one, two): (PrincipalId, PrincipalId) =
            ("one".parse().unwrap(), "two".parse().unwrap());
        assert!(leaving.back(&one).now_or_never().is_some());
        let (first, second) = (leaving.ticket(&one), leaving.ticket(&one));
        let mut back = Box::pin(leaving.back(&one));
        assert!(back.as_mut().now_or_never().is_none());
        let (later, other) = (leaving.ticket(&one), leaving.ticket(&two));
        drop(second);
        assert!(back.as_mut().now_or_never().is_none());
        drop(first);
        assert!(back.as_mut().now_or_never().is_some());
        drop((later, other));
        assert!(leaving.tickets().exits.is_empty());
    }
}
