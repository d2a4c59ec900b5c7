//! Makes a cleared call, on a task that ends with the call and not with the connection.

use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::sync::PoisonError;
use std::task::Poll;
use std::time::Duration;

use futures_channel::oneshot;
use futures_util::FutureExt as _;
use futures_util::future::Either;
use futures_util::future::select;
use serde_json::Value;
use serde_json::json;
use toolgate_core::approval::Approval;
use toolgate_core::approval::MOST_RESULT;
use toolgate_core::approval::Status;
use toolgate_core::approval::StoredResult;
use toolgate_core::id::PrincipalId;
use toolgate_core::policy::Policy;
use toolgate_core::unit::Ending;
use toolgate_core::unit::Outcome;
use toolgate_core::unit::Record;
use toolgate_core::unit::Settle;
use toolgate_core::verdict::Code;

use super::Gate;
use super::answer::Reply;
use super::leaving::Ticket;
use super::stage::Cleared;
use super::stage::Filtered;
use super::stage::Ran;
use super::stage::Shown;
use super::stage::Wishes;
use crate::ports::Counted;
use crate::store::LedgerExt as _;
use crate::store::StoreError;
use crate::upstream::Dispatched;
use crate::upstream::ToolCall;
use crate::upstream::Upstream;
use crate::upstream::UpstreamError;
use crate::upstream::bounds::within_bounds;

/// How often a settling is tried; between tries the gate waits a little longer each time.
const SETTLE_TRIES: u32 = 6;

