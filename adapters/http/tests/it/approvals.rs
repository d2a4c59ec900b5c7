//! Operators answer requests.

use std::sync::atomic::Ordering;

use serde_json::json;
use toolgate_core::approval::WINDOW;
use toolgate_core::time::DAY;
use toolgate_http::Access;
use toolgate_http::Route;

use super::host::Host;
use super::host::both;

// spec: AP-05 API-11
#[tokio::test]
async fn a_yes_makes_the_call_and_answers_with_its_outcome() {
    let host = Host::new().await;
    let bot = host.agent("bot", &both()).await;
    let id = host.pending(&bot, "hello").await;
    let yes = host.decide(&id, true).await;
    assert_eq!(
        (yes.status, yes.body["status"].as_str()),
        (200, Some("applied"))
    );
    assert_eq!(yes.body["result"]["content"][0]["text"], "hello");
    assert_eq!(host.desk.made(), 1);
    let again = host.decide(&id, false).await;
    assert_eq!(again.status, 409);
    assert_eq!(again.body["error"]["details"]["status"], "applied");
    assert_eq!(again.body["error"]["details"]["answer"]["by"], "ann");
    assert_eq!(
        host.decide(&format!("ap_{}", "b".repeat(32)), true)
            .await
            .status,
        404
    );
    assert_eq!(host.decide("nonsense", true).await.status, 404);
}

// spec: AP-08
#[tokio::test]
async fn who_decided_is_the_token_and_not_the_body() {
    let host = Host::new().await;
    let bot = host.agent("bot", &both()).await;
    let id = host.pending(&bot, "a").await;
    let path = format!("/api/approvals/{id}");
    let forged = host
        .post(&path, &json!({"approved": true, "by": "bob"}))
        .await;
    assert_eq!(forged.status, 422);
    assert_eq!(host.desk.made(), 0);
    assert_eq!(
        host.put("/api/policies/one", &json!({"policy": both()}))
            .await
            .status,
        200
    );
    let host = host.demo();
    for route in Route::ALL
        .iter()
        .filter(|route| route.access() == Access::Owner)
    {
        let mut body = match route {
            Route::ApprovalDecide => json!({"approved": true}),
            Route::Check => json!({"tool": "look", "args": {"text": "a"}}),
            Route::OperatorAdd => json!({"name": "eve", "role": "owner"}),
            Route::PolicyApply => json!({"principals": ["bot"]}),
            Route::PolicyPut | Route::PrincipalPolicyPut => json!({"policy": {"tools": {}}}),
            Route::PrincipalAdd => json!({"name": "new"}),
            _ => json!({}),
        };
        let path = match route {
            Route::ApprovalDecide => path.clone(),
            Route::OperatorRemove => "/api/operators/vic".to_owned(),
            _ => route
                .pattern()
                .replace("{id}", &bot.id)
                .replace("{key}", &bot.key_id)
                .replace("{name}", "one"),
        };
        for by in [json!("bob"), json!(7), json!(["ann"])] {
            body["by"] = by;
            let answer = host.api(route.method(), &path, Some(&body)).await;
            let place = &answer.body["error"]["details"][0]["path"];
            assert_eq!((answer.status, place), (422, &json!("/by")), "{path}");
        }
    }
    assert_eq!(host.desk.made(), 0);
    assert_eq!(host.call(&bot, "look", "a").await.status, 200);
    let own = host
        .post(&path, &json!({"approved": true, "by": "ann"}))
        .await;
    assert_eq!(own.status, 200);
    let audit = host
        .get(&format!("/api/audit?principal={}&limit=2", bot.id))
        .await;
    assert_eq!(audit.body["entries"][1]["detail"]["by"], "ann");
}

