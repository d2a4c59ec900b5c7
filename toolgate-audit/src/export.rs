//! Exports: the rows of chains as lines of JSON, and their verification without the gate.

use std::collections::BTreeMap;

use data_encoding::BASE64;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::ChainId;
use crate::Hash;
use crate::Head;
use crate::ProblemKind;
use crate::StoredRow;
use crate::Summary;
use crate::Verifier;
use crate::entry;
use crate::json;
use crate::verify::ChainProblem;

/// The line for a row, without the line feed.
///
/// A row that is not sound is written too, in the form that keeps its bytes and its key as they are.
#[must_use]
pub fn row_line(chain: &ChainId, row: StoredRow<'_>) -> String {
    let hash = row.hash;
    let in_place =
        entry::decode(row.bytes).is_ok_and(|entry| entry.chain == *chain && entry.seq == row.seq);
    match std::str::from_utf8(row.bytes) {
        Ok(text) if in_place => format!(r#"{{"entry":{text},"hash":"{hash}"}}"#),
        _ => {
            let (bytes, seq) = (BASE64.encode(row.bytes), row.seq);
            format!(r#"{{"bytes":"{bytes}","chain":"{chain}","hash":"{hash}","seq":{seq}}}"#)
        }
    }
}

/// The line for the head of a chain, without the line feed.
#[must_use]
pub fn head_line(chain: &ChainId, head: &Head) -> String {
    let (hash, size) = (head.hash, head.size);
    format!(r#"{{"chain":"{chain}","head":"{hash}","size":{size}}}"#)
}

/// Checks the lines of an export, of one chain or of several mixed.
///
/// ```
/// use toolgate_audit::{append, head_line, row_line, verify_export};
/// use toolgate_audit::{Body, ChainId, EntryKind, Head, StoredRow};
///
/// let chain = ChainId::system();
/// let (row, head) = append(&Head::default(), &chain, &Body::new(0, EntryKind::KILLED))?;
/// let stored = StoredRow { seq: row.seq, bytes: &row.bytes, hash: row.hash };
/// let lines = [row_line(&chain, stored), head_line(&chain, &head)];
///
/// let summary = verify_export(&lines);
/// assert!(summary.ok && summary.complete);
/// assert!(!verify_export(&lines[..1]).complete);
/// # Ok::<(), toolgate_audit::EncodeError>(())
/// ```
pub fn verify_export<L: AsRef<[u8]>>(lines: impl IntoIterator<Item = L>) -> Summary {
    let mut verifier = ExportVerifier::new();
    for line in lines {
        verifier.feed(line.as_ref());
    }
    verifier.finish()
}

/// [`verify_export`] line by line, in memory that grows with the chains but not with their rows.
#[derive(Clone, Debug, Default)]
pub struct ExportVerifier {
    chains: BTreeMap<ChainId, Tally>,
    current: Option<ChainId>,
    unreadable: u64,
}

#[derive(Clone, Debug)]
struct Tally {
    verifier: Verifier,
    /// The greatest head that the export holds.
    head: Option<Head>,
    /// Two heads of the export differ at this size.
    disputed: Option<u64>,
    /// A head known from elsewhere.
    anchor: Option<Head>,
}

impl ExportVerifier {
    /// Before the first line.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Holds a chain against a head known from elsewhere, rather than against that of the export,
    /// which whoever changed the export could have changed with it.
    pub fn expect(&mut self, chain: ChainId, head: Head) {
        self.tally(chain).anchor = Some(head);
    }

    /// Takes in the next line.
    pub fn feed(&mut self, line: &[u8]) {
        let line = line.trim_ascii();
        if line.is_empty() {
            return;
        }
        match Line::read(line) {
            Some(Line::Entry { bytes, hash }) => self.feed_entry(bytes, hash),
            Some(Line::Bytes {
                chain,
                seq,
                bytes,
                hash,
            }) => {
                let bytes = bytes.as_slice();
                self.current = Some(chain.clone());
                self.tally(chain)
                    .verifier
                    .feed(StoredRow { seq, bytes, hash });
            }
            Some(Line::Head { chain, head }) => self.feed_head(chain, head),
            None => self.feed_unreadable(),
        }
    }

    /// Ends the check.
    ///
    /// A chain without a head is not complete, and neither is an export without a chain.
    #[must_use]
    pub fn finish(self) -> Summary {
        let disputed: Vec<ChainProblem> = self
            .chains
            .iter()
            .filter(|(_, tally)| tally.anchor.is_none())
            .filter_map(|(chain, tally)| {
                Some(ChainProblem {
                    chain: chain.clone(),
                    seq: tally.disputed?,
                    kind: ProblemKind::Forged,
                })
            })
            .collect();
        let mut summary: Summary = self
            .chains
            .into_values()
            .map(|tally| tally.verifier.finish(tally.anchor.or(tally.head).as_ref()))
            .collect();
        for problem in disputed {
            if !summary.problems.contains(&problem) {
                summary.problems.push(problem);
            }
        }
        summary.unreadable = self.unreadable;
        summary.ok &= summary.problems.is_empty() && self.unreadable == 0;
        summary.complete &= !summary.chains.is_empty();
        summary
    }

    fn feed_entry(&mut self, bytes: &[u8], hash: Hash) {
        let decoded = entry::decode(bytes).ok();
        let named = decoded.as_ref().map(|entry| entry.chain.clone());
        let sound = Hash::leaf(bytes) == hash;
        let known = named.or_else(|| named_chain(bytes));
        // What a broken row says about itself may be what was changed.
        let chain = match known {
            Some(chain) if sound || self.chains.contains_key(&chain) => Some(chain),
            other => self.current.clone().or(other),
        };
        let Some(chain) = chain else {
            self.unreadable = self.unreadable.saturating_add(1);
            return;
        };
        self.current = Some(chain.clone());
        let verifier = &mut self.tally(chain).verifier;
        let seq = match decoded {
            Some(entry) if sound => entry.seq,
            _ => verifier.next(),
        };
        verifier.feed(StoredRow { seq, bytes, hash });
    }

    fn feed_head(&mut self, chain: ChainId, head: Head) {
        self.current = Some(chain.clone());
        let tally = self.tally(chain);
        match tally.head {
            Some(known) if known.size == head.size && known.hash != head.hash => {
                tally.disputed = Some(head.size);
            }
            Some(known) if known.size > head.size => {}
            _ => tally.head = Some(head),
        }
    }

    fn feed_unreadable(&mut self) {
        match self.current.clone() {
            Some(chain) => self.tally(chain).verifier.feed_unreadable(),
            None => self.unreadable = self.unreadable.saturating_add(1),
        }
    }

    fn tally(&mut self, chain: ChainId) -> &mut Tally {
        self.chains.entry(chain.clone()).or_insert_with(|| Tally {
            verifier: Verifier::new(chain),
            head: None,
            disputed: None,
            anchor: None,
        })
    }
}

enum Line<'a> {
    Bytes {
        chain: ChainId,
        seq: u64,
        bytes: Vec<u8>,
        hash: Hash,
    },
    Entry {
        bytes: &'a [u8],
        hash: Hash,
    },
    Head {
        chain: ChainId,
        head: Head,
    },
}

/// The fields of all three kinds of line.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields<'a> {
    bytes: Option<String>,
    chain: Option<ChainId>,
    #[serde(borrow)]
    entry: Option<&'a RawValue>,
    hash: Option<Hash>,
    head: Option<Hash>,
    seq: Option<u64>,
    size: Option<u64>,
}

impl<'a> Line<'a> {
    fn read(line: &'a [u8]) -> Option<Self> {
        match serde_json::from_slice(line).ok()? {
            Fields {
                entry: Some(entry),
                hash: Some(hash),
                bytes: None,
                chain: None,
                head: None,
                seq: None,
                size: None,
            } => Some(Self::Entry {
                bytes: entry.get().as_bytes(),
                hash,
            }),
            Fields {
                bytes: Some(bytes),
                chain: Some(chain),
                hash: Some(hash),
                seq: Some(seq),
                entry: None,
                head: None,
                size: None,
            } => Some(Self::Bytes {
                chain,
                seq,
                bytes: BASE64.decode(bytes.as_bytes()).ok()?,
                hash,
            }),
            Fields {
                chain: Some(chain),
                head: Some(hash),
                size: Some(size),
                bytes: None,
                entry: None,
                hash: None,
                seq: None,
            } => Some(Self::Head {
                chain,
                head: Head { size, hash },
            }),
            _ => None,
        }
    }
}

/// The chain that bytes name which are not an entry.
fn named_chain(bytes: &[u8]) -> Option<ChainId> {
    let value = json::parse(bytes)?;
    ChainId::new(value.get("chain").and_then(Value::as_str)?).ok()
}
