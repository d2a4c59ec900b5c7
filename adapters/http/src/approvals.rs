//! Requests that wait for a person.

use http::StatusCode;
use serde_json::Value;
use serde_json::json;
use toolgate_core::approval::Approval;
use toolgate_core::approval::ApprovalId;
use toolgate_core::approval::Status;
use toolgate_core::id::PrincipalId;
use toolgate_mcp::gateway::DecideError;
use toolgate_mcp::gateway::Decided;
use toolgate_mcp::store::ApprovalQuery;

use crate::answer::Done;
use crate::answer::Problem;
use crate::body::Fields;
use crate::body::Query;
use crate::enter::Ctx;
use crate::principals;
use crate::prompt::Prompt;
use crate::prompt::prompt;

/// How many requests a list holds if it does not say, and at most.
const LIST: (u64, u64) = (100, 500);

/// Closes what is overdue, so that it is read as it stands now. What cannot be closed right now
/// only looks closed, by [`standing`].
pub(crate) async fn close_overdue(ctx: &Ctx<'_>) {
    if ctx.app.gate.sweep().await.is_err() {
        tracing::warn!("what is overdue cannot be closed");
    }
}

/// Where a request stands: nobody can answer one any more whose window is over.
pub(crate) fn standing(ctx: &Ctx<'_>, approval: &Approval) -> Status {
    let over = !approval.answers(ctx.app.gate.ledger().now());
    if approval.status == Status::Pending && over {
        return Status::Expired;
    }
    approval.status
}

/// The arguments that this operator sees: in full for those who decide while a yes would send them,
/// redacted for everybody else and ever after.
fn args(ctx: &Ctx<'_>, approval: &Approval) -> Value {
    let clear = approval.args.as_deref().filter(|_| {
        ctx.operator.role.may_change() && approval.may_be_made(ctx.app.gate.ledger().now())
    });
    clear
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_else(|| approval.redacted.clone())
}

async fn shown(
    ctx: &Ctx<'_>,
    principal: &PrincipalId,
    approval: &Approval,
) -> Result<Value, Problem> {
    let head = ctx.app.gate.ledger().head(principal).await?;
    let mut shown = json!({
        "id": approval.id,
        "principal": principal,
        "principalName": head.map(|head| head.name.clone()),
        "tool": approval.tool,
        "upstream": approval.upstream,
        "args": args(ctx, approval),
        "status": standing(ctx, approval),
        "createdAt": approval.created_at,
        "expiresAt": approval.expires_at,
        "policyVersion": approval.policy_version,
        "unattended": approval.unattended,
    });
    if let Some(shown) = shown.as_object_mut() {
        if let Some(answer) = &approval.answer {
            shown.insert("answer".to_owned(), json!(answer));
        }
        if let Some(at) = approval.settled_at {
            shown.insert("settledAt".to_owned(), json!(at));
        }
        if let Some(message) = &approval.message {
            shown.insert("message".to_owned(), json!(message));
        }
        if let Some(code) = &approval.code {
            shown.insert("code".to_owned(), json!(code));
        }
    }
    Ok(shown)
}

pub(crate) async fn list(ctx: &Ctx<'_>) -> Result<Done, Problem> {
    let query = Query::read(ctx.query, &["status", "principal", "before", "limit"])?;
    let status = query
        .text("status")
        .map(|word| {
            Status::parse(word).ok_or_else(|| {
                let words = Status::ALL.map(Status::as_str).join(", ");
                Problem::invalid("", format!("`status` is one of {words}"))
            })
        })
        .transpose()?;
    let principal = match query.text("principal") {
        Some(named) => Some(principals::find(ctx, named).await?.id.clone()),
        None => None,
    };
    let before = match query.text("before") {
        None => None,
        Some(named) => {
            let id = ApprovalId::parse(named)
                .ok_or_else(|| Problem::invalid("", "`before` is not the id of a request"))?;
            let (_, last) = find(ctx, &id).await?;
            Some((last.created_at, id))
        }
    };
    let limit = query.number("limit", LIST.1)?.unwrap_or(LIST.0);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let asked = ApprovalQuery {
        principal,
        status,
        before,
        limit,
    };
    close_overdue(ctx).await;
    let page = ctx.app.gate.ledger().approvals(&asked).await?;
    let next = page.last().filter(|_| page.len() == limit);
    let next = next.map(|(_, approval)| approval.id.clone());
    let mut approvals = Vec::new();
    for (principal, approval) in page {
        if status.is_some_and(|status| status != standing(ctx, &approval)) {
            continue;
        }
        approvals.push(shown(ctx, &principal, &approval).await?);
    }
    let mut body = json!({ "approvals": approvals });
    if let (Some(next), Some(body)) = (next, body.as_object_mut()) {
        body.insert("next".to_owned(), json!(next));
    }
    Ok(Done::ok(body))
}

