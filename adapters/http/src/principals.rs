//! Principals: made, shown, keyed, governed, switched off.

use std::sync::Arc;

use serde_json::Value;
use serde_json::json;
use toolgate_core::id::KeyId;
use toolgate_core::id::OperatorName;
use toolgate_core::id::PolicyName;
use toolgate_core::id::PrincipalId;
use toolgate_core::id::PrincipalName;
use toolgate_core::policy;
use toolgate_core::time::Timestamp;
use toolgate_core::unit::Head;

use crate::answer::Done;
use crate::answer::Problem;
use crate::body::Fields;
use crate::body::Query;
use crate::enter::Ctx;
use crate::operators;

/// The principal of that id or name.
pub(crate) async fn find(ctx: &Ctx<'_>, named: &str) -> Result<Arc<Head>, Problem> {
    let gate = &ctx.app.gate;
    let system = PrincipalId::system();
    if let Ok(id) = PrincipalId::new(named)
        && id != system
        && let Some(head) = gate.ledger().head(&id).await?
    {
        return Ok(head);
    }
    let name = PrincipalName::new(named).map_err(|_| missing())?;
    let id = gate
        .directory()
        .principal_of_name(&name)
        .await?
        .ok_or_else(missing)?;
    gate.ledger().head(&id).await?.ok_or_else(missing)
}

fn missing() -> Problem {
    Problem::no("agent")
}

async fn here(ctx: &Ctx<'_>) -> Result<Arc<Head>, Problem> {
    find(ctx, ctx.segment("id")).await
}

/// A principal as the API shows it.
pub(crate) async fn shown(ctx: &Ctx<'_>, head: &Head) -> Result<Value, Problem> {
    let ledger = ctx.app.gate.ledger();
    let text = ledger
        .policy(&head.id)
        .await?
        .map(|(_, text)| text)
        .unwrap_or_default();
    let document: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
    let in_force = policy::compile_stored(&text, &ctx.app.gate.catalog());
    let limits = in_force.document();
    let keys: Vec<Value> = head
        .keys
        .iter()
        .map(|key| {
            let mut shown = json!({"id": key.id, "createdAt": key.created_at});
            let times = [
                ("lastUsedAt", key.last_used_at),
                ("expiresAt", key.expires_at),
                ("revokedAt", key.revoked_at),
            ];
            for (name, at) in times {
                if let (Some(at), Some(shown)) = (at, shown.as_object_mut()) {
                    shown.insert(name.to_owned(), json!(at));
                }
            }
            shown
        })
        .collect();
    let now = ledger.now().max(head.at);
    let defaults = policy::Limits::default();
    Ok(json!({
        "id": head.id,
        "name": head.name,
        "owner": head.owner,
        "createdAt": head.created_at,
        "killed": head.killed.is_some(),
        "kill": head.killed,
        "policy": document,
        "policyName": head.policy.name,
        "policyVersion": head.policy.version,
        "stale": in_force.stale(),
        "keys": keys,
        "open": head.open,
        "usage": {
            "usedToday": head.meters.used_today(now),
            "perDay": limits.per_day.unwrap_or(defaults.per_day),
            "perMinute": limits.per_minute.unwrap_or(defaults.per_minute),
        },
    }))
}

/// A policy in a body: given whole, or by the name of a stored one.
async fn given(
    ctx: &Ctx<'_>,
    fields: &mut Fields,
) -> Result<Option<(String, Option<PolicyName>)>, Problem> {
    let whole = fields.take("policy");
    let name: Option<PolicyName> = fields.parsed("policyName")?;
    match (whole, name) {
        (None, None) => Ok(None),
        (Some(policy), None) => Ok(Some((policy.to_string(), None))),
        (None, Some(name)) => {
            let stored = ctx.app.gate.directory().named_policy(&name).await?;
            let stored = stored.ok_or_else(|| {
                Problem::invalid("/policyName", "there is no stored policy of that name")
            })?;
            Ok(Some((stored.text, Some(name))))
        }
        (Some(_), Some(_)) => {
            let message = "`policy` and `policyName` exclude each other";
            Err(Problem::invalid("/policyName", message))
        }
    }
}

pub(crate) async fn list(ctx: &Ctx<'_>) -> Result<Done, Problem> {
    Query::read(ctx.query, &[])?;
    Ok(Done::ok(json!({ "principals": all(ctx).await? })))
}

/// Every principal as the API shows it, by name.
pub(crate) async fn all(ctx: &Ctx<'_>) -> Result<Vec<Value>, Problem> {
    let mut principals = Vec::new();
    for (_, id) in ctx.app.gate.directory().principals().await? {
        // A name may be taken just before its unit is made.
        if let Some(head) = ctx.app.gate.ledger().head(&id).await? {
            principals.push(shown(ctx, &head).await?);
        }
    }
    Ok(principals)
}

