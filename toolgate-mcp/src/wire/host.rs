//! Where a request says it was going, and which page sent it.

use std::fmt;

use http::HeaderMap;
use http::StatusCode;
use http::Uri;
use http::header;

use super::headers::Once;
use super::headers::once;
use super::reply::Fault;
use super::reply::HttpReply;

/// The hosts under which a gate is reached, and the origins of pages that may reach it.
///
/// Without it, any web page could speak to a gate on the same machine under a name of its own that
/// resolves to it. It is checked on every route. The default admits nobody.
///
/// ```
/// use http::{HeaderMap, HeaderValue, Uri};
/// use toolgate_mcp::wire::HostRules;
///
/// let rules = HostRules::loopback().host("gate.example.com")?;
/// let mut headers = HeaderMap::new();
/// headers.insert("host", HeaderValue::from_static("localhost:8787"));
/// assert!(rules.check(&Uri::from_static("/mcp"), &headers).is_ok());
/// headers.insert("host", HeaderValue::from_static("evil.example"));
/// assert_eq!(rules.check(&Uri::from_static("/mcp"), &headers).unwrap_err().status, 403);
/// # Ok::<(), toolgate_mcp::wire::HostRuleError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostRules {
    hosts: Vec<Authority>,
    origins: Vec<Origin>,
}

impl HostRules {
    /// This machine under its own names, at any port, and pages from it.
    #[must_use]
    pub fn loopback() -> Self {
        let mut rules = Self::default();
        for name in ["localhost", "127.0.0.1", "[::1]"] {
            let authority = Authority {
                name: name.to_owned(),
                port: None,
            };
            rules.hosts.push(authority.clone());
            for is_secure in [false, true] {
                let authority = authority.clone();
                rules.origins.push(Origin {
                    is_secure,
                    authority,
                });
            }
        }
        rules
    }

    /// Admits a host: `gate.example.com` at any port, `gate.example.com:8443` at one.
    ///
    /// # Errors
    /// It is no host.
    pub fn host(mut self, rule: &str) -> Result<Self, HostRuleError> {
        self.hosts
            .push(Authority::read(rule).ok_or(HostRuleError::Host)?);
        Ok(self)
    }

    /// Admits pages of an origin: `https://console.example.com`, or `http://localhost:*` at any port.
    ///
    /// # Errors
    /// It is no `http` or `https` origin.
    pub fn origin(mut self, rule: &str) -> Result<Self, HostRuleError> {
        let origin = match rule.strip_suffix(":*") {
            Some(start) => Origin::read(start).filter(|origin| origin.authority.port.is_none()),
            None => Origin::read(rule).map(Origin::at_its_port),
        };
        self.origins.push(origin.ok_or(HostRuleError::Origin)?);
        Ok(self)
    }

    /// Checks a request.
    ///
    /// # Errors
    /// The finished reply 403: the host is missing, malformed or foreign, or there is an origin and
    /// it is not admitted.
    pub fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), HttpReply> {
        // A target may name the host, and in HTTP/2 it does; then a header must not name another.
        let target = uri.authority().map(http::uri::Authority::as_str);
        let named = match (once(headers, &header::HOST), target) {
            (Once::Is(host), None) => vec![host],
            (Once::Is(host), Some(target)) => vec![host, target],
            (Once::Absent, Some(target)) => vec![target],
            (Once::Absent, None) | (Once::Malformed, _) => Vec::new(),
        };
        let served = |host: &&str| {
            Authority::read(host)
                .is_some_and(|host| self.hosts.iter().any(|rule| rule.admits(&host)))
        };
        if named.is_empty() || !named.iter().all(served) {
            return Err(Fault::request("this host is not served").nameless(StatusCode::FORBIDDEN));
        }
        let origin = match once(headers, &header::ORIGIN) {
            Once::Absent => return Ok(()),
            Once::Is(text) => Origin::read(text).map(Origin::at_its_port),
            Once::Malformed => None,
        };
        let is_admitted = |origin: Origin| {
            self.origins.iter().any(|rule| {
                rule.is_secure == origin.is_secure && rule.authority.admits(&origin.authority)
            })
        };
        if origin.is_some_and(is_admitted) {
            Ok(())
        } else {
            Err(Fault::request("this origin is not admitted").nameless(StatusCode::FORBIDDEN))
        }
    }
}

/// Why a rule is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HostRuleError {
    /// It is no host.
    Host,
    /// It is no origin.
    Origin,
}

impl fmt::Display for HostRuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Host => "is not a host name or address, perhaps with a port",
            Self::Origin => "is not an http or https origin, perhaps with a port or `:*`",
        })
    }
}

impl std::error::Error for HostRuleError {}

/// A name and perhaps a port. As a rule without a port it stands for any.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Authority {
    name: String,
    port: Option<u16>,
}

impl Authority {
    /// Reads what may stand in a `Host` header and nothing else: no user, path or fragment.
    fn read(text: &str) -> Option<Self> {
        let (name, rest) = match text.find(']') {
            Some(end) => text.split_at_checked(end + 1)?,
            None => text.split_at_checked(text.find(':').unwrap_or(text.len()))?,
        };
        let is_name = match name.strip_prefix('[') {
            Some(address) => {
                let address = address.strip_suffix(']')?;
                let is_digit = |b: u8| b.is_ascii_hexdigit() || b == b':' || b == b'.';
                address.contains(':') && address.bytes().all(is_digit)
            }
            None => {
                let is_letter = |b: u8| b.is_ascii_alphanumeric() || b"-._".contains(&b);
                !name.is_empty() && name.bytes().all(is_letter)
            }
        };
        let port = match rest.strip_prefix(':') {
            None if rest.is_empty() => None,
            Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => {
                Some(digits.parse().ok()?)
            }
            _ => return None,
        };
        is_name.then(|| Self {
            name: name.to_ascii_lowercase(),
            port,
        })
    }

    fn admits(&self, asked: &Self) -> bool {
        self.name == asked.name && (self.port.is_none() || self.port == asked.port)
    }
}

/// A scheme and an authority.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Origin {
    is_secure: bool,
    authority: Authority,
}

impl Origin {
    fn read(text: &str) -> Option<Self> {
        let (scheme, authority) = text.split_once("://")?;
        let is_secure = scheme.eq_ignore_ascii_case("https");
        let is_known = is_secure || scheme.eq_ignore_ascii_case("http");
        let authority = Authority::read(authority)?;
        is_known.then_some(Self {
            is_secure,
            authority,
        })
    }

    /// The same with the port that its scheme implies.
    fn at_its_port(mut self) -> Self {
        let implied = if self.is_secure { 443 } else { 80 };
        self.authority.port.get_or_insert(implied);
        self
    }
}
