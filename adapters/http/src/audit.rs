//! The audit: pages of entries, and verification.

use serde_json::Value;
use serde_json::json;
use toolgate_audit::ChainId;
use toolgate_audit::Summary;
use toolgate_core::id::PrincipalId;
use toolgate_mcp::store::EntryQuery;
use toolgate_mcp::store::Filed;
use toolgate_mcp::store::Position;

use crate::answer::Done;
use crate::answer::Problem;
use crate::body::Query;
use crate::enter::Ctx;
use crate::principals;

/// How many entries a page holds if it does not say, and at most.
const PAGE: (u64, u64) = (100, 500);

pub(crate) async fn list(ctx: &Ctx<'_>) -> Result<Done, Problem> {
    let query = Query::read(ctx.query, &["principal", "before", "limit"])?;
    let limit = query.number("limit", PAGE.1)?.unwrap_or(PAGE.0);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let before = query.number("before", u64::MAX)?.map(Position);
    let chain = match query.text("principal") {
        None => None,
        Some("system") => Some(ChainId::system()),
        Some(named) => {
            let id: PrincipalId = principals::find(ctx, named).await?.id.clone();
            Some(ChainId::new(id.as_str()).map_err(|_| Problem::missing())?)
        }
    };
    let page = ctx
        .app
        .gate
        .ledger()
        .entries(&EntryQuery {
            chain,
            before,
            limit,
        })
        .await?;
    let mut body = json!({ "entries": page.iter().map(shown).collect::<Vec<_>>() });
    let full = page.len() == limit;
    if let (Some(last), Some(body)) = (page.last().filter(|_| full), body.as_object_mut()) {
        body.insert("next".to_owned(), json!(last.position));
    }
    Ok(Done::ok(body))
}

/// An entry read back from its bytes; one that cannot be read is shown as what it is.
fn shown(filed: &Filed) -> Value {
    match toolgate_audit::decode(&filed.bytes) {
        Ok(entry) => json!(entry.with_hash(filed.hash)),
        Err(_) => json!({
            "chain": filed.chain,
            "seq": filed.seq,
            "kind": "unreadable",
            "hash": filed.hash,
        }),
    }
}

pub(crate) async fn verify(ctx: &Ctx<'_>) -> Result<Done, Problem> {
    Query::read(ctx.query, &[])?;
    let found = ctx.app.gate.verify().await?;
    let complete = found.complete;
    let mut summary: Summary = found.reports.into_iter().collect();
    summary.complete = complete;
    Ok(Done::ok(json!(summary)))
}
