//! Agents call tools.

use futures_util::future::join_all;
use serde_json::json;

use super::host::Host;
use super::host::both;

// spec: MT-01
#[tokio::test]
async fn two_agents_see_their_own_tools() {
    let host = Host::new().await;
    let reader = host.agent("reader", &json!({"tools": {"look": {}}})).await;
    let writer = host.agent("writer", &json!({"tools": {"note": {}}})).await;
    let names = async |key: &str| {
        let list = host.rpc(key, "tools/list", &json!({})).await;
        let tools = list.body["result"]["tools"].as_array().unwrap().clone();
        tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&reader.key).await, ["look"]);
    assert_eq!(names(&writer.key).await, ["approval_outcome", "note"]);
}

// spec: MT-02
#[tokio::test]
async fn a_hidden_tool_is_one_that_never_existed() {
    let host = Host::new().await;
    let reader = host.agent("reader", &json!({"tools": {"look": {}}})).await;
    let hidden = host.call(&reader, "note", "a").await;
    let never = host.call(&reader, "made_up", "a").await;
    assert_eq!(hidden.body["error"]["code"], -32602);
    assert_eq!(hidden.raw, never.raw);
    assert_eq!(hidden, never);
}

#[tokio::test]
async fn agents_with_opposite_policies_do_not_touch_each_other() {
    let host = Host::new().await;
    let slow = json!({"tools": {"look": {"args": {"text": {"oneOf": ["a"]}}}}, "perMinute": 5});
    let free = json!({"tools": {"note": {"approval": "never"}}, "perMinute": 5_000});
    let (slow, free) = (
        host.agent("slow", &slow).await,
        host.agent("free", &free).await,
    );
    let (mut looked, mut refused) = (0, 0);
    for n in 0..500_u32 {
        let text = if n % 2 == 0 { "a" } else { "b" };
        let outcome = host.outcome(&slow, "look", text).await;
        match outcome["code"].as_str() {
            None => looked += 1,
            Some("rate_limited" | "argument_refused") => refused += 1,
            Some(other) => assert_eq!(other, "", "{outcome}"),
        }
        let noted = host.outcome(&free, "note", &n.to_string()).await;
        assert_eq!(noted["status"], "applied", "{noted}");
        assert_eq!(
            host.call(&slow, "note", "a").await.body["error"]["code"],
            -32602
        );
        assert_eq!(
            host.call(&free, "look", "a").await.body["error"]["code"],
            -32602
        );
    }
    assert!((1..=5).contains(&looked) && looked + refused == 500);
    assert_eq!(host.desk.made(), 500 + looked);
}

// spec: MC-02
#[tokio::test(flavor = "multi_thread")]
async fn twenty_five_calls_at_once_on_ten_tokens() {
    let host = Host::new().await;
    let bot = host
        .agent("bot", &json!({"tools": {"look": {}}, "perMinute": 10}))
        .await;
    let texts: Vec<String> = (0..25).map(|n| n.to_string()).collect();
    let calls = join_all(texts.iter().map(|text| host.result(&bot, "look", text))).await;
    let refused = calls
        .iter()
        .filter(|result| result["_meta"]["toolgate/outcome"]["code"] == "rate_limited")
        .count();
    assert_eq!((refused, host.desk.made()), (15, 10));
}

// spec: MC-01 AC-16 F07
#[tokio::test(flavor = "multi_thread")]
async fn five_retries_of_an_approved_write_run_it_once() {
    let host = Host::new().await;
    let bot = host.agent("bot", &both()).await;
    let id = host.pending(&bot, "once").await;
    let held = host.desk.hold();
    let deciding = host.decide(&id, true);
    let retrying = join_all((0..5).map(|_| host.result(&bot, "note", "once")));
    let letting = async {
        while host.desk.made() == 0 {
            tokio::task::yield_now().await;
        }
        held.add_permits(5);
    };
    let (decided, retries, ()) = tokio::join!(deciding, retrying, letting);
    assert_eq!(decided.body["status"], "applied");
    assert_eq!(host.desk.made(), 1);
    // Those that came before the yes were told to wait; from now on all get the stored result.
    assert_eq!(retries.len(), 5);
    for result in join_all((0..5).map(|_| host.result(&bot, "note", "once"))).await {
        assert!(
            result["content"][0]["text"]
                .as_str()
                .unwrap()
                .contains("\nonce\n")
        );
        assert_eq!(result["_meta"]["toolgate/outcome"]["status"], "applied");
    }
    assert_eq!(host.desk.made(), 1);
}

