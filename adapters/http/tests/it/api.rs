//! The admin API, route by route.

use serde_json::Value;
use serde_json::json;
use toolgate_core::time::MINUTE;

use super::host::Answer;
use super::host::Host;
use super::host::OWNER;
use super::host::both;

// spec: API-01
#[tokio::test]
async fn an_overview_shows_agents_usage_and_what_waits() {
    let host = Host::new().await;
    let empty = host.get("/api/overview").await;
    assert_eq!((empty.status, &empty.body["principals"]), (200, &json!([])));
    assert_eq!(empty.body["tools"].as_array().unwrap().len(), 2);
    let bot = host.agent("bot", &both()).await;
    host.call(&bot, "look", "a").await;
    host.pending(&bot, "b").await;
    let full = host.get("/api/overview").await.body;
    assert_eq!(full["waiting"], 1);
    let shown = &full["principals"][0];
    assert_eq!(
        (&shown["name"], &shown["killed"], &shown["keyCount"]),
        (&json!("bot"), &json!(false), &json!(1))
    );
    assert_eq!(
        shown["usage"],
        json!({"usedToday": 2, "perDay": 2000, "perMinute": 60})
    );
}

// spec: API-02
#[tokio::test]
async fn a_principal_is_made_without_rights_unless_given_some() {
    let host = Host::new().await;
    let made = host.post("/api/principals", &json!({"name": "bot"})).await;
    assert_eq!((made.status, &made.body["policyVersion"]), (201, &json!(1)));
    let key = host.post("/api/principals/bot/keys", &json!({})).await.body["key"].clone();
    let list = host
        .rpc(key.as_str().unwrap(), "tools/list", &json!({}))
        .await;
    assert_eq!(list.body["result"]["tools"], json!([]));
    assert_eq!(
        host.post("/api/principals", &json!({"name": "bot"}))
            .await
            .status,
        409
    );
    let bad = json!({"name": "other", "policy": {"tools": {"lok": {}}}});
    let bad = host.post("/api/principals", &bad).await;
    assert_eq!(bad.status, 422);
    assert_eq!(bad.body["error"]["details"][0]["path"], "/tools/lok");
    assert!(
        bad.body["error"]["details"][0]["message"]
            .as_str()
            .unwrap()
            .contains("look")
    );
    assert_eq!(host.get("/api/principals/other").await.status, 404);
}

// spec: API-03
#[tokio::test]
async fn a_principal_is_shown_without_its_keys() {
    let host = Host::new().await;
    let bot = host.agent("bot", &both()).await;
    host.call(&bot, "look", "a").await;
    for named in [bot.id.as_str(), "bot"] {
        let shown = host.get(&format!("/api/principals/{named}")).await;
        assert_eq!(shown.body["policy"], both());
        assert_eq!(shown.body["keys"][0]["id"], json!(bot.key_id));
        assert!(shown.body["keys"][0]["lastUsedAt"].is_string());
        assert!(!shown.body.to_string().contains(&bot.key));
        assert!(!shown.body.to_string().contains("hash"));
    }
    assert_eq!(host.get("/api/principals/nobody").await.status, 404);
    assert_eq!(host.get("/api/principals/system").await.status, 404);
}

// spec: API-04 PL-03 PL-06 PL-07
#[tokio::test]
async fn a_policy_is_put_in_force_whole_or_not_at_all() {
    let host = Host::new().await;
    let bot = host.agent("bot", &both()).await;
    let path = format!("/api/principals/{}/policy", bot.id);
    let bad = json!({"policy": {"tools": {"lok": {}, "look": {"args": {"txt": {"min": 1}}}}}});
    let refused = host.put(&path, &bad).await;
    assert_eq!(refused.status, 422);
    assert!(refused.body["error"]["details"].as_array().unwrap().len() >= 2);
    assert_eq!(
        host.get(&path).await.body,
        json!({"policy": both(), "policyVersion": 1})
    );
    let narrow = json!({"policy": {"tools": {"look": {}}}});
    assert_eq!(
        host.put(&path, &narrow).await.body,
        json!({"policyVersion": 2})
    );
    assert_eq!(
        host.call(&bot, "note", "a").await.body["error"]["code"],
        -32602
    );
    let entries = host.get("/api/audit?principal=bot&limit=1").await.body["entries"].clone();
    assert_eq!(entries[0]["kind"], "refused");
    let entries = host.get("/api/audit?principal=bot&limit=2").await.body["entries"].clone();
    let set = &entries[1]["detail"];
    assert_eq!(
        (&set["policyVersion"], &set["by"]),
        (&json!(2), &json!("ann"))
    );
    assert_eq!(set["diff"], json!([{"path": "/tools/note", "from": {}}]));
}

