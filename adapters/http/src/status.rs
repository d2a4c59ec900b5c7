//! How the gate fares, what it holds at a glance, and the demo's data.

use http::StatusCode;
use serde_json::Value;
use serde_json::json;
use toolgate_core::approval::Status;
use toolgate_core::classify;
use toolgate_core::id::UpstreamId;

use crate::App;
use crate::answer::Done;
use crate::answer::Problem;
use crate::approvals;
use crate::body::Fields;
use crate::enter::Ctx;
use crate::principals;
use crate::route::Route;

/// The routes that need no token; nothing secret is in their answers.
pub(crate) fn open(app: &App, route: Route) -> Done {
    let ready = app.health.is_ready();
    if route == Route::Ready {
        let status = if ready {
            StatusCode::OK
        } else {
            StatusCode::SERVICE_UNAVAILABLE
        };
        return Done::with(status, json!({ "ready": ready }));
    }
    Done::ok(json!({ "status": if ready { "ok" } else { "failing" }, "insecure": app.insecure }))
}

pub(crate) async fn overview(ctx: &Ctx<'_>) -> Result<Done, Problem> {
    approvals::close_overdue(ctx).await;
    let ledger = ctx.app.gate.ledger();
    let mut principals = principals::all(ctx).await?;
    for principal in &mut principals {
        if let Some(members) = principal.as_object_mut() {
            let keys = members.remove("keys");
            let good = keys.as_ref().and_then(Value::as_array).map_or(0, |keys| {
                keys.iter()
                    .filter(|key| key.get("revokedAt").is_none())
                    .count()
            });
            members.insert("keyCount".to_owned(), json!(good));
        }
    }
    Ok(Done::ok(json!({
        "principals": principals,
        "waiting": ledger.count(Status::Pending).await?,
        "unknown": ledger.count(Status::Unknown).await?,
        "tools": tools(ctx),
        "insecure": ctx.app.insecure,
    })))
}

pub(crate) fn catalog(ctx: &Ctx<'_>) -> Result<Done, Problem> {
    let catalog = ctx.app.gate.catalog();
    let report = ctx.app.gate.catalog_report();
    let left_out =
        |(source, why): &(UpstreamId, String)| json!({"upstream": source, "reason": why});
    Ok(Done::ok(json!({
        "tools": tools(ctx),
        "truncated": catalog.truncated(),
        "collided": catalog.collided(),
        "leftOut": report.left_out.iter().map(left_out).collect::<Vec<_>>(),
        "cut": report.truncated,
        "unavailable": report.unavailable,
    })))
}

fn tools(ctx: &Ctx<'_>) -> Vec<Value> {
    let catalog = ctx.app.gate.catalog();
    catalog
        .iter()
        .map(|tool| {
            let classified = tool.classified();
            json!({
                "name": tool.shown(),
                "upstream": tool.upstream(),
                "wireName": tool.wire(),
                "digest": tool.digest(),
                "mode": classified.mode,
                "classifiedBy": classified.classified_by,
                "suspicious": classified.suspicious,
                "trust": tool.trust(),
                "description": tool.description(),
                "inputSchema": tool.input_schema(),
                "outputSchema": tool.output_schema(),
                "annotations": classify::published(tool.definition(), &classified),
            })
        })
        .collect()
}

pub(crate) async fn seed(ctx: &Ctx<'_>) -> Result<Done, Problem> {
    let Some(seed) = &ctx.app.seed else {
        let message = "demo data is made in demo mode only";
        return Err(Problem::new(StatusCode::FORBIDDEN, "not_a_demo", message));
    };
    Fields::read(ctx.headers, ctx.body)?.end(&ctx.operator.name)?;
    let made = seed.seed(&ctx.app.gate, &ctx.operator.name).await?;
    Ok(Done::created(made))
}
