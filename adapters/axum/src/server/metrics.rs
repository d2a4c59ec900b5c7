//! `GET /metrics`: for programs on this machine, or for those that have its token.

use std::net::SocketAddr;

use bytes::Bytes;
use http::HeaderValue;
use http::Method;
use http::Request;
use http::Response;
use http::StatusCode;
use http::header;
use toolgate_core::key::KeyHash;
use toolgate_core::key::OperatorToken;

use super::Serving;
use crate::metrics::CONTENT_TYPE;
use crate::metrics::Metrics;

/// Who may read the figures.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a host chooses one")]
pub enum MetricsAccess {
    /// Programs on this machine. Not for a gate behind a proxy, before which everybody is on this
    /// machine.
    Loopback,
    /// Nobody.
    Nobody,
    /// Whoever presents the token of this hash as a bearer.
    Token(KeyHash),
}

impl MetricsAccess {
    /// For whoever presents this token as a bearer.
    #[must_use]
    pub fn token(text: &str) -> Option<Self> {
        OperatorToken::presented(text).map(|token| Self::Token(token.hash()))
    }

    fn admits(&self, peer: SocketAddr, request: &Request<Bytes>) -> bool {
        match self {
            Self::Loopback => peer.ip().to_canonical().is_loopback() && !was_forwarded(request),
            Self::Nobody => false,
            Self::Token(hash) => presented(request).is_some_and(|token| token.hash().matches(hash)),
        }
    }
}

pub(super) async fn answer(
    serving: &Serving,
    metrics: &Metrics,
    peer: SocketAddr,
    request: &Request<Bytes>,
) -> Response<Bytes> {
    if serving
        .app
        .hosts
        .check(request.uri(), request.headers())
        .is_err()
    {
        return plain(StatusCode::FORBIDDEN);
    }
    if serving.access == MetricsAccess::Nobody || request.method() != Method::GET {
        return plain(StatusCode::NOT_FOUND);
    }
    if !serving.access.admits(peer, request) {
        return plain(match serving.access {
            MetricsAccess::Token(_) => StatusCode::UNAUTHORIZED,
            MetricsAccess::Loopback | MetricsAccess::Nobody => StatusCode::FORBIDDEN,
        });
    }
    metrics
        .count_approvals(serving.app.gate.ledger().as_ref())
        .await;
    let mut response = plain(StatusCode::OK);
    *response.body_mut() = Bytes::from(metrics.text());
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(CONTENT_TYPE));
    response
}

/// The one bearer token of a request.
fn presented(request: &Request<Bytes>) -> Option<OperatorToken> {
    OperatorToken::presented(toolgate_mcp::wire::bearer(request.headers()).ok()?)
}

/// Whether a proxy says that it passed the request on.
fn was_forwarded(request: &Request<Bytes>) -> bool {
    let headers = request.headers();
    ["forwarded", "via", "x-forwarded-for", "x-real-ip"]
        .iter()
        .any(|name| headers.contains_key(*name))
}

fn plain(status: StatusCode) -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    if status == StatusCode::UNAUTHORIZED {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "a-token-for-the-figures-only";

    fn request(headers: &[(&str, &str)]) -> Request<Bytes> {
        let mut request = Request::builder().uri("/metrics");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(Bytes::new()).unwrap()
    }

    #[test]
    fn without_a_token_only_this_machine_is_let_in() {
        let here = ["127.0.0.1:9", "[::1]:9", "[::ffff:127.0.0.1]:9"];
        for peer in here {
            let peer = peer.parse().unwrap();
            assert!(MetricsAccess::Loopback.admits(peer, &request(&[])));
            let passed_on = request(&[("x-forwarded-for", "198.51.100.7")]);
            assert!(!MetricsAccess::Loopback.admits(peer, &passed_on));
            assert!(!MetricsAccess::Nobody.admits(peer, &request(&[])));
        }
        let away = "198.51.100.7:9".parse().unwrap();
        assert!(!MetricsAccess::Loopback.admits(away, &request(&[])));
    }

    #[test]
    fn with_a_token_only_its_bearer_is_let_in() {
        let access = MetricsAccess::token(TOKEN).unwrap();
        let peer = "127.0.0.1:9".parse().unwrap();
        let bearer = format!("Bearer {TOKEN}");
        assert!(access.admits(peer, &request(&[("authorization", &bearer)])));
        let twice = request(&[("authorization", &bearer), ("authorization", &bearer)]);
        for refused in [
            request(&[]),
            request(&[("authorization", TOKEN)]),
            request(&[("authorization", "Bearer another-token-altogether")]),
            twice,
        ] {
            assert!(!access.admits(peer, &refused));
        }
    }
}