// spec: API-05
#[tokio::test]
async fn a_key_is_shown_once_and_may_expire() {
    let host = Host::new().await;
    let bot = host.agent("bot", &both()).await;
    let soon = toolgate_mcp::store::Clock::now(host.clock.as_ref()).plus(MINUTE);
    let path = format!("/api/principals/{}/keys", bot.id);
    let made = host.post(&path, &json!({ "expiresAt": soon })).await;
    assert_eq!(
        (made.status, made.headers["cache-control"].to_str().unwrap()),
        (201, "no-store")
    );
    let key = made.body["key"].as_str().unwrap().to_owned();
    assert!(key.starts_with("tg_") && key.len() == 35);
    assert_eq!(host.rpc(&key, "tools/list", &json!({})).await.status, 200);
    host.clock.pass(MINUTE);
    assert_eq!(host.rpc(&key, "tools/list", &json!({})).await.status, 401);
    assert_eq!(
        host.rpc(&bot.key, "tools/list", &json!({})).await.status,
        200
    );
    assert_eq!(
        host.post("/api/principals/nobody/keys", &json!({}))
            .await
            .status,
        404
    );
    assert_eq!(
        host.post(&path, &json!({"expiresAt": "tomorrow"}))
            .await
            .status,
        422
    );
}

// spec: API-06
#[tokio::test]
async fn a_key_is_revoked_by_its_own_principal_alone() {
    let host = Host::new().await;
    let (one, two) = (
        host.agent("one", &both()).await,
        host.agent("two", &both()).await,
    );
    let revoke = |of: &str, key: &str| format!("/api/principals/{of}/keys/{key}/revoke");
    assert_eq!(
        host.post(&revoke(&two.id, &one.key_id), &json!({}))
            .await
            .status,
        404
    );
    assert_eq!(
        host.rpc(&one.key, "tools/list", &json!({})).await.status,
        200
    );
    for _ in 0..2 {
        assert_eq!(
            host.post(&revoke(&one.id, &one.key_id), &json!({}))
                .await
                .status,
            200
        );
    }
    assert_eq!(
        host.rpc(&one.key, "tools/list", &json!({})).await.status,
        401
    );
    let shown = host.get("/api/principals/one").await;
    assert!(shown.body["keys"][0]["revokedAt"].is_string());
}

// spec: API-07 API-08
#[tokio::test]
async fn the_switch_goes_off_and_on_before_the_answer() {
    let host = Host::new().await;
    let bot = host.agent("bot", &both()).await;
    for _ in 0..2 {
        let off = host
            .post("/api/principals/bot/kill", &json!({"reason": "drill"}))
            .await;
        assert_eq!((off.status, &off.body["killed"]), (200, &json!(true)));
        assert_eq!(host.outcome(&bot, "look", "a").await["code"], "killed");
    }
    let shown = host.get("/api/principals/bot").await.body["kill"].clone();
    assert_eq!(
        (&shown["by"], &shown["reason"]),
        (&json!("ann"), &json!("drill"))
    );
    for _ in 0..2 {
        let on = host.post("/api/principals/bot/revive", &json!({})).await;
        assert_eq!((on.status, &on.body["killed"]), (200, &json!(false)));
    }
    assert!(host.outcome(&bot, "look", "a").await.is_null());
    let kinds = host.kinds(&bot).await;
    assert_eq!(kinds.iter().filter(|kind| *kind == "killed").count(), 1);
}

// spec: API-09 RL-05
#[tokio::test]
async fn a_dry_run_decides_and_changes_nothing() {
    let host = Host::new().await;
    let rules = json!({"tools": {"look": {"args": {"text": {"oneOf": ["a"]}}}, "note": {}}});
    let bot = host.agent("bot", &rules).await;
    let check = async |tool: &str, text: &str| {
        let body = json!({"tool": tool, "args": {"text": text}});
        let answer = host.post("/api/principals/bot/check", &body).await;
        assert_eq!(answer.status, 200);
        (
            answer.body["decision"].as_str().unwrap().to_owned(),
            answer.body["reasons"].clone(),
        )
    };
    assert_eq!(check("look", "a").await.0, "run");
    assert_eq!(check("note", "a").await.0, "queue");
    assert_eq!(check("made_up", "a").await.0, "hidden");
    let (decision, reasons) = check("look", "b").await;
    assert_eq!(
        (decision.as_str(), &reasons[0]["path"]),
        ("refuse", &json!("/text"))
    );
    for _ in 0..96 {
        check("look", "a").await;
    }
    let shown = host.get("/api/principals/bot").await.body;
    assert_eq!(
        (&shown["usage"]["usedToday"], &shown["open"]),
        (&json!(0), &json!(0))
    );
    assert_eq!(host.desk.made(), 0);
    let kinds = host.kinds(&bot).await;
    assert_eq!(kinds.iter().filter(|kind| *kind == "dry_run").count(), 100);
    host.post("/api/principals/bot/kill", &json!({})).await;
    assert_eq!(check("look", "a").await.0, "killed");
}

