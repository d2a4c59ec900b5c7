//! What is said about requests in the log.

use std::fmt;
use std::sync::Arc;
use std::sync::Mutex;
use std::thread::ThreadId;

use http::Request;
use serde_json::json;
use tracing::field::Field;
use tracing::field::Visit;
use tracing::span;

use super::host::Host;
use super::host::OWNER;
use super::host::both;

/// Keeps events of every level as text, with the thread that they came from: tests that run beside
/// each other share one subscriber, and each test's runtime keeps to one thread.
#[derive(Debug, Clone, Default)]
struct Kept(Arc<Mutex<Vec<(ThreadId, String)>>>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.push_str(&format!(" {field}={value:?}"));
    }
}

impl tracing::Subscriber for Kept {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &span::Attributes<'_>) -> span::Id {
        let mut line = Line(String::new());
        span.record(&mut line);
        self.keep(line);
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, values: &span::Record<'_>) {
        let mut line = Line(String::new());
        values.record(&mut line);
        self.keep(line);
    }

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut line = Line(event.metadata().target().to_owned());
        event.record(&mut line);
        self.keep(line);
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

impl Kept {
    fn keep(&self, line: Line) {
        let here = std::thread::current().id();
        self.0.lock().unwrap().push((here, line.0));
    }

    /// The lines of this thread since the last time.
    fn take(&self) -> Vec<String> {
        let here = std::thread::current().id();
        let lines = std::mem::take(&mut *self.0.lock().unwrap());
        let own = lines.into_iter().filter(|(thread, _)| *thread == here);
        own.map(|(_, line)| line).collect()
    }
}

const SECRET: &str = "hunter2-and-more";

#[tokio::test]
async fn every_request_is_one_event_without_anything_of_the_callers() {
    let kept = Kept::default();
    tracing::subscriber::set_global_default(kept.clone()).unwrap();
    let host = Host::new().await.demo();
    let bot = host.agent("bot", &both()).await;
    let id = host.pending(&bot, SECRET).await;
    kept.take();
    let secret = |path: &str| format!("{path}{SECRET}");
    let yes = json!({"approved": true, "reason": SECRET});
    let asked = [
        (
            "GET",
            "/api/overview".to_owned(),
            None,
            200,
            "/api/overview",
        ),
        ("GET", secret("/api/"), None, 404, "none"),
        ("PATCH", "/api/overview".to_owned(), None, 405, "none"),
        (SECRET, "/api/overview".to_owned(), None, 405, "none"),
        (
            "GET",
            secret("/api/principals/"),
            None,
            404,
            "/api/principals/{id}",
        ),
        (
            "GET",
            secret("/api/audit?principal="),
            None,
            404,
            "/api/audit",
        ),
        (
            "POST",
            format!("/api/approvals/{id}"),
            Some(yes),
            200,
            "/api/approvals/{id}",
        ),
        (
            "POST",
            "/api/principals".to_owned(),
            Some(json!({ "name": SECRET.to_uppercase() })),
            422,
            "/api/principals",
        ),
    ];
    for (method, path, body, status, route) in asked {
        assert_eq!(
            host.api(method, &path, body.as_ref()).await.status,
            status,
            "{path}"
        );
        let lines = kept.take();
        let answered: Vec<&String> = lines
            .iter()
            .filter(|line| line.contains("message=answered"))
            .collect();
        assert_eq!(answered.len(), 1, "{lines:?}");
        assert!(answered[0].starts_with("toolgate_http"), "{lines:?}");
        assert!(
            answered[0].contains(&format!("route=\"{route}\"")),
            "{lines:?}"
        );
        assert!(
            answered[0].contains(&format!("status={status}")),
            "{lines:?}"
        );
        for hidden in [SECRET, &SECRET.to_uppercase(), OWNER, &bot.key] {
            assert!(!lines.iter().any(|line| line.contains(hidden)), "{lines:?}");
        }
    }
    let foreign = Request::builder().uri("/health").header("host", SECRET);
    assert_eq!(host.send(foreign, b"").await.status, 403);
    let bare = Request::builder().uri("/api/overview");
    assert_eq!(host.send(bare, b"").await.status, 401);
    assert_eq!(host.call(&bot, "look", SECRET).await.status, 200);
    assert_eq!(host.call(&bot, SECRET, SECRET).await.status, 200);
    assert_eq!(host.rpc(SECRET, "tools/list", &json!({})).await.status, 401);
    let lines = kept.take();
    let answered = lines
        .iter()
        .filter(|line| line.contains("message=answered"));
    assert_eq!(answered.count(), 5, "{lines:?}");
    for hidden in [SECRET, OWNER, &bot.key] {
        assert!(!lines.iter().any(|line| line.contains(hidden)), "{lines:?}");
    }
    let calls: Vec<&String> = lines
        .iter()
        .filter(|line| line.contains("call=\"c_"))
        .collect();
    assert_eq!(calls.len(), 2, "{lines:?}");
}
