//! Addresses on named hosts.

use std::fmt;

use url::Host;
use url::Url;

use super::MOST_LISTED;
use super::RuleError;

/// Why an address is not allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HostError {
    /// It is not an absolute address in plain spelling.
    Address,
    /// Its host is not one of those named.
    Host,
    /// It names a port that is not the default one.
    Port,
    /// It is not https.
    Scheme,
    /// It carries a user name or password.
    UserInfo,
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Address => "is not an absolute address in plain spelling",
            Self::Host => "is on a host that is not allowed",
            Self::Port => "names a port",
            Self::Scheme => "is not https",
            Self::UserInfo => "carries a user name or password",
        })
    }
}

impl std::error::Error for HostError {}

/// The hosts that addresses may be on.
///
/// ```
/// use toolgate_core::rules::{HostError, AllowedHosts};
///
/// let hosts = AllowedHosts::new(&["example.com".to_owned(), "*.example.org".to_owned()]).unwrap();
/// assert!(hosts.allows("https://EXAMPLE.com/a").is_ok());
/// assert!(hosts.allows("https://www.example.org/").is_ok());
/// assert_eq!(hosts.allows("https://example.org/"), Err(HostError::Host));
/// assert_eq!(hosts.allows("https://example.com@evil.example/"), Err(HostError::UserInfo));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedHosts {
    // INVARIANT: not empty. A host must be in every list.
    lists: Vec<List>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct List {
    exact: Vec<String>,
    /// Each with a leading dot.
    below: Vec<String>,
}

impl AllowedHosts {
    /// Reads host names; `*.example.com` is every host below `example.com`, and not that one.
    ///
    /// # Errors
    /// Every name that is not a host.
    pub fn new(hosts: &[String]) -> Result<Self, Vec<RuleError>> {
        let mut rules = List::default();
        let mut errors = Vec::new();
        if hosts.is_empty() {
            errors.push(RuleError::new("hosts", "is empty, so nothing can match"));
        }
        if hosts.len() > MOST_LISTED {
            errors.push(RuleError::new("hosts", "lists too many hosts"));
        }
        for (at, host) in hosts.iter().enumerate() {
            let read = match host.strip_prefix("*.") {
                Some(parent) => {
                    domain(parent)
                        .filter(|parent| parent.contains('.'))
                        .map(|parent| {
                            rules.below.push(format!(".{parent}"));
                        })
                }
                None => name(host).map(|host| rules.exact.push(host)),
            };
            if read.is_none() {
                errors.push(RuleError::new(format!("hosts/{at}"), NOT_A_HOST));
            }
        }
        if errors.is_empty() {
            Ok(Self { lists: vec![rules] })
        } else {
            Err(errors)
        }
    }

    /// Reads an address and checks it: https, no user name, default port, a host that is named.
    ///
    /// The address that comes back is the one to use.
    ///
    /// # Errors
    /// [`HostError`] says why it is not allowed.
    pub fn allows(&self, address: &str) -> Result<Url, HostError> {
        // Readers disagree about what these mean in an address, so none of them is guessed at.
        if address
            .chars()
            .any(|c| c.is_whitespace() || c.is_control() || c == '\\')
        {
            return Err(HostError::Address);
        }
        let (scheme, rest) = address.split_once("://").ok_or(HostError::Address)?;
        if !scheme.eq_ignore_ascii_case("https") {
            return Err(HostError::Scheme);
        }
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.contains('@') {
            return Err(HostError::UserInfo);
        }
        if authority.is_empty() || authority.contains('%') {
            return Err(HostError::Address);
        }
        let mut url = Url::parse(address).map_err(|_| HostError::Address)?;
        if url.scheme() != "https" {
            return Err(HostError::Scheme);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(HostError::UserInfo);
        }
        if url.port().is_some() {
            return Err(HostError::Port);
        }
        let host = url.host_str().ok_or(HostError::Address)?.to_owned();
        let plain = host.strip_suffix('.').unwrap_or(&host);
        // An ASCII host in a Unicode disguise is read differently by different readers.
        if !authority.is_ascii() && !plain.split('.').any(|label| label.starts_with("xn--")) {
            return Err(HostError::Address);
        }
        if !self.lists.iter().all(|list| list.names(plain)) {
            return Err(HostError::Host);
        }
        if plain != host {
            url.set_host(Some(plain)).map_err(|_| HostError::Address)?;
        }
        Ok(url)
    }

    /// The hosts that both name.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.lists.extend(other.lists);
        self
    }
}

impl List {
    fn names(&self, host: &str) -> bool {
        self.exact.iter().any(|exact| exact == host)
            || self.below.iter().any(|suffix| {
                host.strip_suffix(suffix.as_str())
                    .is_some_and(|label| !label.is_empty())
            })
    }
}

const NOT_A_HOST: &str =
    "is not a host name such as `example.com` or `*.example.com` (no scheme, port or path)";

/// A host as addresses spell it.
fn name(text: &str) -> Option<String> {
    let is_plain = !text.is_empty()
        && !text.contains(['*', '@', '%', '\\'])
        && !text.split('.').any(str::is_empty);
    let host = is_plain.then(|| Host::parse(text).ok())??.to_string();
    // Only what an address gives back for that host can ever be equal to it.
    let address = Url::parse(&format!("https://{host}/")).ok()?;
    (address.host_str() == Some(host.as_str())).then_some(host)
}

fn domain(text: &str) -> Option<String> {
    let host = name(text)?;
    matches!(Host::parse(&host), Ok(Host::Domain(_))).then_some(host)
}
