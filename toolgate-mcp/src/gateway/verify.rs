//! Reads every chain back and checks it, a slice at a time.

use serde::Serialize;
use toolgate_audit::ChainId;
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
    let mut reports = Vec::new();
    for (chain, head) in ledger.chains().await? {
        let mut verifier = Verifier::new(chain.clone());
        let mut from = 0_u64;
        loop {
            let rows = ledger.slice(&chain, from, SLICE).await?;
            let Some(last) = rows.last() else { break };
            let next = last.seq.saturating_add(1);
            let short = rows.len() < SLICE;
            for row in &rows {
                // What is appended meanwhile belongs to the next verification.
                if row.seq <= head.size {
                    verifier.feed(StoredRow {
                        seq: row.seq,
                        bytes: &row.bytes,
                        hash: row.hash,
                    });
                }
            }
            if short || next > head.size.saturating_add(1) {
                break;
            }
            from = next;
        }
        if let Some(row) = beyond(ledger, &chain).await? {
            verifier.feed(StoredRow {
                seq: row.seq,
                bytes: &row.bytes,
                hash: row.hash,
            });
        }
        reports.push(verifier.finish(Some(&head)));
    }
    Ok(Verification {
        ok: reports.iter().all(|report| report.ok),
        complete: reports.iter().all(|report| report.complete),
        entries: reports.iter().map(|report| report.entries).sum(),
        reports,
    })
}

/// A row that no writer appended: stored beyond the head, however often the head is read.
async fn beyond(ledger: &dyn Ledger, chain: &ChainId) -> Result<Option<Filed>, StoreError> {
    let size = |chains: Vec<(ChainId, toolgate_audit::Head)>| {
        chains
            .into_iter()
            .find(|(id, _)| id == chain)
            .map_or(0, |(_, head)| head.size)
    };
    let from = size(ledger.chains().await?).saturating_add(1);
    let row = ledger.slice(chain, from, 1).await?.into_iter().next();
    let now = size(ledger.chains().await?);
    Ok(row.filter(|row| row.seq > now))
}
