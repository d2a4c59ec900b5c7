//! `approval_outcome`: how an agent asks after its requests, and gets what they came to.

use std::time::Duration;

use serde_json::Value;
use serde_json::json;
use toolgate_core::approval::Approval;
use toolgate_core::approval::ApprovalId;
use toolgate_core::approval::Status;
use toolgate_core::classify;
use toolgate_core::classify::Mode;
use toolgate_core::id::CallId;
use toolgate_core::id::PrincipalId;
use toolgate_core::json::parse_strict;
use toolgate_core::unit::Admit;
use toolgate_core::unit::Collect;
use toolgate_core::unit::Outcome;
use toolgate_core::unit::Poll;
use toolgate_core::verdict::Code;
use toolgate_core::verdict::Decision;
use toolgate_core::verdict::Reason;
use toolgate_core::verdict::Retry;
use toolgate_core::verdict::Verdict;

use super::Caller;
use super::Gate;
use super::answer::Reply;
use super::call::overall;
use super::quote::quotable;
use super::stage::Filtered;
use super::stage::Wishes;
use crate::store::LedgerExt as _;
use crate::store::Moved;
use crate::store::StoreError;

/// The tool that answers what became of a request.
pub const OUTCOME_TOOL: &str = "approval_outcome";

/// How long the gate pauses between looks at a call that is being made, at first and at most.
const PAUSE: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(250));

/// The definition of [`OUTCOME_TOOL`] as agents see it.
pub(super) fn definition() -> Value {
    json!({
        "name": OUTCOME_TOOL,
        "title": "Outcome of a request",
        "description": "What became of a call that waits for a person. Answers at once: with the \
                        result if the call was approved and made, else with where the request \
                        stands.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "id": {
                    "type": "string",
                    "description": "The id that the pending call was answered with, ap_…",
                    "maxLength": 64,
                },
            },
            "required": ["id"],
            "additionalProperties": false,
        },
        "annotations": classify::declare(Mode::Observation, false, true, false),
    })
}

impl Gate {
    pub(super) async fn outcome_tool(
        &self,
        caller: &Caller,
        call: &CallId,
        arguments: &str,
    ) -> Reply {
        let id = match read(arguments) {
            Ok(id) => id,
            Err(reason) => return self.refuse_unread(caller, call, quotable(*reason)).await,
        };
        match self.poll(caller, &id, true).await {
            Ok(Some(approval)) => self.settled(caller, call, &approval).await,
            Ok(None) => Reply::no_such_request(),
            Err(reply) => reply,
        }
    }

    /// Refuses a call whose arguments name no request. The unit is asked all the same: key and kill
    /// switch come first, and the refusal is written down.
    async fn refuse_unread(&self, caller: &Caller, call: &CallId, reason: Reason) -> Reply {
        for _ in 0..2 {
            let in_force = self.policy_in_force(caller.principal()).await;
            let (policy_version, policy) = match in_force {
                Ok(Some(found)) => found,
                Ok(None) => return Reply::Unauthorised,
                Err(error) => return self.append_failed(&error),
            };
            let verdict = Verdict {
                decision: Decision::Refuse,
                reasons: vec![reason.clone()],
                ..Verdict::default()
            };
            let admit = Admit {
                call: call.clone(),
                key: caller.key().cloned(),
                tool: OUTCOME_TOOL.parse().ok(),
                asked: OUTCOME_TOOL.to_owned(),
                verdict,
                policy_version,
                limits: overall(&policy),
                subject: None,
                redacted: None,
                seal: None,
                new_request: false,
                lease_ms: 0,
            };
            match self.admit(caller, &admit).await.map(|moved| moved.outcome) {
                Ok(Outcome::Refused(reason)) => return Reply::refused(&reason),
                Ok(Outcome::Stale) => {}
                Ok(_) => return Reply::Unauthorised,
                Err(error) => return self.append_failed(&error),
            }
        }
        Reply::refused(&reason)
    }

    async fn poll(
        &self,
        caller: &Caller,
        approval: &ApprovalId,
        counted: bool,
    ) -> Result<Option<Approval>, Reply> {
        for _ in 0..2 {
            let in_force = self.policy_in_force(caller.principal()).await;
            let Some((policy_version, policy)) = in_force.map_err(|e| self.append_failed(&e))?
            else {
                return Err(Reply::Unauthorised);
            };
            let poll = Poll {
                key: caller.key().cloned(),
                approval: approval.clone(),
                policy_version,
                limits: overall(&policy),
                counted,
            };
            let moved = self.0.ledger.poll(caller.principal(), poll).await;
            match moved.map_err(|e| self.append_failed(&e))?.outcome {
                Outcome::Held(approval) => return Ok(Some(*approval)),
                Outcome::Missing => return Ok(None),
                Outcome::Refused(reason) => return Err(Reply::refused(&reason)),
                Outcome::Stale => {}
                _ => return Err(Reply::Unauthorised),
            }
        }
        let message = "the policy changed while this was answered; ask again";
        Err(Reply::refused(&Reason::new(
            Code::Stale,
            message,
            Retry::After,
        )))
    }

