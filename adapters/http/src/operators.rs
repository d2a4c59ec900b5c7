//! Operators: named people with roles; of their tokens only hashes are kept.

use serde_json::Value;
use serde_json::json;
use toolgate_core::id::OperatorName;
use toolgate_core::id::PrincipalId;
use toolgate_core::unit::Event;
use toolgate_mcp::store::LedgerExt as _;
use toolgate_mcp::store::Operator;
use toolgate_mcp::store::Role;

use crate::answer::Done;
use crate::answer::Problem;
use crate::body::Fields;
use crate::enter::Ctx;

fn shown(operator: &Operator, stored: bool) -> Value {
    json!({
        "name": operator.name,
        "role": operator.role,
        "createdAt": operator.created_at,
        "stored": stored,
    })
}

pub(crate) async fn list(ctx: &Ctx<'_>) -> Result<Done, Problem> {
    let stored = ctx.app.gate.directory().operators().await?;
    let mut operators: Vec<Value> = ctx.app.owners.iter().map(|o| shown(o, false)).collect();
    operators.extend(stored.iter().map(|operator| shown(operator, true)));
    Ok(Done::ok(json!({ "operators": operators })))
}

pub(crate) async fn add(ctx: &Ctx<'_>) -> Result<Done, Problem> {
    let mut fields = Fields::read(ctx.headers, ctx.body)?;
    let name: OperatorName = fields.needed("name")?;
    let role = match fields.needed_text("role")?.as_str() {
        "owner" => Role::Owner,
        "viewer" => Role::Viewer,
        _ => {
            return Err(Problem::invalid(
                "/role",
                "`role` is not `owner` or `viewer`",
            ));
        }
    };
    fields.end(&ctx.operator.name)?;
    let gate = &ctx.app.gate;
    if ctx.app.owners.iter().any(|owner| owner.name == name) {
        return Err(Problem::conflict("there is an operator of that name"));
    }
    let token = gate
        .new_operator_token()
        .map_err(|_| Problem::unavailable())?;
    let operator = Operator {
        name: name.clone(),
        role,
        token: token.hash(),
        created_at: gate.ledger().now(),
    };
    let event = Event::note("operator_added")
        .with("operator", &name)
        .with("role", role)
        .with("by", &ctx.operator.name);
    if !gate.directory().add_operator(operator).await? {
        return Err(Problem::conflict("there is an operator of that name"));
    }
    if gate
        .ledger()
        .note(&PrincipalId::system(), event)
        .await
        .is_err()
    {
        // What cannot be written down is taken back, and the token is not handed out.
        gate.directory().remove_operator(&name).await?;
        return Err(Problem::unavailable());
    }
    Ok(Done::created(
        json!({ "name": name, "role": role, "token": token.reveal() }),
    ))
}

/// Whether there is an operator of that name, stored or not.
pub(crate) async fn is_one(ctx: &Ctx<'_>, name: &OperatorName) -> Result<bool, Problem> {
    if ctx.app.owners.iter().any(|owner| owner.name == *name) {
        return Ok(true);
    }
    let stored = ctx.app.gate.directory().operators().await?;
    Ok(stored.iter().any(|operator| operator.name == *name))
}

pub(crate) async fn remove(ctx: &Ctx<'_>) -> Result<Done, Problem> {
    let name = OperatorName::new(ctx.segment("name")).map_err(|_| Problem::no("operator"))?;
    Fields::read(ctx.headers, ctx.body)?.end(&ctx.operator.name)?;
    if ctx.app.owners.iter().any(|owner| owner.name == name) {
        let message = "this operator's token is in the environment of the gate, and ends with it";
        return Err(Problem::conflict(message));
    }
    let directory = ctx.app.gate.directory();
    let stored = directory.operators().await?;
    if !stored.iter().any(|operator| operator.name == name) {
        return Err(Problem::no("operator"));
    }
    let event = Event::note("operator_removed")
        .with("operator", &name)
        .with("by", &ctx.operator.name);
    // Written down first: nobody is removed unseen.
    ctx.app
        .gate
        .ledger()
        .note(&PrincipalId::system(), event)
        .await?;
    directory.remove_operator(&name).await?;
    Ok(Done::ok(json!({ "name": name, "removed": true })))
}
