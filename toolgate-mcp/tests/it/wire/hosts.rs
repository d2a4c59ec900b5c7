//! Hosts, origins, kinds of content and keys.

use http::Method;
use http::Response;
use http::Uri;
use serde_json::Value;
use toolgate_mcp::wire::HostRuleError;
use toolgate_mcp::wire::HostRules;
use toolgate_mcp::wire::bearer;
use toolgate_mcp::wire::unauthorised;

use super::answer;
use super::face;
use super::fault;
use super::header;
use super::headers;

const PING: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

fn rules() -> HostRules {
    HostRules::loopback()
        .host("gate.example.com")
        .and_then(|rules| rules.host("other.example.com:8443"))
        .and_then(|rules| rules.origin("https://console.example.com"))
        .and_then(|rules| rules.origin("https://dev.example.com:*"))
        .unwrap()
}

// spec: F30
#[test]
fn only_known_hosts_are_served() {
    let good = [
        "localhost",
        "localhost:8787",
        "LocalHost:1",
        "127.0.0.1:8787",
        "[::1]",
        "[::1]:8787",
        "gate.example.com",
        "gate.example.com:443",
        "other.example.com:8443",
    ];
    for host in good {
        assert_eq!(
            rules().check(&Uri::default(), &headers(&[("host", host)])),
            Ok(()),
            "{host}"
        );
    }
    let bad = [
        "",
        "evil.example",
        "localhost:8787/#@evil.example",
        "localhost#@evil.example",
        "localhost@evil.example",
        "evil.example@localhost",
        "user:pass@localhost:8787",
        "localhost.evil.example",
        "evillocalhost",
        "localhost.",
        "localhost:",
        "localhost:99999",
        "localhost:80:80",
        "localhost:+80",
        "localhost, evil.example",
        "localhost localhost",
        "http://localhost",
        "127.1",
        "127.0.0.1.nip.example",
        "2130706433",
        "0.0.0.0",
        "::1",
        "[::1",
        "::1]",
        "[::1]evil",
        "[::1]:80]",
        "[]",
        "[localhost]",
        "[::ffff:127.0.0.1]",
        "gate.example.com.evil.example",
        "other.example.com",
        "other.example.com:443",
        "*",
    ];
    for host in bad {
        let reply = rules()
            .check(&Uri::default(), &headers(&[("host", host)]))
            .unwrap_err();
        assert_eq!(fault(&reply, &Value::Null), (403, -32600), "{host}");
    }
    let twice = headers(&[("host", "localhost"), ("host", "localhost")]);
    for missing in [headers(&[]), twice] {
        assert_eq!(
            rules().check(&Uri::default(), &missing).unwrap_err().status,
            403
        );
    }
    let nobody = HostRules::default();
    assert!(
        nobody
            .check(&Uri::default(), &headers(&[("host", "localhost")]))
            .is_err()
    );
}

// spec: F30
#[test]
fn only_known_origins_are_admitted() {
    let check = |origin: &str| {
        rules().check(
            &Uri::default(),
            &headers(&[("host", "localhost:8787"), ("origin", origin)]),
        )
    };
    let good = [
        "http://localhost",
        "http://localhost:3000",
        "https://127.0.0.1:8787",
        "http://[::1]:8787",
        "https://console.example.com",
        "HTTPS://CONSOLE.example.com:443",
        "https://dev.example.com",
        "https://dev.example.com:5173",
    ];
    for origin in good {
        assert_eq!(check(origin), Ok(()), "{origin}");
    }
    let bad = [
        "",
        "null",
        "evil",
        "http://evil.example",
        "http://localhost.evil.example",
        "http://localhost@evil.example",
        "http://evil.example#http://localhost",
        "http://localhost/",
        "http://localhost/path",
        "file://localhost",
        "ws://localhost",
        "chrome-extension://localhost",
        "http://console.example.com",
        "https://console.example.com:8443",
        "https://sub.console.example.com",
        "https://gate.example.com",
        "http://dev.example.com",
        "http://localhost http://localhost",
    ];
    for origin in bad {
        assert_eq!(check(origin).unwrap_err().status, 403, "{origin}");
    }
    let twice = [
        ("host", "localhost"),
        ("origin", "http://localhost"),
        ("origin", "http://localhost"),
    ];
    assert_eq!(
        rules()
            .check(&Uri::default(), &headers(&twice))
            .unwrap_err()
            .status,
        403
    );
}