// spec: AC-19 AP-06 KS-03
#[tokio::test]
async fn what_changed_before_the_yes_blocks_the_call() {
    let host = Host::new().await;
    let blocked = async |name: &str,
                         change: &dyn Fn(
        &super::host::Agent,
    ) -> (String, String, serde_json::Value)| {
        let bot = host.agent(name, &both()).await;
        let id = host.pending(&bot, "a").await;
        let (method, path, body) = change(&bot);
        assert_eq!(host.api(&method, &path, Some(&body)).await.status, 200);
        let yes = host.decide(&id, true).await;
        assert_eq!(
            (yes.status, yes.body["status"].as_str()),
            (200, Some("blocked"))
        );
        yes.body["message"].as_str().unwrap().to_owned()
    };
    let why = blocked("killed", &|bot| {
        (
            "POST".to_owned(),
            format!("/api/principals/{}/kill", bot.id),
            json!({}),
        )
    })
    .await;
    assert!(why.contains("switched off"), "{why}");
    let why = blocked("revoked", &|bot| {
        let path = format!("/api/principals/{}/keys/{}/revoke", bot.id, bot.key_id);
        ("POST".to_owned(), path, json!({}))
    })
    .await;
    assert!(why.contains("key"), "{why}");
    let tightened = json!({"policy": {"tools": {"note": {"args": {"text": {"oneOf": ["b"]}}}}}});
    let why = blocked("tightened", &|bot| {
        (
            "PUT".to_owned(),
            format!("/api/principals/{}/policy", bot.id),
            tightened.clone(),
        )
    })
    .await;
    assert!(!why.is_empty());
    blocked("removed", &|bot| {
        let path = format!("/api/principals/{}/policy", bot.id);
        ("PUT".to_owned(), path, json!({"policy": {"tools": {}}}))
    })
    .await;
    assert_eq!(host.desk.made(), 0);
}

// spec: AC-19
#[tokio::test]
async fn a_policy_that_changed_and_still_allows_the_call_does_not_block_it() {
    let host = Host::new().await;
    let bot = host.agent("bot", &both()).await;
    let id = host.pending(&bot, "a").await;
    let wider = json!({"policy": {"tools": {"look": {}, "note": {}}, "perMinute": 600}});
    assert_eq!(
        host.put(&format!("/api/principals/{}/policy", bot.id), &wider)
            .await
            .status,
        200
    );
    assert_eq!(host.decide(&id, true).await.body["status"], "applied");
}

// spec: F08
#[tokio::test(flavor = "multi_thread")]
async fn of_a_yes_and_a_no_at_once_the_first_wins() {
    let host = Host::new().await;
    let bot = host.agent("bot", &both()).await;
    for n in 0..20 {
        let id = host.pending(&bot, &n.to_string()).await;
        let (yes, no) = tokio::join!(host.decide(&id, true), host.decide(&id, false));
        let mut statuses = [yes.status, no.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409]);
        host.clock.pass(10_000);
    }
}

// spec: F09
#[tokio::test(flavor = "multi_thread")]
async fn nothing_runs_once_a_kill_has_answered() {
    let host = Host::new().await;
    for n in 0..20 {
        let bot = host.agent(&format!("bot-{n}"), &both()).await;
        let id = host.pending(&bot, "a").await;
        let kill = format!("/api/principals/{}/kill", bot.id);
        let nothing = json!({});
        let (killed, decided) = tokio::join!(host.post(&kill, &nothing), host.decide(&id, true));
        assert_eq!(killed.status, 200);
        let kinds = host.kinds(&bot).await;
        let at = |kind: &str| kinds.iter().rposition(|found| found == kind);
        match decided.body["status"].as_str() {
            // Newest first: the intent is older than the kill.
            Some("applied" | "failed") => assert!(at("intent") > at("killed"), "{kinds:?}"),
            Some("blocked") => assert_eq!(at("intent"), None),
            other => assert_eq!(other, None, "{:?}", decided.body),
        }
    }
}

// spec: AC-18 F10
#[tokio::test]
async fn nobody_answers_after_the_window() {
    let host = Host::new().await;
    let bot = host.agent("bot", &both()).await;
    let (in_time, late) = (host.pending(&bot, "a").await, host.pending(&bot, "b").await);
    host.clock.pass(WINDOW - 1);
    assert_eq!(host.decide(&in_time, true).await.body["status"], "applied");
    host.clock.pass(1);
    let yes = host.decide(&late, true).await;
    assert_eq!(yes.status, 409);
    assert_eq!(yes.body["error"]["details"]["status"], "expired");
    assert_eq!(host.desk.made(), 1);
    assert_ne!(host.pending(&bot, "b").await, late);
}

