//! Policies stored under a name, and applied to principals.

use serde_json::Value;
use serde_json::json;
use toolgate_core::id::PolicyName;
use toolgate_core::id::PrincipalId;
use toolgate_core::policy;
use toolgate_core::unit::Event;
use toolgate_mcp::gateway::OperateError;
use toolgate_mcp::store::LedgerExt as _;
use toolgate_mcp::store::NamedPolicy;

use crate::answer::Done;
use crate::answer::Problem;
use crate::body::Fields;
use crate::enter::Ctx;
use crate::principals;

/// The most principals that a policy is applied to in one request.
const MOST_APPLIED: usize = 1_000;

fn name(ctx: &Ctx<'_>) -> Result<PolicyName, Problem> {
    PolicyName::new(ctx.segment("name")).map_err(|_| Problem::missing())
}

fn shown(stored: &NamedPolicy) -> Value {
    let policy: Value = serde_json::from_str(&stored.text).unwrap_or(Value::Null);
    json!({ "name": stored.name, "version": stored.version, "policy": policy })
}

pub(crate) async fn list(ctx: &Ctx<'_>) -> Result<Done, Problem> {
    let stored = ctx.app.gate.directory().named_policies().await?;
    let policies: Vec<Value> = stored.iter().map(shown).collect();
    Ok(Done::ok(json!({ "policies": policies })))
}

async fn stored(ctx: &Ctx<'_>) -> Result<NamedPolicy, Problem> {
    let found = ctx.app.gate.directory().named_policy(&name(ctx)?).await?;
    found.ok_or_else(Problem::missing)
}

pub(crate) async fn show(ctx: &Ctx<'_>) -> Result<Done, Problem> {
    Ok(Done::ok(shown(&stored(ctx).await?)))
}

pub(crate) async fn put(ctx: &Ctx<'_>) -> Result<Done, Problem> {
    let name = PolicyName::new(ctx.segment("name"))
        .map_err(|_| Problem::invalid("", "a stored policy cannot have that name"))?;
    let mut fields = Fields::read(ctx.headers, ctx.body)?;
    let text = fields.need("policy")?.to_string();
    fields.end(&ctx.operator.name)?;
    let gate = &ctx.app.gate;
    policy::parse(&text, &gate.catalog())
        .map_err(|errors| OperateError::Invalid(errors.into_vec()))?;
    let event = Event::note("policy_stored")
        .with("policyName", &name)
        .with(
            "policyDigest",
            toolgate_core::digest::Digest::of(text.as_bytes()),
        )
        .with("by", &ctx.operator.name);
    gate.ledger().note(&PrincipalId::system(), event).await?;
    let version = gate.directory().store_policy(&name, &text).await?;
    Ok(Done::ok(json!({ "name": name, "version": version })))
}

pub(crate) async fn apply(ctx: &Ctx<'_>) -> Result<Done, Problem> {
    let stored = stored(ctx).await?;
    let mut fields = Fields::read(ctx.headers, ctx.body)?;
    let Value::Array(named) = fields.need("principals")? else {
        return Err(Problem::invalid(
            "/principals",
            "`principals` is not a list",
        ));
    };
    fields.end(&ctx.operator.name)?;
    if named.len() > MOST_APPLIED {
        return Err(Problem::invalid(
            "/principals",
            "`principals` has more than 1000 members",
        ));
    }
    let mut results = Vec::new();
    for (at, named) in named.iter().enumerate() {
        let Some(named) = named.as_str() else {
            let path = format!("/principals/{at}");
            return Err(Problem::invalid(
                &path,
                "a principal is not named by a text",
            ));
        };
        results.push(apply_to(ctx, &stored, named).await?);
    }
    Ok(Done::ok(json!({ "results": results })))
}

/// The result for one principal; only a store that does not answer ends the whole.
async fn apply_to(ctx: &Ctx<'_>, stored: &NamedPolicy, named: &str) -> Result<Value, Problem> {
    let shown: String = named.chars().filter(|c| !c.is_control()).take(64).collect();
    let refused = |code: &str, message: &str| json!({ "principal": shown, "error": { "code": code, "message": message } });
    let Ok(head) = principals::find(ctx, named).await else {
        return Ok(refused("not_found", "there is no such principal"));
    };
    let name = Some(stored.name.clone());
    let by = &ctx.operator.name;
    match ctx
        .app
        .gate
        .set_policy(&head.id, &stored.text, name, by)
        .await
    {
        Ok(version) => Ok(json!({ "principal": shown, "policyVersion": version })),
        Err(OperateError::Invalid(errors)) => {
            let message = "the policy is not accepted any more";
            let mut refused = refused("invalid_policy", message);
            if let Some(error) = refused.get_mut("error").and_then(Value::as_object_mut) {
                error.insert("details".to_owned(), json!(errors));
            }
            Ok(refused)
        }
        Err(OperateError::Conflict) => Ok(refused("conflict", "another change came first")),
        Err(OperateError::Missing) => Ok(refused("not_found", "there is no such principal")),
        Err(OperateError::Unavailable) => Err(Problem::unavailable()),
    }
}