pub(crate) async fn add(ctx: &Ctx<'_>) -> Result<Done, Problem> {
    let mut fields = Fields::read(ctx.headers, ctx.body)?;
    let name: PrincipalName = fields.needed("name")?;
    let owner: Option<OperatorName> = fields.parsed("owner")?;
    let policy = given(ctx, &mut fields).await?;
    fields.end(&ctx.operator.name)?;
    if let Some(owner) = &owner
        && !operators::is_one(ctx, owner).await?
    {
        let message = "`owner` is not the name of an operator";
        return Err(Problem::invalid("/owner", message));
    }
    let (text, policy_name) = policy.map_or((None, None), |(text, name)| (Some(text), name));
    let by = &ctx.operator.name;
    let gate = &ctx.app.gate;
    let made = gate
        .create_principal(&name, text.as_deref(), policy_name, owner, by)
        .await?;
    Ok(Done::created(json!(made)))
}

pub(crate) async fn show(ctx: &Ctx<'_>) -> Result<Done, Problem> {
    let head = here(ctx).await?;
    Ok(Done::ok(shown(ctx, &head).await?))
}

pub(crate) async fn policy(ctx: &Ctx<'_>) -> Result<Done, Problem> {
    let head = here(ctx).await?;
    let found = ctx.app.gate.ledger().policy(&head.id).await?;
    let (version, text) = found.ok_or_else(missing)?;
    let document: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
    Ok(Done::ok(
        json!({ "policy": document, "policyVersion": version }),
    ))
}

pub(crate) async fn set_policy(ctx: &Ctx<'_>) -> Result<Done, Problem> {
    let head = here(ctx).await?;
    let mut fields = Fields::read(ctx.headers, ctx.body)?;
    let policy = given(ctx, &mut fields).await?;
    fields.end(&ctx.operator.name)?;
    let (text, name) = policy.ok_or_else(|| Problem::invalid("/policy", "`policy` is missing"))?;
    let by = &ctx.operator.name;
    let version = ctx.app.gate.set_policy(&head.id, &text, name, by).await?;
    Ok(Done::ok(json!({ "policyVersion": version })))
}

pub(crate) async fn add_key(ctx: &Ctx<'_>) -> Result<Done, Problem> {
    let head = here(ctx).await?;
    let mut fields = Fields::read(ctx.headers, ctx.body)?;
    let expires_at: Option<Timestamp> = fields.parsed("expiresAt")?;
    fields.end(&ctx.operator.name)?;
    if expires_at.is_some_and(|at| at <= ctx.app.gate.ledger().now()) {
        let message = "`expiresAt` is over already, so the key would never be good";
        return Err(Problem::invalid("/expiresAt", message));
    }
    let key = ctx
        .app
        .gate
        .create_key(&head.id, expires_at, &ctx.operator.name)
        .await?;
    Ok(Done::created(
        json!({ "id": key.id, "key": key.key.reveal() }),
    ))
}

pub(crate) async fn revoke_key(ctx: &Ctx<'_>) -> Result<Done, Problem> {
    let head = here(ctx).await?;
    let key = KeyId::new(ctx.segment("key")).map_err(|_| Problem::no("key"))?;
    Fields::read(ctx.headers, ctx.body)?.end(&ctx.operator.name)?;
    ctx.app
        .gate
        .revoke_key(&head.id, &key, &ctx.operator.name)
        .await?;
    Ok(Done::ok(json!({ "id": key, "revoked": true })))
}

pub(crate) async fn kill(ctx: &Ctx<'_>) -> Result<Done, Problem> {
    let head = here(ctx).await?;
    let mut fields = Fields::read(ctx.headers, ctx.body)?;
    let reason = fields.reason()?;
    fields.end(&ctx.operator.name)?;
    ctx.app
        .gate
        .kill(&head.id, &ctx.operator.name, reason)
        .await?;
    Ok(Done::ok(json!({ "id": head.id, "killed": true })))
}

pub(crate) async fn revive(ctx: &Ctx<'_>) -> Result<Done, Problem> {
    let head = here(ctx).await?;
    Fields::read(ctx.headers, ctx.body)?.end(&ctx.operator.name)?;
    ctx.app.gate.revive(&head.id, &ctx.operator.name).await?;
    Ok(Done::ok(json!({ "id": head.id, "killed": false })))
}

pub(crate) async fn check(ctx: &Ctx<'_>) -> Result<Done, Problem> {
    let head = here(ctx).await?;
    let mut fields = Fields::read(ctx.headers, ctx.body)?;
    let tool = fields.needed_text("tool")?;
    let args = fields.take("args").unwrap_or_else(|| json!({}));
    fields.end(&ctx.operator.name)?;
    let checked = ctx
        .app
        .gate
        .check(&head.id, &tool, &args, &ctx.operator.name)
        .await?;
    Ok(Done::ok(json!(checked)))
}