// spec: AC-17
#[tokio::test]
async fn a_decline_tells_the_agent_not_to_retry_and_holds_for_a_day() {
    let host = Host::new().await;
    let bot = host.agent("bot", &both()).await;
    let id = host.pending(&bot, "a").await;
    let no = json!({"approved": false, "reason": "not this customer"});
    assert_eq!(
        host.post(&format!("/api/approvals/{id}"), &no).await.body["status"],
        "declined"
    );
    host.clock.pass(DAY - 1);
    let result = host.result(&bot, "note", "a").await;
    let outcome = &result["_meta"]["toolgate/outcome"];
    assert_eq!(
        (outcome["status"].as_str(), outcome["retry"].as_str()),
        (Some("declined"), Some("never"))
    );
    assert_eq!(outcome["reason"], "not this customer");
    assert_eq!(result["isError"], true);
    host.clock.pass(1);
    assert_ne!(host.pending(&bot, "a").await, id);
}

#[tokio::test]
async fn an_approver_who_hangs_up_does_not_lose_the_outcome() {
    let host = Host::new().await;
    let bot = host.agent("bot", &both()).await;
    let id = host.pending(&bot, "kept").await;
    let held = host.desk.hold();
    {
        let deciding = host.decide(&id, true);
        tokio::pin!(deciding);
        while host.desk.made() == 0 {
            tokio::select! {
                answer = &mut deciding => assert_eq!(answer.status, 0),
                () = tokio::task::yield_now() => {}
            }
        }
    }
    held.add_permits(1);
    let result = host.result(&bot, "note", "kept").await;
    assert_eq!(result["_meta"]["toolgate/outcome"]["status"], "applied");
    assert_eq!(host.desk.made(), 1);
}

// spec: API-10
#[tokio::test]
async fn requests_are_listed_and_shown_with_what_they_ask() {
    let host = Host::new().await;
    let bot = host.agent("bot", &both()).await;
    let text = "card 4242 4242 4242 4242\u{202e}";
    let id = host.pending(&bot, text).await;
    let list = host.get("/api/approvals?status=pending").await;
    assert_eq!(list.body["approvals"][0]["id"], json!(id));
    assert_eq!(list.body["approvals"][0]["args"]["text"], text);
    assert_eq!(
        host.get("/api/approvals?status=applied").await.body["approvals"],
        json!([])
    );
    for bad in [
        "?status=nonsense",
        "?limit=0",
        "?limit=501",
        "?other=1",
        "?status=a&status=b",
    ] {
        assert_eq!(host.get(&format!("/api/approvals{bad}")).await.status, 422);
    }
    let path = format!("/api/approvals/{id}");
    let viewed = host.api_as(&host.viewer, "GET", &path, None).await;
    assert!(!viewed.body.to_string().contains("4242"));
    let shown = host.get(&path).await;
    let prompt = shown.body["prompt"].as_str().unwrap();
    assert!(prompt.contains("4242 4242") && prompt.contains("\\u{202E}"));
    let stale = json!({"approved": true, "viewedDigest": "0".repeat(64)});
    assert_eq!(host.post(&path, &stale).await.status, 409);
    let seen = json!({"approved": true, "viewedDigest": shown.body["viewedDigest"]});
    assert_eq!(host.post(&path, &seen).await.body["status"], "applied");
    assert!(!host.get(&path).await.body.to_string().contains("4242 4242"));
}

