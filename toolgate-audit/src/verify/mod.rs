//! Verification over the stored bytes.

mod found;
mod report;

pub use report::ChainHead;
pub use report::ChainProblem;
pub use report::Problem;
pub use report::ProblemKind;
pub use report::Report;
pub use report::Summary;

use found::Found;

use crate::ChainId;
use crate::Hash;
use crate::Head;
use crate::entry;
use crate::json;

/// One row as a store holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "plain data that stores build")]
pub struct StoredRow<'a> {
    /// The number under which it is stored.
    pub seq: u64,
    /// The bytes as stored.
    pub bytes: &'a [u8],
    /// The hash as stored.
    pub hash: Hash,
}

/// Checks one chain, row by row, in memory that does not grow with the chain.
///
/// Rows come in the order of their keys. Cloning a verifier keeps its place.
///
/// ```
/// use toolgate_audit::{append, Body, ChainId, EntryKind, Head, ProblemKind, StoredRow, Verifier};
///
/// let chain = ChainId::system();
/// let mut head = Head::default();
/// let mut rows = Vec::new();
/// for at in 0..3 {
///     let (row, next) = append(&head, &chain, &Body::new(at, EntryKind::CALL))?;
///     rows.push(row);
///     head = next;
/// }
///
/// let mut verifier = Verifier::new(chain);
/// for row in rows.iter().filter(|row| row.seq != 2) {
///     verifier.feed(StoredRow { seq: row.seq, bytes: &row.bytes, hash: row.hash });
/// }
/// let report = verifier.finish(Some(&head));
/// assert!(!report.ok);
/// assert_eq!((report.problems[0].seq, report.problems[0].kind), (2, ProblemKind::Deleted));
/// # Ok::<(), toolgate_audit::EncodeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Verifier {
    chain: ChainId,
    /// The key after the last one that was fed.
    next: u64,
    /// What to add to a key for the `seq` that belongs there: not 0 once rows were taken out or put
    /// in and the rest renumbered.
    shift: i128,
    entries: u64,
    tip: Tip,
    stray: Option<Stray>,
    found: Found,
}

impl Verifier {
    /// Checks a chain from its first row.
    #[must_use]
    pub const fn new(chain: ChainId) -> Self {
        Self::resume(
            chain,
            Head {
                size: 0,
                hash: Hash::ZERO,
            },
        )
    }

    /// Checks what comes after a head that is known to be good.
    #[must_use]
    pub const fn resume(chain: ChainId, head: Head) -> Self {
        Self {
            chain,
            next: head.size.saturating_add(1),
            shift: 0,
            entries: 0,
            tip: Tip {
                key: head.size,
                seq: head.size,
                hash: head.hash,
                link: Link::Given,
            },
            stray: None,
            found: Found::new(),
        }
    }

    /// Takes in the next row.
    pub fn feed(&mut self, row: StoredRow<'_>) {
        self.entries = self.entries.saturating_add(1);
        let key = row.seq;
        let read = self.read(row);
        if key < self.next {
            self.late(key, &read);
            return;
        }
        match read {
            Read::Broken(kind) => {
                self.gap(self.slot(key));
                self.found.add(key, kind);
                self.stray = None;
                self.tip = Tip {
                    key,
                    seq: self.slot(key),
                    hash: row.hash,
                    link: Link::Broken,
                };
            }
            Read::Foreign => {
                self.gap(self.slot(key));
                self.stray(key, None, ProblemKind::Forged);
            }
            Read::Whole(link) => self.place(key, link),
        }
        self.next = key.saturating_add(1);
    }

    /// Ends the check, against the head that the writer of the chain keeps, if it is at hand.
    ///
    /// The head has to be of the same moment as the rows: a row appended after the head was read
    /// looks put in. Without a head nothing can be said about what the tail of the chain was, and
    /// the report is not complete.
    #[must_use]
    pub fn finish(mut self, expected: Option<&Head>) -> Report {
        let mut size = self.slot(self.next.saturating_sub(1));
        if let Some(head) = expected {
            self.settle_stray(head, size);
            size = self.slot(self.next.saturating_sub(1));
            if size < head.size {
                self.found.add(size.saturating_add(1), ProblemKind::Cut);
            } else if size > head.size {
                self.found.beyond(head.size.saturating_add(1));
            } else if self.tip.seq == size
                && self.tip.link != Link::Broken
                && self.tip.hash != head.hash
            {
                self.found.add(self.tip.key, ProblemKind::Forged);
            }
        }
        let (problems, more_problems) = self.found.into_problems();
        Report {
            ok: problems.is_empty(),
            complete: expected.is_some(),
            entries: self.entries,
            chain: self.chain,
            size,
            head: self.tip.hash,
            problems,
            more_problems,
        }
    }

    /// The key that the next row has if none is missing.
    pub(crate) const fn next(&self) -> u64 {
        self.next
    }

    /// Takes note of a row of which nothing can be read.
    pub(crate) fn feed_unreadable(&mut self) {
        self.feed(StoredRow {
            seq: self.next,
            bytes: &[],
            hash: Hash::ZERO,
        });
    }

    fn read(&self, row: StoredRow<'_>) -> Read {
        if Hash::leaf(row.bytes) != row.hash {
            return Read::Broken(if json::parse(row.bytes).is_some() {
                ProblemKind::Edited
            } else {
                ProblemKind::Torn
            });
        }
        match entry::decode(row.bytes) {
            Err(_) => Read::Broken(ProblemKind::Torn),
            Ok(entry) if entry.chain != self.chain => Read::Foreign,
            Ok(entry) => Read::Whole(Linked {
                seq: entry.seq,
                prev: entry.prev,
                hash: row.hash,
            }),
        }
    }

