//! Reads every chain back and checks it, a slice at a time.

use std::collections::BTreeMap;

use serde::Serialize;
use toolgate_audit::ChainId;
use toolgate_audit::Head;
use toolgate_audit::Report;
use toolgate_audit::StoredRow;
use toolgate_audit::Verifier;

use super::Gate;
use crate::store::Filed;
use crate::store::Ledger;
use crate::store::StoreError;

/// Entries read at once.
const SLICE: usize = 1_000;

/// What a verification of every chain found.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Verification {
    /// Whether no chain has a problem.
    pub ok: bool,
    /// Whether every chain was read to its end.
    pub complete: bool,
    /// How many entries were read.
    pub entries: u64,
    /// What was found of each chain.
    pub reports: Vec<Report>,
}

impl Gate {
    /// Verifies every chain against the head that its writer keeps; memory stays constant.
    ///
    /// # Errors
    /// [`StoreError`] if the entries cannot be read.
    pub async fn verify(&self) -> Result<Verification, StoreError> {
        verify(self.0.ledger.as_ref()).await
    }
}

/// Verifies every chain of a store.
///
/// # Errors
/// [`StoreError`] if the entries cannot be read.
pub async fn verify(ledger: &dyn Ledger) -> Result<Verification, StoreError> {
    let mut read = Vec::new();
    for (chain, head) in ledger.chains().await? {
        let mut verifier = Verifier::new(chain.clone());
        let mut from = 0_u64;
        loop {
            let rows = ledger.slice(&chain, from, SLICE).await?;
            let Some(last) = rows.last() else { break };
            let next = last.seq.saturating_add(1);
            let short = rows.len() < SLICE;
            // What is appended meanwhile belongs to the next verification.
            for row in rows.iter().filter(|row| row.seq <= head.size) {
                verifier.feed(stored(row));
            }
            if short || next > head.size {
                break;
            }
            from = next;
        }
        read.push((chain, head, verifier));
    }
    let beyond = beyond(ledger).await?;
    let finish = |(chain, head, mut verifier): (ChainId, Head, Verifier)| {
        if let Some(row) = beyond.get(&chain) {
            verifier.feed(stored(row));
        }
        verifier.finish(Some(&head))
    };
    let reports: Vec<Report> = read.into_iter().map(finish).collect();
    Ok(Verification {
        ok: reports.iter().all(|report| report.ok),
        complete: reports.iter().all(|report| report.complete),
        entries: reports.iter().map(|report| report.entries).sum(),
        reports,
    })
}

fn stored(row: &Filed) -> StoredRow<'_> {
    StoredRow {
        seq: row.seq,
        bytes: &row.bytes,
        hash: row.hash,
    }
}

/// Rows that no writer appended: stored beyond the heads, however often those are read.
async fn beyond(ledger: &dyn Ledger) -> Result<BTreeMap<ChainId, Filed>, StoreError> {
    let mut found = BTreeMap::new();
    for (chain, head) in ledger.chains().await? {
        let row = ledger.slice(&chain, head.size.saturating_add(1), 1).await?;
        if let Some(row) = row.into_iter().next() {
            found.insert(chain, row);
        }
    }
    if !found.is_empty() {
        let now: BTreeMap<ChainId, Head> = ledger.chains().await?.into_iter().collect();
        found.retain(|chain, row| now.get(chain).is_none_or(|head| row.seq > head.size));
    }
    Ok(found)
}