// spec: AP-02 AP-04
#[tokio::test]
async fn a_write_waits_and_its_repeat_finds_the_request() {
    let host = Host::new().await;
    let bot = host.agent("bot", &both()).await;
    let first = host.result(&bot, "note", "a").await;
    assert_eq!(first["structuredContent"]["status"], "pending_approval");
    assert_eq!(
        first["structuredContent"],
        first["_meta"]["toolgate/outcome"]
    );
    assert_eq!(first.get("isError"), None);
    let text = first["content"][0]["text"].as_str().unwrap();
    let id = first["structuredContent"]["id"].as_str().unwrap();
    assert!(text.contains(id) && text.contains("approval_outcome"));
    assert_eq!(host.desk.made(), 0);
    assert_eq!(host.pending(&bot, "a").await, id);
    assert_eq!(host.decide(id, false).await.status, 200);
    assert_eq!(host.outcome(&bot, "note", "a").await["code"], "declined");
}

// spec: KS-01
#[tokio::test]
async fn a_killed_agent_sees_nothing_and_is_refused_everything() {
    let host = Host::new().await;
    let bot = host.agent("bot", &both()).await;
    let kill = format!("/api/principals/{}/kill", bot.id);
    assert_eq!(
        host.post(&kill, &json!({"reason": "drill"})).await.status,
        200
    );
    let list = host.rpc(&bot.key, "tools/list", &json!({})).await;
    assert_eq!(list.body["result"]["tools"], json!([]));
    for tool in ["look", "note", "made_up"] {
        let outcome = host.outcome(&bot, tool, "a").await;
        assert_eq!(
            (outcome["code"].as_str(), outcome["retry"].as_str()),
            (Some("killed"), Some("never"))
        );
    }
    assert_eq!(host.desk.made(), 0);
    host.post(&format!("/api/principals/{}/revive", bot.id), &json!({}))
        .await;
    assert!(host.outcome(&bot, "look", "a").await.is_null());
}

// spec: LI-14 F31
#[tokio::test]
async fn what_is_another_agents_is_not_there() {
    let host = Host::new().await;
    let (one, two) = (
        host.agent("one", &both()).await,
        host.agent("two", &both()).await,
    );
    let theirs = host.pending(&one, "a").await;
    let ask = async |id: &str| {
        let params = json!({"name": "approval_outcome", "arguments": {"id": id}});
        host.rpc(&two.key, "tools/call", &params).await
    };
    let missing = format!("ap_{}", "a".repeat(32));
    assert_eq!(ask(&theirs).await.raw, ask(&missing).await.raw);
    host.decide(&theirs, true).await;
    assert_eq!(ask(&theirs).await.raw, ask(&missing).await.raw);
    let foreign = format!("/api/principals/{}/keys/{}/revoke", two.id, one.key_id);
    assert_eq!(host.post(&foreign, &json!({})).await.status, 404);
}

// spec: KY-03
#[tokio::test]
async fn a_revoked_key_is_refused_with_its_next_request() {
    let host = Host::new().await;
    let bot = host.agent("bot", &both()).await;
    assert_eq!(host.call(&bot, "look", "a").await.status, 200);
    let revoke = format!("/api/principals/{}/keys/{}/revoke", bot.id, bot.key_id);
    for _ in 0..2 {
        assert_eq!(host.post(&revoke, &json!({})).await.status, 200);
    }
    for method in ["tools/list", "initialize"] {
        let answer = host.rpc(&bot.key, method, &json!({})).await;
        assert_eq!(answer.status, 401);
        assert!(
            answer.headers["www-authenticate"]
                .to_str()
                .unwrap()
                .starts_with("Bearer")
        );
    }
    assert_eq!(host.call(&bot, "look", "a").await.status, 401);
}

#[tokio::test]
async fn a_loop_of_refusals_grows_nothing() {
    let host = Host::new().await;
    let bot = host
        .agent("bot", &json!({"tools": {"look": {}}, "perMinute": 5}))
        .await;
    for n in 0..2_000 {
        let text = n.to_string();
        host.call(&bot, &format!("made_up_{n}"), "a").await;
        host.call(&bot, "look", &text).await;
        let bad = json!({"name": "look", "arguments": {"text": n}});
        host.rpc(&bot.key, "tools/call", &bad).await;
        host.clock.pass(1);
    }
    assert!(host.kinds(&bot).await.len() < 20);
}

#[tokio::test]
async fn arguments_that_are_not_strict_are_refused_with_their_place() {
    let host = Host::new().await;
    let bot = host.agent("bot", &both()).await;
    for (arguments, path) in [
        (r#"{"text":"a","id":9007199254740993}"#, "/id"),
        (r#"{"text":"a","text":"b"}"#, "/text"),
    ] {
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"look","arguments":{arguments}}}}}"#
        );
        let request = http::Request::builder()
            .method("POST")
            .uri("/mcp")
            .header("authorization", format!("Bearer {}", bot.key))
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        let answer = host.send(request, message.as_bytes()).await;
        let outcome = &answer.body["result"]["_meta"]["toolgate/outcome"];
        assert_eq!(outcome["code"], "arguments_malformed", "{:?}", answer.body);
        assert_eq!(outcome["path"], path);
    }
    assert_eq!(host.desk.made(), 0);
}
