//! An operator answers a request; a yes makes the call at once.

use std::fmt;

use toolgate_core::approval::Approval;
use toolgate_core::approval::ApprovalId;
use toolgate_core::id::OperatorName;
use toolgate_core::id::PrincipalId;
use toolgate_core::judge::judge;
use toolgate_core::unit::Decide;
use toolgate_core::unit::Outcome;
use toolgate_core::unit::Recheck;
use toolgate_core::verdict::Verdict;

use super::Gate;
use super::stage::Cleared;
use crate::ports::EntropyError;
use crate::store::LedgerExt as _;
use crate::store::Role;
use crate::store::StoreError;

/// What an answer came to.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "read by every adapter")]
pub struct Decided {
    /// The principal whose request it is.
    pub principal: PrincipalId,
    /// The request as it stands now.
    pub approval: Approval,
}

/// Why an answer was not taken.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "each has its own status")]
pub enum DecideError {
    /// It was decided before, or its window is over; this is how it stands.
    Conflict(Box<Decided>),
    /// There is no such request.
    Missing,
    /// This operator may not answer this request.
    NotApprover,
    /// What is decided on keeps changing.
    Stale,
    /// The store does not answer, or there is no entropy.
    Unavailable,
}

impl fmt::Display for DecideError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Conflict(_) => "the request is decided, or its window is over",
            Self::Missing => "there is no such request",
            Self::NotApprover => "this operator may not answer this request",
            Self::Stale => "the policy changed while the request was decided",
            Self::Unavailable => "the store does not answer",
        })
    }
}

impl std::error::Error for DecideError {}

impl From<StoreError> for DecideError {
    fn from(_: StoreError) -> Self {
        Self::Unavailable
    }
}

impl From<EntropyError> for DecideError {
    fn from(_: EntropyError) -> Self {
        Self::Unavailable
    }
}

impl Gate {
    /// Answers a request in the name of an authenticated operator. A yes re-checks kill switch,
    /// key, policy, arguments and definition, claims the request, makes the call on a task of its
    /// own and waits for its outcome.
    ///
    /// # Errors
    /// [`DecideError`]; a call that a yes started goes on whoever waits.
    pub async fn decide(
        &self,
        id: &ApprovalId,
        approved: bool,
        by: &OperatorName,
        reason: Option<String>,
    ) -> Result<Decided, DecideError> {
        let (gate, id, by) = (self.clone(), id.clone(), by.clone());
        let work = async move { gate.answer(&id, approved, &by, reason).await };
        self.on_its_own(work)
            .await
            .unwrap_or(Err(DecideError::Unavailable))
    }

    async fn answer(
        &self,
        id: &ApprovalId,
        approved: bool,
        by: &OperatorName,
        reason: Option<String>,
    ) -> Result<Decided, DecideError> {
        let directory = &self.0.directory;
        let principal = directory
            .principal_of_approval(id)
            .await?
            .ok_or(DecideError::Missing)?;
        let call = self.call_id()?;
        for _ in 0..2 {
            let found = self.0.ledger.approval(&principal, id).await?;
            let approval = found.ok_or(DecideError::Missing)?;
            let in_force = self.policy_in_force(&principal).await?;
            let (policy_version, policy) = in_force.ok_or(DecideError::Missing)?;
            let recheck = self.recheck(&approval, policy_version, &policy).await?;
            let decide = Decide {
                call: call.clone(),
                approval: id.clone(),
                approved,
                by: by.clone(),
                reason: reason.clone(),
                recheck: Some(recheck),
                lease_ms: self.0.deadlines.lease_ms(),
            };
            let moved = self
                .0
                .ledger
                .decide(&principal, decide)
                .await
                .inspect_err(|error| {
                    self.append_failed(error);
                })?;
            let of = |approval: Box<Approval>| Decided {
                principal: principal.clone(),
                approval: *approval,
            };
            match moved.outcome {
                Outcome::Claimed(approval) => {
                    let catalog = self.catalog();
                    let tool = catalog.find(approval.tool.as_str());
                    let hosts = policy.hosts(&approval.tool).cloned();
                    let output = tool.and_then(|tool| tool.output_schema());
                    let cleared = Cleared::action(&approval, call, &principal, hosts)
                        .ok_or(DecideError::Unavailable)?;
                    let done = self.act(cleared, &policy, output).await;
                    return Ok(done.map_or_else(
                        || of(approval),
                        |approval| Decided {
                            principal: principal.clone(),
                            approval,
                        },
                    ));
                }
                Outcome::Decided(approval) => {
                    self.0.watch.open(-1);
                    return Ok(of(approval));
                }
                Outcome::Conflict(approval) => {
                    return Err(DecideError::Conflict(Box::new(of(approval))));
                }
                Outcome::Missing => return Err(DecideError::Missing),
                Outcome::NotApprover => return Err(DecideError::NotApprover),
                Outcome::Stale => {}
                _ => return Err(DecideError::Unavailable),
            }
        }
        Err(DecideError::Stale)
    }

    /// What the policy in force says of the stored arguments now.
    async fn recheck(
        &self,
        approval: &Approval,
        policy_version: u64,
        policy: &toolgate_core::policy::Policy,
    ) -> Result<Recheck, DecideError> {
        let catalog = self.catalog();
        let tool = catalog.find(approval.tool.as_str());
        let same = tool
            .filter(|tool| *tool.upstream() == approval.upstream && *tool.wire() == approval.wire);
        let verdict = match &approval.args {
            Some(args) => judge(policy, same.map(AsRef::as_ref), args, &|_| None).verdict,
            None => Verdict::hidden(),
        };
        let operators = self.0.directory.operators().await?;
        let owners = operators
            .iter()
            .filter(|operator| operator.role == Role::Owner)
            .count();
        Ok(Recheck {
            policy_version,
            verdict,
            digest: same.map(|tool| tool.digest()),
            approvers: policy.approvers(),
            sole_operator: owners.saturating_add(self.0.unstored_owners) <= 1,
        })
    }
}
