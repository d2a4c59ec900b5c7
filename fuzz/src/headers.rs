use std::sync::OnceLock;

use http::Uri;
use toolgate_mcp::wire::HostRules;
use toolgate_mcp::wire::bearer;

use crate::support;

/// Headers: a request target on the first line, then headers. A key is one token of one header; a
/// request that passes names no host and no page but ours.
pub fn headers(data: &[u8]) {
    let cut = data
        .iter()
        .position(|byte| *byte == b'\n')
        .unwrap_or(data.len());
    let (target, block) = data.split_at(cut);
    let headers = support::header_map(block);

    match bearer(&headers) {
        Ok(token) => {
            let value = support::single(&headers, "authorization").expect("one header");
            let (scheme, rest) = value.split_once(' ').expect("a scheme and a token");
            assert!(scheme.eq_ignore_ascii_case("bearer") && rest.trim() == token);
            let plain = |b: u8| b.is_ascii_graphic() && !b"\"(),:;<>?@[\\]{}".contains(&b);
            assert!(!token.is_empty() && token.bytes().all(plain), "{token:?}");
        }
        Err(reply) => assert_eq!(reply.status, 401),
    }

    let Ok(uri) = Uri::try_from(target) else {
        return;
    };
    match rules().check(&uri, &headers) {
        Ok(()) => {
            let target = uri.authority().map(|authority| authority.as_str());
            let count = headers.get_all("host").iter().count();
            assert!(
                count <= 1 && (count == 1 || target.is_some()),
                "{count} hosts"
            );
            let named = support::single(&headers, "host");
            assert_eq!(named.is_some(), count == 1);
            for host in named.into_iter().chain(target) {
                assert!(is_ours(host), "{host:?} is served");
            }
            if headers.contains_key("origin") {
                let origin = support::single(&headers, "origin").expect("one header");
                assert!(is_our_page(origin), "{origin:?} is admitted");
            }
        }
        Err(reply) => assert_eq!(reply.status, 403),
    }
}

fn rules() -> &'static HostRules {
    static RULES: OnceLock<HostRules> = OnceLock::new();
    RULES.get_or_init(|| {
        HostRules::loopback()
            .host("gate.example.com:8443")
            .and_then(|rules| rules.origin("https://console.example.com"))
            .expect("rules of ours")
    })
}

fn is_ours(host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    ["localhost", "127.0.0.1", "[::1]"]
        .iter()
        .any(|name| is_at_any_port(&host, name))
        || numbered(&host) == Some(("gate.example.com", 8443))
}

fn is_our_page(origin: &str) -> bool {
    let origin = origin.to_ascii_lowercase();
    let (scheme, host) = origin.split_once("://").expect("an origin");
    let is_local = ["localhost", "127.0.0.1", "[::1]"]
        .iter()
        .any(|name| is_at_any_port(host, name));
    let is_console =
        host == "console.example.com" || numbered(host) == Some(("console.example.com", 443));
    matches!(scheme, "http" | "https") && (is_local || scheme == "https" && is_console)
}

fn is_at_any_port(host: &str, name: &str) -> bool {
    host == name || numbered(host).is_some_and(|(host, _)| host == name)
}

fn numbered(host: &str) -> Option<(&str, u16)> {
    let (host, port) = host.rsplit_once(':')?;
    Some((host, port.parse().ok()?))
}
