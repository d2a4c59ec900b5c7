//! What can change while a gate runs.

use std::sync::Arc;

use toolgate_http::Seed;
use toolgate_mcp::store::Operator;
use toolgate_mcp::wire::HostRules;
use url::Url;

use super::Connector;
use crate::server::MetricsAccess;

/// How a gate is served.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Settings {
    /// An owner who is not stored.
    pub owner: Operator,
    /// The sources of tools that are on.
    pub connectors: Vec<Connector>,
    /// The address that agents and people use, if it is not the one listened on.
    pub public_url: Option<Url>,
    /// Who may read the figures.
    pub access: MetricsAccess,
    /// Makes demo data, in a demo alone.
    pub seed: Option<Arc<dyn Seed>>,
    /// Whether a safeguard is off.
    pub insecure: bool,
}

impl Settings {
    /// A gate for that owner, on this machine, without any tools.
    #[must_use]
    pub const fn new(owner: Operator) -> Self {
        Self {
            owner,
            connectors: Vec::new(),
            public_url: None,
            access: MetricsAccess::Loopback,
            seed: None,
            insecure: false,
        }
    }

    /// The hosts under which the gate is reached, and the origins of its own pages.
    pub(super) fn hosts(&self) -> HostRules {
        let loopback = HostRules::loopback();
        let Some(url) = &self.public_url else {
            return loopback;
        };
        let origin = url.origin().ascii_serialization();
        let authority = origin
            .split_once("://")
            .map_or("", |(_, authority)| authority);
        loopback
            .clone()
            .host(authority)
            .and_then(|rules| rules.origin(&origin))
            .unwrap_or(loopback)
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;
    use http::HeaderValue;
    use http::Uri;
    use toolgate_core::id::OperatorName;
    use toolgate_core::key::OperatorToken;
    use toolgate_core::time::Timestamp;
    use toolgate_mcp::store::Role;

    use super::*;

    #[test]
    fn a_gate_is_reached_on_this_machine_and_under_its_public_address() {
        let mut settings = Settings::new(Operator {
            name: OperatorName::new("env").unwrap(),
            role: Role::Owner,
            token: OperatorToken::presented("token").unwrap().hash(),
            created_at: Timestamp::default(),
        });
        let admits = |settings: &Settings, host: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("host", HeaderValue::from_str(host).unwrap());
            settings.hosts().check(&Uri::default(), &headers).is_ok()
        };
        assert!(admits(&settings, "127.0.0.1:8787"));
        assert!(!admits(&settings, "gate.example.com"));
        settings.public_url = Some(Url::parse("https://gate.example.com").unwrap());
        assert!(admits(&settings, "127.0.0.1:8787"));
        assert!(admits(&settings, "gate.example.com"));
        assert!(!admits(&settings, "gate.example.com.evil.example"));
    }
}
