//! What a verifier has found so far, some of it open to a better explanation.

use super::Problem;
use super::ProblemKind;

/// The problems of one chain, of which the first [`MOST`] are kept.
#[derive(Clone, Debug)]
pub(super) struct Found {
    list: Vec<Mark>,
    more: u64,
    /// From where on the list holds strays that have not been explained yet.
    strays: usize,
}

#[derive(Clone, Copy, Debug)]
struct Mark {
    seq: u64,
    /// The last of the missing rows, for [`ProblemKind::Deleted`].
    until: u64,
    kind: ProblemKind,
}

impl Found {
    pub(super) const fn new() -> Self {
        Self {
            list: Vec::new(),
            more: 0,
            strays: 0,
        }
    }

    /// Adds what needs no further explanation.
    pub(super) fn add(&mut self, seq: u64, kind: ProblemKind) {
        self.push(seq, seq, kind);
        self.settle();
    }

    pub(super) fn add_missing(&mut self, first: u64, last: u64) {
        self.push(first, last, ProblemKind::Deleted);
        self.settle();
    }

    pub(super) fn add_stray(&mut self, key: u64, kind: ProblemKind) {
        self.push(key, key, kind);
    }

    /// Leaves the strays as they were named.
    pub(super) fn settle(&mut self) {
        self.strays = self.list.len();
    }

    /// The rows before and after the strays are neighbours.
    pub(super) fn strays_were_inserted(&mut self) {
        for mark in self.list.iter_mut().skip(self.strays) {
            mark.kind = ProblemKind::Inserted;
        }
        self.settle();
    }

    /// The last stray was the first of the rows after a hole that was closed.
    pub(super) fn last_was_deleted(&mut self, first: u64, last: u64) {
        self.list.pop();
        self.add_missing(first, last);
    }

    /// The last stray was the true row, and the one under `key` before it was not.
    pub(super) fn last_was_inserted(&mut self, key: u64) {
        self.list.pop();
        self.add(key, ProblemKind::Inserted);
    }

    /// A row that was missing turned up elsewhere.
    pub(super) fn reorder(&mut self, seq: u64) {
        self.fill(seq, ProblemKind::Reordered);
    }

    /// Names a row of a gap by itself; false if it is in none.
    pub(super) fn fill(&mut self, seq: u64, kind: ProblemKind) -> bool {
        let holds =
            |mark: &Mark| mark.kind == ProblemKind::Deleted && mark.seq <= seq && seq <= mark.until;
        let Some(at) = self.list.iter().position(holds) else {
            return false;
        };
        let gap = self.list.remove(at);
        self.strays = self.strays.saturating_sub(1);
        self.push(seq, seq, kind);
        if gap.seq < seq {
            self.push(gap.seq, seq - 1, ProblemKind::Deleted);
        }
        if seq < gap.until {
            self.push(seq + 1, gap.until, ProblemKind::Deleted);
        }
        self.settle();
        true
    }

    /// Rows from `seq` on are beyond the head, whatever else they are.
    pub(super) fn beyond(&mut self, seq: u64) {
        self.list.retain(|mark| mark.seq < seq);
        self.add(seq, ProblemKind::Inserted);
    }

    /// The problems by number, and how many more there were.
    pub(super) fn into_problems(mut self) -> (Vec<Problem>, u64) {
        self.list.sort_by_key(|mark| mark.seq);
        let problems = self.list.iter().map(|mark| Problem {
            seq: mark.seq,
            kind: mark.kind,
        });
        (problems.collect(), self.more)
    }

    fn push(&mut self, seq: u64, until: u64, kind: ProblemKind) {
        if self.list.len() < MOST {
            self.list.push(Mark { seq, until, kind });
        } else {
            self.more = self.more.saturating_add(1);
        }
    }
}

/// How many problems of a chain are named; the memory of a verifier is bounded by it.
const MOST: usize = 100;