// spec: API-12 API-13 AU-05
#[tokio::test]
async fn the_audit_is_paged_redacted_and_verified() {
    let host = Host::new().await;
    let mut policy = both();
    policy["pii"] = "allow".into();
    let bot = host.agent("bot", &policy).await;
    let text = "mail ana@example.org password: hunter2 4242 4242 4242 4242";
    for n in 0..7 {
        host.call(&bot, "look", &format!("{text} {n}")).await;
    }
    let mut seen = Vec::new();
    let mut before = String::new();
    loop {
        let page = host
            .get(&format!("/api/audit?principal=bot&limit=4{before}"))
            .await;
        for entry in page.body["entries"].as_array().unwrap() {
            seen.push(entry["seq"].as_u64().unwrap());
        }
        match page.body.get("next") {
            Some(next) => before = format!("&before={next}"),
            None => break,
        }
    }
    assert_eq!(seen, (1..=9).rev().collect::<Vec<u64>>());
    let whole = host.get("/api/audit?limit=500").await;
    for secret in ["ana@example.org", "hunter2", "4242 4242", &bot.key, OWNER] {
        assert!(!whole.body.to_string().contains(secret), "{secret}");
    }
    let last = &whole.body["entries"][0];
    assert_eq!(
        last["args"]["text"]
            .as_str()
            .unwrap()
            .matches("[redacted:")
            .count(),
        3
    );
    for bad in ["?limit=0", "?limit=501", "?limit=x", "?before=0", "?who=me"] {
        assert_eq!(
            host.get(&format!("/api/audit{bad}")).await.status,
            422,
            "{bad}"
        );
    }
    assert_eq!(host.get("/api/audit?principal=nobody").await.status, 404);
    let found = host.get("/api/audit/verify").await.body;
    assert_eq!(
        (&found["ok"], &found["complete"], &found["problems"]),
        (&json!(true), &json!(true), &json!([]))
    );
    let system = host.get("/api/audit?principal=system").await.body;
    assert_eq!(system["entries"][0]["kind"], "operator_added");
}

// spec: API-14
#[tokio::test]
async fn demo_data_is_made_in_a_demo_alone() {
    let host = Host::new().await;
    assert_eq!(host.post("/api/seed", &json!({})).await.status, 403);
    let host = host.demo();
    let made = host.post("/api/seed", &json!({})).await;
    assert_eq!(made.status, 201);
    let key = made.body["principals"][0]["key"].as_str().unwrap();
    assert_eq!(host.rpc(key, "tools/list", &json!({})).await.status, 200);
}

#[tokio::test]
async fn a_policy_is_stored_once_and_applied_to_many() {
    let host = Host::new().await;
    let (one, _) = (
        host.agent("one", &both()).await,
        host.agent("two", &both()).await,
    );
    let bad = json!({"policy": {"tools": {"lok": {}}}});
    assert_eq!(host.put("/api/policies/reads", &bad).await.status, 422);
    assert_eq!(host.get("/api/policies/reads").await.status, 404);
    let good = json!({"policy": {"tools": {"look": {}}}});
    assert_eq!(
        host.put("/api/policies/reads", &good).await.body["version"],
        1
    );
    assert_eq!(
        host.put("/api/policies/reads", &good).await.body["version"],
        2
    );
    assert_eq!(
        host.get("/api/policies").await.body["policies"][0]["policy"],
        good["policy"]
    );
    let odd = host
        .post(
            "/api/policies/reads/apply",
            &json!({"principals": ["one", 2]}),
        )
        .await;
    assert_eq!(
        (odd.status, &odd.body["error"]["details"][0]["path"]),
        (422, &json!("/principals/1"))
    );
    assert_eq!(
        host.get("/api/principals/one").await.body["policyVersion"],
        1
    );
    let body = json!({"principals": ["one", "nobody", "two"]});
    let applied = host.post("/api/policies/reads/apply", &body).await;
    let results = applied.body["results"].as_array().unwrap().clone();
    assert_eq!(results[0], json!({"principal": "one", "policyVersion": 2}));
    assert_eq!(results[1]["error"]["code"], "not_found");
    assert_eq!(results[2]["policyVersion"], 2);
    let list = host.rpc(&one.key, "tools/list", &json!({})).await;
    assert_eq!(list.body["result"]["tools"].as_array().unwrap().len(), 1);
    let named = json!({"policyName": "reads"});
    assert_eq!(
        host.put("/api/principals/two/policy", &named).await.status,
        200
    );
    assert_eq!(
        host.get("/api/principals/two").await.body["policyName"],
        "reads"
    );
    let schema: Value = host.get("/api/policy-schema").await.body;
    assert!(schema["properties"]["tools"].is_object());
}

