//! Web fetch.

use std::sync::Arc;
use std::sync::Mutex;

use async_trait::async_trait;
use serde_json::json;
use toolgate_backends::BackendError;
use toolgate_backends::Fetch;
use toolgate_backends::Fetched;
use toolgate_backends::Web;
use toolgate_core::rules::HostRules;

use super::host::call_with;

#[derive(Debug, Default)]
struct Double {
    asked: Mutex<Vec<String>>,
    answer: Fetched,
}

#[async_trait]
impl Fetch for Double {
    async fn get(&self, url: &str, _: &HostRules, _: usize) -> Result<Fetched, BackendError> {
        self.asked.lock().unwrap().push(url.to_owned());
        Ok(self.answer.clone())
    }
}

fn page(content_type: &str, body: &str) -> Arc<Double> {
    let answer = Fetched {
        status: 200,
        content_type: Some(content_type.to_owned()),
        body: body.as_bytes().to_vec(),
        ..Fetched::default()
    };
    Arc::new(Double {
        answer,
        ..Double::default()
    })
}

fn hosts() -> Option<HostRules> {
    HostRules::new(&["docs.example.com".to_owned()]).ok()
}

// spec: DB-04
#[tokio::test]
async fn only_hosts_that_the_policy_lists_are_asked() {
    let double = page("text/html; charset=utf-8", "<p>hello</p>");
    let web = Web::new(double.clone()).unwrap();
    let without = call_with(
        &web,
        "web_fetch",
        json!({"url": "https://docs.example.com/"}),
        None,
    );
    assert_eq!(without.await["isError"], true);
    for url in [
        "https://evil.example/",
        "http://docs.example.com/",
        "https://docs.example.com:8443/",
        "https://u:p@docs.example.com/",
        "https://docs.example.com.evil.example/",
        "nonsense",
    ] {
        let refused = call_with(&web, "web_fetch", json!({ "url": url }), hosts()).await;
        assert_eq!(refused["isError"], true, "{url}");
    }
    assert!(double.asked.lock().unwrap().is_empty());
    let got = call_with(
        &web,
        "web_fetch",
        json!({"url": "https://docs.example.com/a"}),
        hosts(),
    );
    let got = got.await;
    assert_eq!(got["structuredContent"]["text"], "<p>hello</p>");
    assert_eq!(got["structuredContent"]["totalBytes"], 12);
    assert_eq!(double.asked.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn no_redirect_is_followed_and_only_text_is_shown() {
    let answer = Fetched {
        status: 302,
        location: Some("https://169.254.169.254/".to_owned()),
        ..Fetched::default()
    };
    let double = Arc::new(Double {
        answer,
        ..Double::default()
    });
    let web = Web::new(double.clone()).unwrap();
    let ask = || {
        call_with(
            &web,
            "web_fetch",
            json!({"url": "https://docs.example.com/"}),
            hosts(),
        )
    };
    let moved = ask().await;
    assert_eq!(moved["isError"], true);
    assert!(
        moved["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("302")
    );
    assert_eq!(double.asked.lock().unwrap().len(), 1);
    let image = Web::new(page("image/png", "x")).unwrap();
    let shown = call_with(
        &image,
        "web_fetch",
        json!({"url": "https://docs.example.com/"}),
        hosts(),
    );
    assert_eq!(shown.await["isError"], true);
}
