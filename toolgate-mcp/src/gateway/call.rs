//! One call, from what was received to the reply.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use toolgate_audit::commitment;
use toolgate_core::approval::Approval;
use toolgate_core::approval::RequestKey;
use toolgate_core::approval::Status;
use toolgate_core::catalog::Tool;
use toolgate_core::id::CallId;
use toolgate_core::judge::Arguments;
use toolgate_core::judge::Judged;
use toolgate_core::judge::judge;
use toolgate_core::policy::Limits;
use toolgate_core::policy::Policy;
use toolgate_core::unit::Admit;
use toolgate_core::unit::Outcome;
use toolgate_core::unit::Seal;
use toolgate_core::unit::Subject;
use toolgate_core::verdict::Code;
use toolgate_core::verdict::Reason;
use toolgate_core::verdict::Retry;
use toolgate_filter::Settings;

use super::Caller;
use super::Gate;
use super::OUTCOME_TOOL;
use super::answer::Reply;
use super::leaving::Ticket;
use super::quote::quotable;
use super::stage::Cleared;
use crate::ports::Counted;
use crate::ports::EntropyError;
use crate::store::LedgerExt as _;
use crate::store::Moved;
use crate::store::StoreError;

/// The longest part of an asked name that is written down, in characters.
const MOST_ASKED: usize = 64;

/// A call as it was received.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[expect(clippy::exhaustive_structs, reason = "filled by every wire")]
pub struct CallRequest {
    /// The tool's shown name.
    pub name: String,
    /// The JSON text of its arguments; empty if there are none.
    pub arguments: String,
    /// Whether the agent insists on a new request although an earlier one would answer.
    pub new_request: bool,
    /// The run of agent code that makes the call, so that running it again finds its requests.
    pub execution: Option<String>,
    /// The how-manieth identical call of that run.
    pub occurrence: u32,
}

/// What was worked out of a received call before its unit is asked.
struct Judgement {
    tool: Option<Arc<Tool>>,
    policy: Arc<Policy>,
    judged: Judged,
    admit: Admit,
    leave: Ticket,
}

impl Gate {
    /// Takes a call through the gate, on a task of its own: whoever stops waiting for the reply
    /// loses the reply, never the outcome.
    pub async fn call(&self, caller: &Caller, request: &CallRequest) -> Reply {
        let (gate, caller, request) = (self.clone(), caller.clone(), request.clone());
        let work = async move { gate.take(&caller, &request).await };
        self.on_its_own(work)
            .await
            .unwrap_or_else(Reply::unavailable)
    }

    async fn take(&self, caller: &Caller, request: &CallRequest) -> Reply {
        let Ok(call) = self.call_id() else {
            return Reply::unavailable();
        };
        let reply = if request.name == OUTCOME_TOOL {
            self.outcome_tool(caller, &call, &request.arguments).await
        } else {
            self.decide_call(caller, &call, request).await
        };
        tracing::info!(
            call = call.as_str(),
            principal = caller.principal().as_str(),
            answer = reply.word(),
            "a call was answered"
        );
        reply
    }

    async fn decide_call(&self, caller: &Caller, call: &CallId, request: &CallRequest) -> Reply {
        let began = self.0.timer.elapsed();
        // What is decided on may change once while it is decided; twice is a refusal.
        for _ in 0..2 {
            let judgement = match self.judge(caller, request, call).await {
                Ok(Some(judgement)) => judgement,
                Ok(None) => return Reply::Unauthorised,
                Err(reply) => return reply,
            };
            let asked = self.0.timer.elapsed();
            match self.admit(caller, &judgement.admit).await {
                Ok(moved) if moved.outcome == Outcome::Stale => {}
                Ok(moved) => {
                    self.0
                        .watch
                        .append(self.0.timer.elapsed().saturating_sub(asked));
                    return self.admitted(caller, call, judgement, moved, began).await;
                }
                Err(error) => {
                    self.count(Counted::Refused(Code::Unavailable), began, 0);
                    return self.append_failed(&error);
                }
            }
        }
        self.count(Counted::Refused(Code::Stale), began, 0);
        let message = "the policy changed while the call was decided; call again";
        Reply::refused(&Reason::new(Code::Stale, message, Retry::After))
    }