    /// Waits until a call that is being made has ended, or the caller has waited long enough.
    pub(super) async fn wait_for(&self, caller: &Caller, approval: Approval) -> Approval {
        let began = self.0.timer.elapsed();
        let mut approval = approval;
        let mut pause = PAUSE.0;
        while approval.status == Status::Applying
            && self.0.timer.elapsed().saturating_sub(began) < self.0.deadlines.wait
        {
            self.0.timer.sleep(pause).await;
            pause = (pause * 2).min(PAUSE.1);
            match self.poll(caller, &approval.id, false).await {
                Ok(Some(now)) => approval = now,
                Ok(None) | Err(_) => break,
            }
        }
        approval
    }

    /// Hands the stored result of an applied request over: filtered again, recorded, disclosed.
    pub(super) async fn hand_over(
        &self,
        caller: &Caller,
        call: &CallId,
        approval: &Approval,
    ) -> Reply {
        // The policy may change once meanwhile; twice is for another time.
        for _ in 0..2 {
            if let Some(reply) = self.try_hand_over(caller, call, approval).await {
                return reply;
            }
        }
        Reply::kept(approval)
    }

    /// `None` if the policy changed meanwhile.
    async fn try_hand_over(
        &self,
        caller: &Caller,
        call: &CallId,
        approval: &Approval,
    ) -> Option<Reply> {
        let principal = caller.principal();
        let kept = |error: &StoreError| {
            self.append_failed(error);
            Reply::kept(approval)
        };
        let (policy_version, policy) = match self.policy_in_force(principal).await {
            Ok(Some(in_force)) => in_force,
            Ok(None) => return Some(Reply::Unauthorised),
            Err(error) => return Some(kept(&error)),
        };
        let catalog = self.catalog();
        let tool = catalog.find(approval.tool.as_str());
        let still_has = match tool {
            Some(tool) => policy.grants(tool),
            None => policy.names(&approval.tool, &approval.upstream, &approval.wire),
        };
        if !still_has {
            let message =
                "the tool is not in your policy any more, so its result is not handed over";
            let reason = Reason::new(Code::Hidden, message, Retry::Never);
            return Some(Reply::withheld(approval, &reason));
        }
        let Some(stored) = &approval.result else {
            return Some(Reply::standing(approval));
        };
        let output = tool.and_then(|tool| tool.output_schema());
        let filtered = Filtered::again(stored, Wishes::of(&policy), output);
        let collect = Collect {
            call: call.clone(),
            key: caller.key().cloned(),
            approval: approval.id.clone(),
            policy_version,
            ending: filtered.ending.clone(),
        };
        let moved = match self.collect(principal, collect).await {
            Ok(moved) => moved,
            Err(error) => return Some(kept(&error)),
        };
        match moved.outcome {
            Outcome::Unauthorised => return Some(Reply::Unauthorised),
            Outcome::Stale => return None,
            _ => {}
        }
        let replayed = approval.handed_over_at.is_some();
        Some(match filtered.recorded(&moved) {
            Ok(recorded) => self.disclose(recorded, policy.fence(), Some((approval, replayed))),
            Err(Some(reason)) => Reply::refused(&reason),
            Err(None) => Reply::kept(approval),
        })
    }

    /// Asks the unit. An answer that was lost may have been persisted: handing over to the same
    /// call again is handing over once.
    async fn collect(
        &self,
        principal: &PrincipalId,
        collect: Collect,
    ) -> Result<Moved, StoreError> {
        match self.0.ledger.collect(principal, collect.clone()).await {
            Ok(moved) => Ok(moved),
            Err(error) => {
                self.append_failed(&error);
                self.0.ledger.collect(principal, collect).await
            }
        }
    }
}

fn read(arguments: &str) -> Result<ApprovalId, Box<Reason>> {
    let text = if arguments.trim().is_empty() {
        "{}"
    } else {
        arguments
    };
    let value = parse_strict(text).map_err(|error| {
        let message = "the arguments are not strict JSON";
        Box::new(Reason::new(Code::ArgumentsMalformed, message, Retry::Fixed).at(error.path))
    })?;
    let members = value.as_object().ok_or_else(|| {
        Box::new(Reason::new(
            Code::ArgumentsMalformed,
            "the arguments are not an object",
            Retry::Fixed,
        ))
    })?;
    let only = members.len() == 1;
    let id = members.get("id").and_then(Value::as_str).filter(|_| only);
    id.and_then(ApprovalId::parse).ok_or_else(|| {
        let message = "the one argument is `id`, the id that the pending call was answered with";
        Box::new(Reason::new(Code::ArgumentsInvalid, message, Retry::Fixed).at("/id"))
    })
}
