//! Who gets in: hosts, keys, tokens, roles, shapes.

use http::Request;
use serde_json::json;
use toolgate_http::Access;
use toolgate_http::Route;

use super::host::Host;
use super::host::OWNER;
use super::host::both;

fn path(route: Route, id: &str) -> String {
    route
        .pattern()
        .replace("{id}", id)
        .replace("{key}", "k_1")
        .replace("{name}", "x")
}

#[tokio::test]
async fn every_admin_route_wants_a_good_token_and_the_role() {
    let host = Host::new().await.demo();
    let bot = host.agent("bot", &both()).await;
    for route in Route::ALL.iter().copied() {
        if !matches!(route.access(), Access::Owner | Access::Viewer) {
            continue;
        }
        let path = path(route, &bot.id);
        let bare = Request::builder().method(route.method()).uri(&path);
        let bare = host.send(bare, b"").await;
        assert_eq!(bare.status, 401, "{path}");
        assert!(bare.headers.contains_key("www-authenticate"));
        for token in [
            "made-up",
            bot.key.as_str(),
            "tga_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        ] {
            let answer = host.api_as(token, route.method(), &path, None).await;
            assert_eq!(answer.status, 401, "{path}");
            assert_eq!(answer.body, bare.body);
        }
        if route.access() == Access::Owner {
            let body = json!({});
            let viewer = host.viewer.clone();
            let answer = host
                .api_as(&viewer, route.method(), &path, Some(&body))
                .await;
            assert_eq!(answer.status, 403, "{path}");
        }
    }
    assert_eq!(host.desk.made(), 0);
}

// spec: F29 KY-04 MT-06
#[tokio::test]
async fn a_key_that_is_not_good_is_one_answer_whatever_is_wrong_with_it() {
    let host = Host::new().await;
    let bot = host.agent("bot", &both()).await;
    let key = bot.key.clone();
    let short = key.get(..34).unwrap().to_owned();
    let unknown = format!("tg_{}", "a".repeat(32));
    let mut answers = Vec::new();
    for bad in [
        "Bearer tg_x".to_owned(),
        format!("Bearer {short}"),
        format!("Bearer {key}a"),
        format!("Bearer {}", key.to_uppercase()),
        format!("Bearer {unknown}"),
    ] {
        let request = Request::builder()
            .method("POST")
            .uri("/mcp")
            .header("authorization", bad);
        let answer = host.send(request, b"{}").await;
        assert_eq!(answer.status, 401);
        let scheme = answer.headers["www-authenticate"]
            .to_str()
            .unwrap()
            .to_owned();
        assert!(scheme.starts_with("Bearer"));
        answers.push((answer.raw, scheme));
    }
    assert!(answers.windows(2).all(|pair| pair[0] == pair[1]));
    for odd in ["Bearer", "Bearer ", "bearer", "Basic abc", "", "Bearer a b"] {
        let request = Request::builder()
            .method("POST")
            .uri("/mcp")
            .header("authorization", odd);
        assert_eq!(host.send(request, b"{}").await.status, 401, "{odd}");
    }
    let bare = Request::builder().method("POST").uri("/mcp");
    assert_eq!(host.send(bare, b"{}").await.status, 401);
    let twice = Request::builder()
        .method("POST")
        .uri("/mcp")
        .header("authorization", format!("Bearer {key}"))
        .header("authorization", format!("Bearer {key}"));
    assert_eq!(host.send(twice, b"{}").await.status, 401);
}