#[tokio::test]
async fn operators_have_names_roles_and_tokens_of_their_own() {
    let host = Host::new().await;
    let made = host
        .post("/api/operators", &json!({"name": "bob", "role": "owner"}))
        .await;
    let token = made.body["token"].as_str().unwrap().to_owned();
    assert!(token.starts_with("tga_"));
    assert_eq!(
        host.post("/api/operators", &json!({"name": "bob", "role": "owner"}))
            .await
            .status,
        409
    );
    assert_eq!(
        host.post("/api/operators", &json!({"name": "ann", "role": "owner"}))
            .await
            .status,
        409
    );
    assert_eq!(
        host.post("/api/operators", &json!({"name": "x", "role": "god"}))
            .await
            .status,
        422
    );
    let list = host.get("/api/operators").await.body;
    assert_eq!(list["operators"].as_array().unwrap().len(), 3);
    assert!(!list.to_string().contains("token"));
    let bot = host.agent("bot", &both()).await;
    let id = host.pending(&bot, "a").await;
    let path = format!("/api/approvals/{id}");
    let yes = json!({"approved": true});
    assert_eq!(
        host.api_as(&token, "POST", &path, Some(&yes)).await.status,
        200
    );
    assert_eq!(host.get(&path).await.body["answer"]["by"], "bob");
    assert_eq!(
        host.api("DELETE", "/api/operators/bob", None).await.status,
        200
    );
    assert_eq!(
        host.api_as(&token, "GET", "/api/overview", None)
            .await
            .status,
        401
    );
    assert_eq!(
        host.api("DELETE", "/api/operators/bob", None).await.status,
        404
    );
}

#[tokio::test]
async fn what_cannot_be_meant_is_refused_and_named() {
    let host = Host::new().await;
    let said = |answer: &Answer| answer.body["error"]["message"].as_str().unwrap().to_owned();
    let typo = json!({"name": "bot", "owner": "annn"});
    let typo = host.post("/api/principals", &typo).await;
    assert_eq!(
        (typo.status, &typo.body["error"]["details"][0]["path"]),
        (422, &json!("/owner"))
    );
    let shouted = host
        .post("/api/principals", &json!({"name": "Support_Bot"}))
        .await;
    assert!(said(&shouted).contains("a-z"), "{}", said(&shouted));
    let bot = host.agent("bot", &both()).await;
    let keys = format!("/api/principals/{}/keys", bot.id);
    let over = host
        .post(&keys, &json!({"expiresAt": "2020-01-01T00:00:00Z"}))
        .await;
    assert_eq!(over.status, 422);
    let missing = host.get("/api/principals/nobody").await;
    assert_eq!(
        (missing.status, said(&missing).as_str()),
        (404, "there is no such agent")
    );
    let query = host.get("/api/approvals?principle=bot").await;
    assert!(said(&query).contains("principal"));
    let env = host.api("DELETE", "/api/operators/ann", None).await;
    assert_eq!(env.status, 409);
}

#[tokio::test]
async fn a_viewer_may_ask_what_would_become_of_a_call() {
    let host = Host::new().await;
    let bot = host.agent("bot", &both()).await;
    let path = format!("/api/principals/{}/check", bot.id);
    let call = json!({"tool": "look", "args": {"text": "a"}});
    let checked = host.api_as(&host.viewer, "POST", &path, Some(&call)).await;
    assert_eq!(
        (checked.status, &checked.body["decision"]),
        (200, &json!("run"))
    );
    let spent = json!({"policy": {"tools": {"look": {}}, "perDay": 0}});
    host.put(&format!("/api/principals/{}/policy", bot.id), &spent)
        .await;
    let checked = host.post(&path, &call).await;
    assert_eq!(checked.body["reasons"][1]["code"], "budget_exhausted");
}