    /// Asks the unit. An answer that was lost may have been persisted: the same call, asked again,
    /// is the same call.
    pub(super) async fn admit(&self, caller: &Caller, admit: &Admit) -> Result<Moved, StoreError> {
        let ledger = &self.0.ledger;
        match ledger.admit(caller.principal(), admit.clone()).await {
            Ok(moved) => Ok(moved),
            Err(error) => {
                self.append_failed(&error);
                ledger.admit(caller.principal(), admit.clone()).await
            }
        }
    }

    /// Writes down whose request this is, before its id is handed out.
    async fn remember(&self, caller: &Caller, approval: &Approval) -> Result<(), StoreError> {
        let directory = &self.0.directory;
        let known = directory.principal_of_approval(&approval.id).await;
        if known.is_ok_and(|known| known.is_some()) {
            return Ok(());
        }
        directory
            .remember_approval(&approval.id, caller.principal())
            .await
    }

    /// Works out everything that needs no unit: `None` if there is no such principal.
    async fn judge(
        &self,
        caller: &Caller,
        request: &CallRequest,
        call: &CallId,
    ) -> Result<Option<Judgement>, Reply> {
        let principal = caller.principal();
        let leave = self.0.leaving.ticket(principal);
        let in_force = self.policy_in_force(principal).await;
        let Some((policy_version, policy)) = in_force.map_err(|e| self.append_failed(&e))? else {
            return Ok(None);
        };
        let catalog = self.catalog();
        let tool = catalog.find(&request.name).cloned();
        let mut judged = judge(
            &policy,
            tool.as_deref(),
            &request.arguments,
            &toolgate_filter::marker::find,
        );
        // A place is named by the caller's own words, and what is expected by an author's; both are
        // written down.
        let reasons = std::mem::take(&mut judged.verdict.reasons);
        judged.verdict.reasons = reasons.into_iter().map(quotable).collect();
        let tool = tool.filter(|tool| policy.grants(tool));
        let limits = tool
            .as_ref()
            .map_or_else(|| overall(&policy), |tool| policy.limits(tool.shown()));
        let arguments = judged.arguments.as_ref();
        let sealed = arguments.map(|arguments| self.seal(arguments)).transpose();
        let seal = sealed.map_err(|_| Reply::unavailable())?;
        let subject = tool
            .as_ref()
            .zip(arguments)
            .map(|(tool, arguments)| Subject {
                upstream: tool.upstream().clone(),
                wire: tool.wire().clone(),
                digest: tool.digest(),
                request: RequestKey::new(
                    principal,
                    tool.upstream(),
                    tool.wire(),
                    &tool.digest(),
                    arguments.canonical(),
                    request.execution.as_deref(),
                    request.occurrence,
                ),
                args: String::from_utf8_lossy(arguments.canonical()).into_owned(),
                replay_ms: policy.replay_ms(tool.shown()),
            });
        let admit = Admit {
            call: call.clone(),
            key: caller.key().cloned(),
            tool: tool.as_ref().map(|tool| tool.shown().clone()),
            asked: asked_name(&request.name),
            verdict: judged.verdict.clone(),
            policy_version,
            limits,
            subject,
            redacted: arguments.map(redacted),
            seal,
            new_request: request.new_request,
            lease_ms: self.0.deadlines.lease_ms(),
        };
        Ok(Some(Judgement {
            tool,
            policy,
            judged,
            admit,
            leave,
        }))
    }

