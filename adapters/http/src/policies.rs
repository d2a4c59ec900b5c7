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
    PolicyName::new(ctx.segment("name")).map_err(|_| Problem::no("policy"))
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
    found.ok_or_else(|| Problem::no("policy"))
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
    let mut names = Vec::new();
    for (at, named) in named.iter().enumerate() {
        names.push(named.as_str().ok_or_else(|| {
            let path = format!("/principals/{at}");
            Problem::invalid(&path, "a principal is not named by a text")
        })?);
    }
    let mut results = Vec::new();
    for named in names {
        results.push(apply_to(ctx, &stored, named).await);
    }
    Ok(Done::ok(json!({ "results": results })))
}

/// The result for one principal. None ends the whole: what was applied before stays applied, and
/// whoever asked must learn to whom.
async fn apply_to(ctx: &Ctx<'_>, stored: &NamedPolicy, named: &str) -> Value {
    let shown: String = named.chars().filter(|c| !c.is_control()).take(64).collect();
    let head = match principals::find(ctx, named).await {
        Ok(head) => head,
        Err(problem) => return json!({ "principal": shown, "error": problem.shown() }),
    };
    let name = Some(stored.name.clone());
    let by = &ctx.operator.name;
    let applied = ctx
        .app
        .gate
        .set_policy(&head.id, &stored.text, name, by)
        .await;
    match applied {
        Ok(version) => json!({ "principal": shown, "policyVersion": version }),
        Err(error) => json!({ "principal": shown, "error": Problem::from(error).shown() }),
    }
}