    /// Judges a row whose bytes are sound by where it stands.
    fn place(&mut self, key: u64, row: Linked) {
        let follows = row.seq == self.tip.seq.saturating_add(1);
        if follows && self.tip.link != Link::Broken && row.prev == self.tip.hash {
            self.follow(key, row);
        } else if self.runs_on_from_stray(row) {
            self.stray_was_run(key, row);
        } else if row.seq == self.slot(key) || row.seq == key {
            let apart = self.gap(row.seq);
            let mut link = Link::Chained;
            if follows && !apart {
                match self.tip.link {
                    Link::Chained => self.found.add(self.tip.key, ProblemKind::Forged),
                    Link::Given => {
                        self.found.add(key, ProblemKind::Forged);
                        link = Link::Broken;
                    }
                    Link::Broken => {}
                }
            }
            self.accept(key, row, link);
        } else {
            self.gap(self.slot(key));
            self.found.reorder(row.seq);
            self.stray(key, Some(row), ProblemKind::Reordered);
        }
    }

    /// The row is the one that the tip was waiting for, whatever its key.
    fn follow(&mut self, key: u64, row: Linked) {
        match self.stray {
            Some(Stray {
                row: Some(stray),
                key: stray_key,
            }) if row.seq.checked_add(1) == Some(stray.seq) && stray.prev == row.hash => {
                self.found.add(key, ProblemKind::Reordered);
                self.accept(stray_key, stray, Link::Chained);
                self.shift = i128::from(row.seq) - i128::from(stray_key);
                return;
            }
            Some(_) => self.found.strays_were_inserted(),
            None if row.seq != self.slot(key) && row.seq != key => {
                self.found.add(key, ProblemKind::Reordered);
            }
            None => {}
        }
        self.accept(key, row, Link::Chained);
    }

    /// Whether the row is chained on to the stray before it, so that it was the tip that ended.
    fn runs_on_from_stray(&self, row: Linked) -> bool {
        matches!(
            self.stray,
            Some(Stray { row: Some(stray), .. })
                if stray.seq.checked_add(1) == Some(row.seq)
                    && stray.prev != row.hash
                    && row.prev == stray.hash
                    && stray.seq >= self.tip.seq
        )
    }

    fn stray_was_run(&mut self, key: u64, row: Linked) {
        let missing = self.tip.seq.saturating_add(1);
        match self.stray {
            Some(Stray {
                row: Some(stray), ..
            }) if stray.seq > self.tip.seq => {
                self.found
                    .last_was_deleted(missing, stray.seq.saturating_sub(1));
            }
            _ => self.found.last_was_inserted(self.tip.key),
        }
        self.accept(key, row, Link::Chained);
    }

    fn accept(&mut self, key: u64, row: Linked, link: Link) {
        self.shift = i128::from(row.seq) - i128::from(key);
        self.stray = None;
        self.found.settle();
        self.tip = Tip {
            key,
            seq: row.seq,
            hash: row.hash,
            link,
        };
    }

    fn stray(&mut self, key: u64, row: Option<Linked>, kind: ProblemKind) {
        self.found.add_stray(key, kind);
        self.stray = Some(Stray { key, row });
    }

    /// A row for a key that was passed already.
    fn late(&mut self, key: u64, read: &Read) {
        let kind = match read {
            Read::Broken(kind) => *kind,
            Read::Foreign => ProblemKind::Inserted,
            Read::Whole(_) => ProblemKind::Reordered,
        };
        if kind == ProblemKind::Inserted || !self.found.fill(key, kind) {
            self.found.add(key, ProblemKind::Inserted);
        }
        if key == self.tip.key {
            self.tip.link = Link::Broken;
        }
    }

    /// Names what is missing before the slot `seq`; says whether anything is.
    fn gap(&mut self, seq: u64) -> bool {
        let first = self.slot(self.next);
        if first >= seq {
            return false;
        }
        self.found.add_missing(first, seq - 1);
        true
    }

    /// A stray that was the last row: only the head can tell what it was.
    fn settle_stray(&mut self, head: &Head, size: u64) {
        let Some(Stray {
            key,
            row: Some(row),
        }) = self.stray
        else {
            return;
        };
        let at_head = row.seq == head.size && row.hash == head.hash;
        if at_head && size < head.size {
            let missing = self.tip.seq.saturating_add(1);
            self.found
                .last_was_deleted(missing, row.seq.saturating_sub(1));
            self.accept(key, row, Link::Chained);
        } else if at_head && row.seq == self.tip.seq && self.tip.hash != head.hash {
            self.found.last_was_inserted(self.tip.key);
            self.accept(key, row, Link::Chained);
        }
    }

    /// The `seq` that belongs under a key.
    fn slot(&self, key: u64) -> u64 {
        u64::try_from(i128::from(key) + self.shift).unwrap_or_default()
    }
}

/// The last row that stands in its place.
#[derive(Clone, Copy, Debug)]
struct Tip {
    key: u64,
    seq: u64,
    hash: Hash,
    link: Link,
}

/// What the row after the tip says about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    /// Nothing more: the tip was named already.
    // INVARIANT: a problem has been added whenever a tip is broken, so that a check that is left
    // out never hides the only sign.
    Broken,
    /// Whether it is the row that was written.
    Chained,
    /// Nothing: it is the start, which was not fed.
    Given,
}

/// A sound row that does not stand where its `seq` says.
#[derive(Clone, Copy, Debug)]
struct Stray {
    key: u64,
    /// Absent for a row of another chain.
    row: Option<Linked>,
}

#[derive(Clone, Copy, Debug)]
struct Linked {
    seq: u64,
    prev: Hash,
    hash: Hash,
}

enum Read {
    Broken(ProblemKind),
    Foreign,
    Whole(Linked),
}
