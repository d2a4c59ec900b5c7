//! Web fetch.

use std::sync::Arc;
use std::sync::Mutex;

use async_trait::async_trait;
use serde_json::Value;
use serde_json::json;
use sha2::Digest as _;
use sha2::Sha256;
use toolgate_backends::BackendError;
use toolgate_backends::Fetch;
use toolgate_backends::Fetched;
use toolgate_backends::Web;
use toolgate_core::rules::AllowedHosts;

use super::host::call_with;

#[derive(Debug, Default)]
struct Double {
    asked: Mutex<Vec<(String, usize)>>,
    answer: Fetched,
}

#[async_trait]
impl Fetch for Double {
    async fn get(&self, url: &str, _: &AllowedHosts, most: usize) -> Result<Fetched, BackendError> {
        self.asked.lock().unwrap().push((url.to_owned(), most));
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

fn hosts() -> Option<AllowedHosts> {
    AllowedHosts::new(&["docs.example.com".to_owned()]).ok()
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

async fn ask(web: &Web, offset: usize) -> Value {
    let arguments = json!({"url": "https://docs.example.com/", "offset": offset});
    call_with(web, "web_fetch", arguments, hosts()).await
}

// spec: DB-04
#[tokio::test]
async fn a_long_text_comes_in_pages_with_the_digest_of_the_whole() {
    let body = "é".repeat(40_000);
    let double = page("application/json", &body);
    let web = Web::new(double.clone()).unwrap();
    let digest = data_encoding::HEXLOWER.encode(&Sha256::digest(body.as_bytes()));
    let mut read = String::new();
    for truncated in [true, false] {
        let got = ask(&web, read.chars().count()).await;
        let got = &got["structuredContent"];
        let text = got["text"].as_str().unwrap();
        assert!(text.chars().count() <= 32 * 1024);
        assert_eq!(got["truncated"], truncated);
        assert_eq!(got["totalBytes"], 80_000);
        assert_eq!(got["sha256"], digest);
        read.push_str(text);
    }
    assert!(read == body);
    let asked = double.asked.lock().unwrap();
    assert!(asked.iter().all(|(_, most)| *most == 1 << 20));
}

#[tokio::test]
async fn a_body_that_was_cut_says_so() {
    let answer = Fetched {
        status: 200,
        content_type: Some("text/plain".to_owned()),
        body: b"the beginning".to_vec(),
        truncated: true,
        ..Fetched::default()
    };
    let double = Double {
        answer,
        ..Double::default()
    };
    let web = Web::new(Arc::new(double)).unwrap();
    let got = ask(&web, 0).await;
    assert_eq!(got["structuredContent"]["truncated"], true);
}

#[tokio::test]
async fn text_is_told_by_its_media_type_whatever_the_status() {
    for (content_type, shown) in [
        ("text/plain", true),
        ("TEXT/HTML;charset=x", true),
        ("application/json", true),
        ("application/problem+json", true),
        ("application/xml", true),
        ("image/svg+xml", true),
        ("application/octet-stream", false),
        ("image/png", false),
        ("application/pdf; name=text/plain", false),
        ("", false),
    ] {
        let answer = Fetched {
            status: 404,
            content_type: Some(content_type.to_owned()),
            body: b"x".to_vec(),
            ..Fetched::default()
        };
        let double = Double {
            answer,
            ..Double::default()
        };
        let web = Web::new(Arc::new(double)).unwrap();
        let got = ask(&web, 0).await;
        assert_eq!(got.get("isError").is_none(), shown, "{content_type}");
        if shown {
            assert_eq!(got["structuredContent"]["status"], 404);
        }
    }
}

#[derive(Debug)]
struct Failing(fn() -> BackendError);

#[async_trait]
impl Fetch for Failing {
    async fn get(&self, _: &str, _: &AllowedHosts, _: usize) -> Result<Fetched, BackendError> {
        Err((self.0)())
    }
}

async fn told(error: fn() -> BackendError) -> String {
    let got = ask(&Web::new(Arc::new(Failing(error))).unwrap(), 0).await;
    assert_eq!(got["isError"], true);
    got["content"][0]["text"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_failed_fetch_says_why_and_nothing_of_the_inside() {
    let refused = told(|| BackendError::Refused("a private address")).await;
    assert_eq!(refused, "a private address");
    let gone = told(|| BackendError::unavailable("10.0.0.7 timed out")).await;
    assert!(gone.starts_with("nothing came back"), "{gone}");
    assert!(!gone.contains("10.0.0.7"), "{gone}");
}