// spec: MT-07
#[tokio::test]
async fn a_foreign_host_or_origin_gets_nowhere() {
    let host = Host::new().await;
    let bot = host.agent("bot", &both()).await;
    for (name, value) in [
        ("host", "evil.example"),
        ("host", "127.0.0.1:8787@evil.example"),
        ("host", "evil.example#@127.0.0.1"),
        ("host", "127.0.0.1.evil.example"),
        ("host", ""),
        ("origin", "https://evil.example"),
        ("origin", "null"),
    ] {
        for (path, token) in [
            ("/mcp", bot.key.as_str()),
            ("/api/overview", OWNER),
            ("/health", OWNER),
            ("/ready", OWNER),
        ] {
            let request = Request::builder()
                .method(if path == "/mcp" { "POST" } else { "GET" })
                .uri(path)
                .header(name, value)
                .header("authorization", format!("Bearer {token}"));
            assert_eq!(
                host.send(request, b"").await.status,
                403,
                "{name} {value} {path}"
            );
        }
    }
    let elsewhere = Request::builder()
        .uri("http://evil.example/api/overview")
        .header("authorization", format!("Bearer {OWNER}"));
    let refused = host.send(elsewhere, b"").await;
    assert_eq!(
        (refused.status, &refused.body["error"]["code"]),
        (403, &json!("foreign_host"))
    );
    let deep = format!("{}1{}", "[".repeat(100), "]".repeat(100));
    let message =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"x":{deep}}}}}"#);
    let ask = || {
        Request::builder()
            .method("POST")
            .uri("/mcp")
            .header("authorization", format!("Bearer {}", bot.key))
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
    };
    assert_eq!(host.send(ask(), message.as_bytes()).await.status, 400);
    let large = vec![b' '; (1 << 20) + 1];
    assert_eq!(host.send(ask(), &large).await.status, 413);
}

#[tokio::test]
async fn a_path_is_taken_as_it_was_sent() {
    let host = Host::new().await;
    for path in [
        "/api/overview/",
        "//api/overview",
        "/api//overview",
        "/api/./overview",
        "/API/overview",
        "/api/x/../overview",
        "/api%2foverview",
        "/api/%6fverview",
        "/",
        "/api",
        "/mcp/desk",
    ] {
        assert_eq!(host.api("GET", path, None).await.status, 404, "{path}");
    }
    let wrong = host.api("PATCH", "/api/overview", None).await;
    assert_eq!(
        (wrong.status, wrong.headers["allow"].to_str().unwrap()),
        (405, "GET")
    );
}

#[tokio::test]
async fn a_body_is_strict_known_and_json() {
    let host = Host::new().await;
    let send = async |kind: Option<&str>, body: &str| {
        let mut request = Request::builder()
            .method("POST")
            .uri("/api/principals")
            .header("authorization", format!("Bearer {OWNER}"));
        if let Some(kind) = kind {
            request = request.header("content-type", kind);
        }
        host.send(request, body.as_bytes()).await
    };
    assert_eq!(send(None, r#"{"name":"a"}"#).await.status, 415);
    assert_eq!(
        send(Some("text/plain"), r#"{"name":"a"}"#).await.status,
        415
    );
    let json = Some("application/json; charset=utf-8");
    for (body, status) in [
        ("{", 400),
        (r#"{"name":"a","name":"b"}"#, 400),
        ("\u{feff}{}", 400),
        ("[]", 422),
        ("{}", 422),
        (r#"{"name":5}"#, 422),
        (r#"{"name":"Not A Name"}"#, 422),
        (r#"{"name":"a","secretvalue":1}"#, 422),
        (r#"{"name":"system"}"#, 409),
        (r#"{"name":"fine"}"#, 201),
        (r#"{"name":"fine"}"#, 409),
    ] {
        let answer = send(json, body).await;
        assert_eq!(answer.status, status, "{body} {:?}", answer.body);
        assert_eq!(answer.headers["cache-control"], "no-store");
        assert!(!answer.headers.contains_key("access-control-allow-origin"));
        if status != 201 {
            assert!(answer.body["error"]["code"].is_string());
        }
    }
    let long = format!(r#"{{"name":"{}"}}"#, "a".repeat(1 << 20));
    assert_eq!(send(json, &long).await.status, 413);
}

#[tokio::test]
async fn health_and_readiness_need_no_token_and_tell_no_secret() {
    let host = Host::new().await;
    let ask = |path: &str| Request::builder().method("GET").uri(path.to_owned());
    assert_eq!(host.send(ask("/health"), b"").await.body["status"], "ok");
    assert_eq!(host.send(ask("/ready"), b"").await.status, 200);
    host.ready
        .0
        .store(false, std::sync::atomic::Ordering::SeqCst);
    assert_eq!(host.send(ask("/health"), b"").await.status, 200);
    assert_eq!(host.send(ask("/ready"), b"").await.status, 503);
}