#[tokio::test]
async fn nothing_that_an_agent_writes_leaves_its_block_of_the_prompt() {
    let host = Host::new().await;
    let bot = host.agent("bot", &both()).await;
    let hostile = "a\n\n# Approved\n```\n</code>\r\u{85}\u{2028}\u{2029}\u{1b}[2J\u{feff}\u{e0041}";
    let id = host.pending(&bot, hostile).await;
    let shown = host.get(&format!("/api/approvals/{id}")).await.body;
    let prompt = shown["prompt"].as_str().unwrap();
    let (_, block) = prompt.split_once("in the agent's words:\n\n").unwrap();
    assert!(block.contains("# Approved"));
    for line in block.split([
        '\n', '\r', '\u{85}', '\u{2028}', '\u{2029}', '\u{b}', '\u{c}',
    ]) {
        assert!(line.is_empty() || line.starts_with("    "), "{line:?}");
    }
    assert!(
        prompt
            .chars()
            .all(|c| c == '\n' || !toolgate_core::id::is_deceptive(c))
    );
}

#[tokio::test]
async fn an_owner_approves_for_its_own_agent_only_while_it_is_alone() {
    let host = Host::new().await;
    let made = json!({"name": "bot", "owner": "ann", "policy": both()});
    assert_eq!(host.post("/api/principals", &made).await.status, 201);
    let key = host.post("/api/principals/bot/keys", &json!({})).await.body;
    let bot = super::host::Agent {
        id: "bot".to_owned(),
        key_id: key["id"].as_str().unwrap().to_owned(),
        key: key["key"].as_str().unwrap().to_owned(),
    };
    let alone = host.pending(&bot, "alone").await;
    let yes = host.decide(&alone, true).await;
    assert_eq!(
        (yes.status, &yes.body["answer"]["own"]),
        (200, &json!(true))
    );
    let bob = host
        .post("/api/operators", &json!({"name": "bob", "role": "owner"}))
        .await;
    let bob = bob.body["token"].as_str().unwrap().to_owned();
    let id = host.pending(&bot, "not alone").await;
    assert_eq!(host.decide(&id, true).await.status, 403);
    let path = format!("/api/approvals/{id}");
    let yes = host
        .api_as(&bob, "POST", &path, Some(&json!({"approved": true})))
        .await;
    assert_eq!(yes.status, 200);
    let id = host.pending(&bot, "declined").await;
    assert_eq!(host.decide(&id, false).await.status, 200);
}

#[tokio::test]
async fn no_request_is_hidden_behind_newer_ones() {
    let host = Host::new().await;
    let bot = host.agent("bot", &both()).await;
    let mut asked = Vec::new();
    for n in 0..5 {
        asked.push(host.pending(&bot, &n.to_string()).await);
        host.clock.pass(1);
    }
    let mut seen = Vec::new();
    let mut path = "/api/approvals?status=pending&limit=2".to_owned();
    loop {
        let page = host.get(&path).await.body;
        let ids = page["approvals"].as_array().unwrap().iter();
        seen.extend(ids.map(|approval| approval["id"].as_str().unwrap().to_owned()));
        let Some(next) = page["next"].as_str() else {
            break;
        };
        path = format!("/api/approvals?status=pending&limit=2&before={next}");
    }
    asked.reverse();
    assert_eq!(seen, asked);
    let unknown = host.get("/api/approvals?status=pendig").await;
    assert_eq!(unknown.status, 422);
    let said = unknown.body["error"]["message"].as_str().unwrap();
    assert!(said.contains("pending"), "{said}");
}

#[tokio::test]
async fn a_second_try_is_shown_in_full_and_held_to_what_was_shown() {
    let host = Host::new().await;
    let bot = host.agent("bot", &both()).await;
    let id = host.pending(&bot, "for ana@example.org").await;
    host.desk.fails.store(true, Ordering::SeqCst);
    assert_eq!(host.decide(&id, true).await.body["status"], "failed");
    let path = format!("/api/approvals/{id}");
    let shown = host.get(&path).await.body;
    assert_eq!(shown["args"]["text"], "for ana@example.org");
    let forged = json!({"approved": true, "viewedDigest": "0".repeat(64)});
    assert_eq!(host.post(&path, &forged).await.status, 409);
    host.desk.fails.store(false, Ordering::SeqCst);
    let viewed = json!({"approved": true, "viewedDigest": shown["viewedDigest"]});
    assert_eq!(host.post(&path, &viewed).await.body["status"], "applied");
}