// spec: F30
#[test]
fn a_rule_that_is_none_is_refused() {
    for host in ["", "http://a", "a/b", "u@a", "a:b", "*.example.com"] {
        assert_eq!(
            HostRules::default().host(host),
            Err(HostRuleError::Host),
            "{host}"
        );
    }
    for origin in [
        "",
        "null",
        "*",
        "a.example",
        "ftp://a",
        "https://a/",
        "https://a:1:*",
    ] {
        let refused = HostRules::default().origin(origin);
        assert_eq!(refused, Err(HostRuleError::Origin), "{origin}");
    }
}

// spec: F30
#[test]
fn only_plain_json_is_read() {
    let decode =
        |pairs: &[(&str, &str)]| answer(face().decode(&Method::POST, &headers(pairs), PING));
    let good: &[&[(&str, &str)]] = &[
        &[("content-type", "application/json")],
        &[("content-type", "Application/JSON ; Charset=\"UTF-8\"")],
        &[
            ("content-type", "application/json"),
            ("content-encoding", "identity"),
        ],
    ];
    for pairs in good {
        assert_eq!(decode(pairs).status, 200, "{pairs:?}");
    }
    let bad: &[&[(&str, &str)]] = &[
        &[],
        &[("content-type", "")],
        &[("content-type", "text/plain")],
        &[("content-type", "text/plain; application/json")],
        &[("content-type", "application/json-seq")],
        &[("content-type", "application/x-www-form-urlencoded")],
        &[("content-type", "application/json; charset=utf-16")],
        &[
            ("content-type", "application/json"),
            ("content-type", "application/json"),
        ],
        &[
            ("content-type", "application/json"),
            ("content-encoding", "gzip"),
        ],
    ];
    for pairs in bad {
        assert_eq!(
            fault(&decode(pairs), &Value::Null),
            (415, -32600),
            "{pairs:?}"
        );
    }
}

// spec: MT-06
#[test]
fn a_request_without_a_good_key_is_challenged() {
    for (presented, challenge) in [
        (false, r#"Bearer realm="toolgate""#),
        (true, r#"Bearer realm="toolgate", error="invalid_token""#),
    ] {
        let reply = unauthorised(presented);
        assert_eq!(reply.status, 401);
        assert_eq!(header(&reply, "www-authenticate"), Some(challenge));
        assert!(super::body(&reply)["error"].is_string());
        let response = Response::from(reply);
        assert_eq!(response.status(), 401);
        assert_eq!(response.headers()["www-authenticate"], challenge);
        assert_eq!(response.headers()["content-type"], "application/json");
    }
}

// spec: MT-06
#[test]
fn there_is_one_key_or_none() {
    let key = |pairs: &[(&str, &str)]| bearer(&headers(pairs)).map(str::to_owned);
    for value in [
        "Bearer tg_abc",
        "bearer tg_abc",
        "BEARER   tg_abc",
        " Bearer tg_abc ",
    ] {
        assert_eq!(
            key(&[("authorization", value)]).as_deref(),
            Ok("tg_abc"),
            "{value}"
        );
    }
    let none = Err(unauthorised(false));
    assert_eq!(key(&[]), none);
    for value in ["", "Bearer", "Basic dXNlcjpwYXNz", "tg_abc", "Token tg_abc"] {
        assert_eq!(key(&[("authorization", value)]), none, "{value}");
    }
    let bad = Err(unauthorised(true));
    for value in [
        "Bearer tg_abc tg_def",
        "Bearer tg_abc,tg_def",
        "Bearer \"tg_abc\"",
        "Bearer tg_\tabc",
    ] {
        assert_eq!(key(&[("authorization", value)]), bad, "{value}");
    }
    let twice = [
        ("authorization", "Bearer tg_abc"),
        ("authorization", "Bearer tg_abc"),
    ];
    assert_eq!(key(&twice), bad);
    assert_eq!(key(&[("authorization", "Bearer tg_é")]), bad);
}