    /// Goes on from the unit's answer.
    async fn admitted(
        &self,
        caller: &Caller,
        call: &CallId,
        judgement: Judgement,
        moved: Moved,
        began: Duration,
    ) -> Reply {
        let principal = caller.principal();
        let Judgement {
            tool,
            policy,
            judged,
            leave,
            ..
        } = judgement;
        let output = tool.as_ref().and_then(|tool| tool.output_schema());
        match &moved.outcome {
            Outcome::Admitted => {
                let (Some(tool), Some(arguments)) = (&tool, judged.arguments) else {
                    return Reply::unavailable();
                };
                let arguments = arguments.value().clone();
                let cleared = Cleared::observation(
                    &moved,
                    call.clone(),
                    principal,
                    tool.upstream(),
                    (tool.wire(), arguments),
                    leave,
                );
                match cleared {
                    Some(cleared) => {
                        let cleared = cleared.under(&policy, tool.shown());
                        self.observe(cleared, &policy, output, began).await
                    }
                    None => Reply::unavailable(),
                }
            }
            Outcome::Claimed(approval) => {
                let remembered = self.remember(caller, approval).await;
                let cleared = remembered
                    .ok()
                    .and_then(|()| Cleared::action(approval, call.clone(), principal, leave))
                    .map(|cleared| cleared.under(&policy, &approval.tool));
                let Some(cleared) = cleared else {
                    let why = "the gate could not write down whose request it is";
                    let ended = self.give_up(principal, approval, why).await;
                    return ended
                        .as_ref()
                        .map_or_else(Reply::unavailable, Reply::standing);
                };
                self.count(Counted::Answered, began, 0);
                match self.act(cleared, &policy, output).await {
                    Some(settled) => self.settled(caller, call, &settled).await,
                    None => Reply::standing(approval),
                }
            }
            Outcome::Queued(approval) => {
                if let Err(error) = self.remember(caller, approval).await {
                    return self.append_failed(&error);
                }
                self.count(Counted::Pending, began, 0);
                Reply::standing(approval)
            }
            Outcome::Held(approval) => {
                drop(leave);
                if let Err(error) = self.remember(caller, approval).await {
                    return self.append_failed(&error);
                }
                self.count(Counted::Pending, began, 0);
                self.held(caller, call, approval).await
            }
            Outcome::Refused(reason) => {
                let hidden = reason.code == Code::Hidden;
                let counted = if hidden {
                    Counted::Hidden
                } else {
                    Counted::Refused(reason.code)
                };
                self.count(counted, began, 0);
                Reply::refused(reason)
            }
            Outcome::Unauthorised => {
                self.count(Counted::Unauthorised, began, 0);
                Reply::Unauthorised
            }
            Outcome::Missing => Reply::Unauthorised,
            _ => Reply::unavailable(),
        }
    }

    /// An earlier request answers: its result, or where it stands. A call that is being made is
    /// waited for, a person never.
    async fn held(&self, caller: &Caller, call: &CallId, approval: &Approval) -> Reply {
        let mut approval = approval.clone();
        if approval.status == Status::Applying {
            approval = self.wait_for(caller, approval).await;
        }
        self.settled(caller, call, &approval).await
    }

    /// The reply to a request that is settled, or stands otherwise.
    pub(super) async fn settled(
        &self,
        caller: &Caller,
        call: &CallId,
        approval: &Approval,
    ) -> Reply {
        if approval.status == Status::Applied {
            return self.hand_over(caller, call, approval).await;
        }
        Reply::standing(approval)
    }

    fn seal(&self, arguments: &Arguments) -> Result<Seal, EntropyError> {
        let salt = commitment::Salt::from_bytes(self.entropy::<32>()?);
        Ok(Seal {
            commitment: commitment::commit(&salt, arguments.canonical()),
            salt: data_encoding::HEXLOWER.encode(salt.as_bytes()),
        })
    }
}

/// The limits of a policy for a call of no tool.
pub(super) fn overall(policy: &Policy) -> Limits {
    OUTCOME_TOOL.parse().map_or(
        Limits {
            per_minute: 0,
            per_day: 0,
            tool_per_minute: None,
        },
        |name| Limits {
            tool_per_minute: None,
            ..policy.limits(&name)
        },
    )
}

/// The arguments as the audit and the lists show them.
fn redacted(arguments: &Arguments) -> Value {
    let value = Value::Object(arguments.value().clone());
    toolgate_filter::clean_value(value, &Settings::strict()).value
}

/// The asked name as the audit shows it: cleaned, then cut.
fn asked_name(name: &str) -> String {
    let start: String = name.chars().take(MOST_ASKED * 4).collect();
    let clean = toolgate_filter::clean_text(&start, &Settings::strict()).value;
    clean.chars().take(MOST_ASKED).collect()
}
