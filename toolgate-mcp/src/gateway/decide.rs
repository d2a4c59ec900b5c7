//! An operator answers a request; a yes makes the call at once.

use std::fmt;

use toolgate_core::approval::Approval;
use toolgate_core::approval::ApprovalId;
use toolgate_core::catalog::Tool;
use toolgate_core::id::OperatorName;
use toolgate_core::id::PrincipalId;
use toolgate_core::judge::judge;
use toolgate_core::policy::Policy;
use toolgate_core::unit::Decide;
use toolgate_core::unit::Outcome;
use toolgate_core::unit::Recheck;
use toolgate_core::verdict::Code;
use toolgate_core::verdict::Decision;
use toolgate_core::verdict::Reason;
use toolgate_core::verdict::Retry;
use toolgate_core::verdict::Verdict;

use super::Gate;
use super::operate::said;
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
        let reason = reason.map(|reason| said(&reason));
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
            let recheck = if approved {
                Some(self.recheck(&approval, policy_version, &policy).await?)
            } else {
                None
            };
            let leave = self.0.leaving.ticket(&principal);
            let decide = Decide {
                call: call.clone(),
                approval: id.clone(),
                approved,
                by: by.clone(),
                reason: reason.clone(),
                recheck,
                lease_ms: self.0.deadlines.lease_ms(),
            };
            let asked = self.0.ledger.decide(&principal, decide.clone()).await;
            let (moved, again) = match asked {
                Ok(moved) => (moved, false),
                Err(error) => {
                    self.append_failed(&error);
                    // It may have been persisted: the same decision, asked again, is the same one.
                    (self.0.ledger.decide(&principal, decide).await?, true)
                }
            };
            let of = |approval: Box<Approval>| Decided {
                principal: principal.clone(),
                approval: *approval,
            };
            match moved.outcome {
                Outcome::Claimed(approval) => {
                    let catalog = self.catalog();
                    let tool = catalog.find(approval.tool.as_str());
                    let output = tool.and_then(|tool| tool.output_schema());
                    let Some(cleared) = Cleared::action(&approval, call, &principal, leave) else {
                        let why = "the stored arguments cannot be read";
                        let ended = self.give_up(&principal, &approval, why).await;
                        return Ok(of(ended.map_or(approval, Box::new)));
                    };
                    let cleared = cleared.under(&policy, &approval.tool);
                    let done = self.act(cleared, &policy, output).await;
                    return Ok(of(done.map_or(approval, Box::new)));
                }
                Outcome::Decided(approval) => return Ok(of(approval)),
                Outcome::Conflict(approval) if again && is_by(&approval, by, approved) => {
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
        policy: &Policy,
    ) -> Result<Recheck, DecideError> {
        let catalog = self.catalog();
        let tool = catalog.find(approval.tool.as_str());
        let same = tool
            .filter(|tool| *tool.upstream() == approval.upstream && *tool.wire() == approval.wire);
        if same.is_none() && self.0.known.is_silent(&approval.upstream) {
            // Nobody knows whether the tool is gone or only its source.
            return Err(DecideError::Unavailable);
        }
        let verdict = match &approval.args {
            Some(args) => rejudge(policy, same.map(AsRef::as_ref), args),
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

/// What a policy says of stored arguments now. They are sent as they were shown, so a policy under
/// which they would be changed first refuses them.
fn rejudge(policy: &Policy, tool: Option<&Tool>, args: &str) -> Verdict {
    let judged = judge(policy, tool, args, &|_| None);
    let mut verdict = judged.verdict;
    let same = judged
        .arguments
        .is_some_and(|arguments| arguments.canonical() == args.as_bytes());
    if verdict.decision < Decision::Refuse && !same {
        let message = "the policy would change the arguments that were approved";
        let reason = Reason::new(Code::ArgumentsInvalid, message, Retry::Fixed);
        verdict.contribute(Decision::Refuse, reason);
    }
    verdict
}

/// Whether a request was answered just so, by that operator.
fn is_by(approval: &Approval, by: &OperatorName, approved: bool) -> bool {
    let answer = approval.answer.as_ref();
    answer.is_some_and(|answer| answer.by == *by && answer.approved == approved)
}
