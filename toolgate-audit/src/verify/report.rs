//! What a verification says.

use serde::Deserialize;
use serde::Serialize;

use crate::ChainId;
use crate::Hash;

/// What is wrong with a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ProblemKind {
    /// This row and those after it are missing at the end, going by the writer's head.
    Cut,
    /// This row is missing, perhaps with some after it, and later ones are there.
    Deleted,
    /// The bytes are not those that the stored hash was made of.
    Edited,
    /// The row agrees with its own hash, but it is not the one that the row after it, or the
    /// writer's head, has the hash of.
    Forged,
    /// A row too many: a second one for a number, one that nothing is chained to, or one beyond the
    /// writer's head.
    Inserted,
    /// The row says that its number is another one than it is stored under.
    Reordered,
    /// The bytes cannot be read as an entry.
    Torn,
}

/// A row that something is wrong with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(
    clippy::exhaustive_structs,
    reason = "a pair of plain data that tests match whole"
)]
pub struct Problem {
    /// The number under which the row is stored, or would be.
    pub seq: u64,
    /// What is wrong.
    pub kind: ProblemKind,
}

/// What the verification of one chain found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Report {
    /// Nothing is wrong with the rows that were seen.
    pub ok: bool,
    /// The end of the chain was held against a head.
    pub complete: bool,
    /// How many rows were seen.
    pub entries: u64,
    /// The chain.
    pub chain: ChainId,
    /// The number of the last row.
    pub size: u64,
    /// The hash of the last row that stood in its place; to be trusted if `ok`.
    pub head: Hash,
    /// What is wrong, by number; the first is the first bad row.
    pub problems: Vec<Problem>,
    /// How many problems are not named because there were too many.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_problems: u64,
}

/// What the verification of several chains found, as the admin API shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Summary {
    /// Nothing is wrong with any of the rows that were seen.
    pub ok: bool,
    /// The end of every chain was held against a head.
    pub complete: bool,
    /// How many rows were seen.
    pub entries: u64,
    /// The chains and their ends.
    pub chains: Vec<ChainHead>,
    /// What is wrong, chain by chain.
    pub problems: Vec<ChainProblem>,
    /// How many problems are not named because there were too many.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_problems: u64,
    /// How many lines of an export could be read as nothing and told to no chain.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unreadable: u64,
}

/// The end of a chain, in a [`Summary`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(
    clippy::exhaustive_structs,
    reason = "plain data that tests match whole"
)]
pub struct ChainHead {
    /// The chain.
    pub chain: ChainId,
    /// The number of its last row.
    pub size: u64,
    /// The hash of its last row.
    pub head: Hash,
}

/// A row that something is wrong with, in a [`Summary`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(
    clippy::exhaustive_structs,
    reason = "plain data that tests match whole"
)]
pub struct ChainProblem {
    /// The chain.
    pub chain: ChainId,
    /// The number under which the row is stored, or would be.
    pub seq: u64,
    /// What is wrong.
    pub kind: ProblemKind,
}

impl FromIterator<Report> for Summary {
    fn from_iter<I: IntoIterator<Item = Report>>(reports: I) -> Self {
        let mut summary = Self {
            ok: true,
            complete: true,
            entries: 0,
            chains: Vec::new(),
            problems: Vec::new(),
            more_problems: 0,
            unreadable: 0,
        };
        for report in reports {
            summary.ok &= report.ok;
            summary.complete &= report.complete;
            summary.entries = summary.entries.saturating_add(report.entries);
            summary.more_problems = summary.more_problems.saturating_add(report.more_problems);
            for problem in report.problems {
                summary.problems.push(ChainProblem {
                    chain: report.chain.clone(),
                    seq: problem.seq,
                    kind: problem.kind,
                });
            }
            summary.chains.push(ChainHead {
                chain: report.chain,
                size: report.size,
                head: report.head,
            });
        }
        summary
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes fields by reference"
)]
fn is_zero(count: &u64) -> bool {
    *count == 0
}
