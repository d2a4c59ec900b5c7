//! A store that does not answer, or cannot write.

use serde_json::json;
use toolgate_http::Access;
use toolgate_http::Route;
use toolgate_mcp::store::contract::At;
use toolgate_mcp::store::contract::Fault;
use toolgate_mcp::store::contract::Often;

use super::host::Host;
use super::host::OWNER;
use super::host::both;

// spec: KY-04
#[tokio::test]
async fn a_malformed_key_or_token_costs_the_store_nothing() {
    let host = Host::new().await;
    let bot = host.agent("bot", &both()).await;
    let before = host.store.asked();
    for bad in ["tg_x", "", "tg_", OWNER, &bot.key.to_uppercase()] {
        assert_eq!(host.rpc(bad, "tools/list", &json!({})).await.status, 401);
    }
    assert_eq!(host.store.asked(), before);
    let unknown = format!("tg_{}", "a".repeat(32));
    assert_eq!(
        host.rpc(&unknown, "tools/list", &json!({})).await.status,
        401
    );
    assert_eq!(host.store.asked(), before + 1);
}

#[tokio::test]
async fn nobody_is_let_in_while_the_store_is_down() {
    let host = Host::new().await;
    let bot = host.agent("bot", &both()).await;
    host.store
        .fail(Fault::Before, At::Everything, Often::Always);
    let list = host.rpc(&bot.key, "tools/list", &json!({})).await;
    assert_eq!(list.status, 503);
    assert_eq!(host.call(&bot, "look", "a").await.status, 503);
    let viewer = host.viewer.clone();
    assert_eq!(
        host.api_as(&viewer, "GET", "/api/policy-schema", None)
            .await
            .status,
        503
    );
    for route in Route::ALL {
        // What says nothing of the store is answered; what does is not made up.
        let needs_none = matches!(route, Route::Catalog | Route::PolicySchema | Route::Seed);
        if route.method() != "GET" || route.access() != Access::Viewer || needs_none {
            continue;
        }
        let path = route
            .pattern()
            .replace("{id}", &bot.id)
            .replace("{name}", "x");
        let path = match route {
            Route::ApprovalGet => format!("/api/approvals/ap_{}", "a".repeat(32)),
            _ => path,
        };
        let answer = host.get(&path).await;
        assert_eq!(
            (answer.status, &answer.body["error"]["code"]),
            (503, &json!("unavailable")),
            "{path}"
        );
    }
    host.store.mend();
    assert_eq!(host.call(&bot, "look", "a").await.status, 200);
    assert_eq!(host.desk.made(), 1);
}

#[tokio::test]
async fn what_cannot_be_written_down_is_not_done() {
    let host = Host::new().await;
    let bot = host.agent("bot", &both()).await;
    let id = host.pending(&bot, "a").await;
    let vic = host.viewer.clone();
    host.store.fail(Fault::Before, At::Moves, Often::Always);
    let policy = json!({"policy": {"tools": {}}});
    let own = format!("/api/principals/{}", bot.id);
    let many = json!({"principals": ["bot"]});
    for (method, path, body) in [
        ("POST", "/api/principals".to_owned(), json!({"name": "new"})),
        ("POST", format!("{own}/keys"), json!({})),
        (
            "POST",
            format!("{own}/keys/{}/revoke", bot.key_id),
            json!({}),
        ),
        ("POST", format!("{own}/kill"), json!({})),
        ("POST", format!("{own}/revive"), json!({})),
        ("POST", format!("{own}/check"), json!({"tool": "look"})),
        ("PUT", format!("{own}/policy"), policy.clone()),
        ("PUT", "/api/policies/none".to_owned(), policy.clone()),
        (
            "POST",
            format!("/api/approvals/{id}"),
            json!({"approved": true}),
        ),
        (
            "POST",
            "/api/operators".to_owned(),
            json!({"name": "bob", "role": "owner"}),
        ),
        ("DELETE", "/api/operators/vic".to_owned(), json!({})),
    ] {
        let answer = host.api(method, &path, Some(&body)).await;
        assert_eq!(answer.status, 503, "{path} {:?}", answer.body);
    }
    host.store.mend();
    assert_eq!(host.desk.made(), 0);
    assert_eq!(host.get("/api/policies/none").await.status, 404);
    let shown = host.get(&own).await.body;
    assert_eq!(
        (&shown["killed"], &shown["policyVersion"], &shown["open"]),
        (&json!(false), &json!(1), &json!(1))
    );
    let names = host.get("/api/operators").await.body["operators"].clone();
    let names: Vec<&str> = names
        .as_array()
        .unwrap()
        .iter()
        .map(|operator| operator["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["ann", "vic"]);
    assert_eq!(
        host.api_as(&vic, "GET", "/api/overview", None).await.status,
        200
    );
    assert_eq!(host.decide(&id, true).await.body["status"], "applied");

    assert_eq!(host.put("/api/policies/none", &policy).await.status, 200);
    host.store.fail(Fault::Before, At::Moves, Often::Always);
    let applied = host.post("/api/policies/none/apply", &many).await;
    let one = &applied.body["results"][0];
    assert_eq!(
        (&one["principal"], &one["error"]["code"]),
        (&json!("bot"), &json!("unavailable"))
    );
}

// spec: AC-18
#[tokio::test]
async fn a_request_expires_for_its_readers_even_while_nothing_can_be_written() {
    for full in [false, true] {
        let host = Host::new().await;
        let bot = host.agent("bot", &both()).await;
        let id = host.pending(&bot, "card 4242 4242 4242 4242").await;
        let path = format!("/api/approvals/{id}");
        let seen = host.get(&path).await.body["viewedDigest"].clone();
        host.clock.pass(toolgate_core::approval::WINDOW);
        if full {
            host.store.fail(Fault::Before, At::Moves, Often::Always);
        }
        let shown = host.get(&path).await;
        assert_eq!(shown.body["status"], "expired", "full: {full}");
        assert!(!shown.body.to_string().contains("4242"));
        let list = host.get("/api/approvals?status=pending").await;
        assert_eq!(list.body["approvals"], json!([]));
        let list = host.get("/api/approvals?status=expired").await;
        let expected = if full { 0 } else { 1 };
        assert_eq!(list.body["approvals"].as_array().unwrap().len(), expected);
        let list = host.get("/api/approvals").await;
        assert_eq!(list.body["approvals"][0]["status"], "expired");
        assert_eq!(host.get("/api/overview").await.body["waiting"], 0);
        host.store.mend();
        let late = json!({"approved": true, "viewedDigest": seen});
        let late = host.post(&path, &late).await;
        assert_eq!(
            (late.status, &late.body["error"]["details"]["status"]),
            (409, &json!("expired"))
        );
    }
}