fn missing() -> Problem {
    Problem::no("request")
}

fn id(ctx: &Ctx<'_>) -> Result<ApprovalId, Problem> {
    ApprovalId::parse(ctx.segment("id")).ok_or_else(missing)
}

pub(crate) async fn show(ctx: &Ctx<'_>) -> Result<Done, Problem> {
    let id = id(ctx)?;
    close_overdue(ctx).await;
    let (principal, approval) = find(ctx, &id).await?;
    let mut body = shown(ctx, &principal, &approval).await?;
    let prompt = prompted(ctx, &principal, &approval).await?;
    if let Some(body) = body.as_object_mut() {
        body.insert("title".to_owned(), prompt.title.into());
        body.insert("prompt".to_owned(), prompt.text.into());
        body.insert("viewedDigest".to_owned(), json!(prompt.digest));
    }
    Ok(Done::ok(body))
}

pub(crate) async fn decide(ctx: &Ctx<'_>) -> Result<Done, Problem> {
    let id = id(ctx)?;
    let mut fields = Fields::read(ctx.headers, ctx.body)?;
    let Value::Bool(approved) = fields.need("approved")? else {
        return Err(Problem::invalid(
            "/approved",
            "`approved` is not true or false",
        ));
    };
    let reason = fields.reason()?;
    let viewed = fields.text("viewedDigest")?;
    fields.end(&ctx.operator.name)?;
    if let Some(viewed) = viewed {
        same_view(ctx, &id, &viewed).await?;
    }
    match ctx
        .app
        .gate
        .decide(&id, approved, &ctx.operator.name, reason)
        .await
    {
        Ok(decided) => Ok(Done::ok(outcome(&decided))),
        Err(DecideError::Conflict(first)) => {
            let message = match first.approval.status {
                Status::Expired => "nobody answered in time; nothing was done",
                _ => "the request was decided before",
            };
            Err(Problem::conflict(message).details(outcome(&first)))
        }
        Err(DecideError::Missing) => Err(missing()),
        Err(DecideError::NotApprover) => {
            let message = "the policy wants somebody else to answer this request";
            Err(Problem::new(StatusCode::FORBIDDEN, "not_approver", message))
        }
        Err(DecideError::Stale) => Err(Problem::conflict(
            "the policy changed while the request was decided",
        )),
        Err(DecideError::Unavailable) => Err(Problem::unavailable()),
    }
}

/// A request and whose it is.
async fn find(ctx: &Ctx<'_>, id: &ApprovalId) -> Result<(PrincipalId, Approval), Problem> {
    let gate = &ctx.app.gate;
    let principal = gate.directory().principal_of_approval(id).await?;
    let principal = principal.ok_or_else(missing)?;
    let approval = gate.ledger().approval(&principal, id).await?;
    Ok((principal, approval.ok_or_else(missing)?))
}

async fn prompted(
    ctx: &Ctx<'_>,
    principal: &PrincipalId,
    approval: &Approval,
) -> Result<Prompt, Problem> {
    let head = ctx.app.gate.ledger().head(principal).await?;
    let head = head.ok_or_else(missing)?;
    Ok(prompt(
        &head.name,
        approval,
        &args(ctx, approval).to_string(),
    ))
}

/// What an operator says to have seen must be what is asked.
async fn same_view(ctx: &Ctx<'_>, id: &ApprovalId, viewed: &str) -> Result<(), Problem> {
    let (principal, approval) = find(ctx, id).await?;
    let now = prompted(ctx, &principal, &approval).await?;
    if approval.may_be_made(ctx.app.gate.ledger().now()) && now.digest.to_string() != viewed {
        return Err(Problem::conflict(
            "`viewedDigest` is not that of the request as it is shown",
        ));
    }
    Ok(())
}

fn outcome(decided: &Decided) -> Value {
    let approval = &decided.approval;
    let mut body = json!({ "id": approval.id, "status": approval.status });
    if let Some(body) = body.as_object_mut() {
        if let Some(result) = &approval.result {
            body.insert("result".to_owned(), result.value.clone());
        }
        if let Some(message) = &approval.message {
            body.insert("message".to_owned(), message.as_str().into());
        }
        if let Some(code) = &approval.code {
            body.insert("code".to_owned(), json!(code));
        }
        if let Some(answer) = &approval.answer {
            body.insert("answer".to_owned(), json!(answer));
        }
    }
    body
}