impl Gate {
    /// Runs `work` to its end on its own task, and waits for its answer.
    pub(super) async fn on_its_own<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let (tell, told) = oneshot::channel();
        self.0.spawn.spawn(Box::pin(work.map(|done| {
            // Nobody may be waiting any more; the outcome is stored all the same.
            let _ = tell.send(done);
        })));
        told.await.ok()
    }

    /// Makes an admitted observation: run, filter, record, disclose.
    pub(super) async fn observe(
        &self,
        cleared: Cleared,
        policy: &Policy,
        output: Option<&Value>,
        began: Duration,
    ) -> Reply {
        let principal = cleared.call.principal.clone();
        let call = cleared.call.call.clone();
        let ran = self.make(cleared).await;
        let tool_ms = ran.took_ms;
        let filtered = Filtered::of(ran, Wishes::of(policy), output);
        let ok = filtered.ending.outcome == "ok";
        let record = Record {
            call,
            ending: filtered.ending.clone(),
        };
        let unavailable = Counted::Refused(Code::Unavailable);
        let (reply, counted) = match self.0.ledger.record(&principal, record).await {
            Ok(moved) => match filtered.recorded(&moved) {
                Ok(recorded) => {
                    let counted = if ok {
                        Counted::Answered
                    } else {
                        Counted::Failed
                    };
                    (self.disclose(recorded, policy.fence(), None), counted)
                }
                Err(Some(reason)) => (Reply::refused(&reason), Counted::Refused(reason.code)),
                Err(None) => (Reply::unavailable(), unavailable),
            },
            Err(error) => (self.append_failed(&error), unavailable),
        };
        self.count(counted, began, tool_ms);
        reply
    }

    /// Makes a claimed action, and stores its outcome. Nothing if the outcome could not be stored:
    /// then the claim lapses, and the request becomes unknown.
    pub(super) async fn act(
        &self,
        cleared: Cleared,
        policy: &Policy,
        output: Option<&Value>,
    ) -> Option<Approval> {
        let principal = cleared.call.principal.clone();
        let (approval, fence) = cleared.claim.clone()?;
        let ran = self.make(cleared).await;
        let filtered = Filtered::of(ran, Wishes::of(policy), output);
        let (result, not_made, message) = match filtered.shown {
            Shown::Result(value) => (Some(stored(value)), false, None),
            Shown::Withheld(notice) => (Some(withheld(&notice)), false, None),
            Shown::Nothing(none) => (None, none.dispatched == Dispatched::No, Some(none.why)),
        };
        let settle = Settle {
            approval,
            fence,
            result,
            not_made,
            message,
            ending: filtered.ending,
        };
        self.settle(&principal, settle).await
    }

    /// Ends a claim whose call is not made after all.
    pub(super) async fn give_up(
        &self,
        principal: &PrincipalId,
        approval: &Approval,
        why: &str,
    ) -> Option<Approval> {
        let settle = Settle {
            approval: approval.id.clone(),
            fence: approval.claim.as_ref()?.fence,
            result: None,
            not_made: true,
            message: Some(why.to_owned()),
            ending: Ending {
                outcome: "no_result".to_owned(),
                ..Ending::default()
            },
        };
        self.settle(principal, settle).await
    }

    async fn settle(&self, principal: &PrincipalId, settle: Settle) -> Option<Approval> {
        for attempt in 0..SETTLE_TRIES {
            match self.0.ledger.settle(principal, settle.clone()).await {
                Ok(moved) => {
                    let (Outcome::Settled(approval) | Outcome::Late(approval)) = moved.outcome
                    else {
                        return None;
                    };
                    if approval.status == Status::Unknown {
                        self.0.watch.unknown();
                    }
                    return Some(*approval);
                }
                Err(error) => {
                    self.append_failed(&error);
                    self.0
                        .timer
                        .sleep(Duration::from_millis(50 << attempt))
                        .await;
                }
            }
        }
        None
    }

    /// Makes the call, within its deadline, unless its principal was switched off meanwhile.
    async fn make(&self, cleared: Cleared) -> Ran {
        let began = self.0.timer.elapsed();
        let found = cleared.call.found();
        let answer = match self.0.upstreams.get(&cleared.upstream) {
            None => Err(UpstreamError::not_made("the tool's source is gone")),
            Some(upstream) => match self.0.ledger.head(&cleared.call.principal).await {
                Ok(Some(head)) if head.killed.is_none() => {
                    let acts = cleared.claim.is_some();
                    let sent = self.send(upstream.as_ref(), cleared.call, cleared.leave);
                    within_bounds(sent.await, acts)
                }
                Ok(_) => Err(UpstreamError::not_made("the agent was switched off")),
                Err(_) => Err(UpstreamError::not_made("the store does not answer")),
            },
        };
        let took = self.0.timer.elapsed().saturating_sub(began);
        let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
        Ran {
            answer,
            found: std::mem::take(&mut found),
            took_ms: i64::try_from(took.as_millis()).unwrap_or(i64::MAX),
        }
    }

    /// Hands the call to its source. It has left once the source was first given the chance to go
    /// on with it.
    async fn send(
        &self,
        upstream: &dyn Upstream,
        call: ToolCall,
        leave: Ticket,
    ) -> Result<Value, UpstreamError> {
        // A source that panics may have made the call.
        let mut call = AssertUnwindSafe(upstream.call(call)).catch_unwind();
        let first = poll_fn(|context| Poll::Ready(call.poll_unpin(context))).await;
        drop(leave);
        let answered = match first {
            Poll::Ready(answered) => Some(answered),
            Poll::Pending => {
                let deadline = self.0.timer.sleep(self.0.deadlines.call);
                match select(call, deadline).await {
                    Either::Left((answered, _)) => Some(answered),
                    Either::Right(_) => None,
                }
            }
        };
        match answered {
            Some(Ok(answer)) => answer,
            Some(Err(_)) => Err(UpstreamError::unknown("the tool broke off")),
            None => Err(UpstreamError::unknown("the tool did not answer in time")),
        }
    }

    /// The answer to a move that the store did not make.
    pub(super) fn append_failed(&self, error: &StoreError) -> Reply {
        tracing::error!(kind = ?error.kind(), "a move was not made");
        self.0.watch.append_failed();
        Reply::unavailable()
    }

    pub(super) fn count(&self, outcome: Counted, began: Duration, tool_ms: i64) {
        let whole = self.0.timer.elapsed().saturating_sub(began);
        let tool = Duration::from_millis(tool_ms.unsigned_abs());
        self.0.watch.call(outcome, whole.saturating_sub(tool));
    }
}

fn stored(value: Value) -> StoredResult {
    let is_error = value.get("isError").and_then(Value::as_bool) == Some(true);
    let size = value.to_string().len();
    if size <= MOST_RESULT {
        return StoredResult { value, is_error };
    }
    let text = format!(
        "the call was made; its result of {size} bytes is larger than what is kept, so it is \
         not shown"
    );
    let value = json!({"content": [{"type": "text", "text": text}], "isError": is_error});
    StoredResult { value, is_error }
}

fn withheld(notice: &str) -> StoredResult {
    let value = json!({"content": [{"type": "text", "text": notice}], "isError": true});
    StoredResult {
        value,
        is_error: true,
    }
}
