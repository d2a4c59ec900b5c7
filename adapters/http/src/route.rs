//! The inventory of routes: what there is, under which method, and for whom.

use std::sync::OnceLock;

use http::Method;
use matchit::Router;

/// Who may use a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a new kind of caller must break every match"
)]
pub enum Access {
    /// Whoever has an agent's key.
    Agent,
    /// Whoever can reach the gate.
    Anybody,
    /// Operators who may change things.
    Owner,
    /// All operators.
    Viewer,
}

macro_rules! routes {
    ($($name:ident $method:ident $pattern:literal $access:ident;)*) => {
        /// Everything that can be asked over HTTP.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Route {
            $(
                #[doc = concat!("`", stringify!($method), " ", $pattern, "`")]
                $name,
            )*
        }

        impl Route {
            /// All routes.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The route's pattern, `{…}` for a segment of the caller's.
            #[must_use]
            pub const fn pattern(self) -> &'static str {
                match self { $(Self::$name => $pattern),* }
            }

            /// The route's method; the MCP endpoint answers to all.
            #[must_use]
            pub const fn method(self) -> &'static str {
                match self { $(Self::$name => stringify!($method)),* }
            }

            /// Who may use it.
            #[must_use]
            pub const fn access(self) -> Access {
                match self { $(Self::$name => Access::$access),* }
            }
        }
    };
}

routes! {
    AgentKeys POST "/api/principals/{id}/keys" Owner;
    ApprovalGet GET "/api/approvals/{id}" Viewer;
    ApprovalDecide POST "/api/approvals/{id}" Owner;
    Approvals GET "/api/approvals" Viewer;
    Audit GET "/api/audit" Viewer;
    AuditVerify GET "/api/audit/verify" Viewer;
    Catalog GET "/api/catalog" Viewer;
    Check POST "/api/principals/{id}/check" Viewer;
    Health GET "/health" Anybody;
    KeyRevoke POST "/api/principals/{id}/keys/{key}/revoke" Owner;
    Kill POST "/api/principals/{id}/kill" Owner;
    Mcp ANY "/mcp" Agent;
    OperatorAdd POST "/api/operators" Owner;
    OperatorRemove DELETE "/api/operators/{name}" Owner;
    Operators GET "/api/operators" Viewer;
    Overview GET "/api/overview" Viewer;
    Policies GET "/api/policies" Viewer;
    PolicyApply POST "/api/policies/{name}/apply" Owner;
    PolicyGet GET "/api/policies/{name}" Viewer;
    PolicyPut PUT "/api/policies/{name}" Owner;
    PolicySchema GET "/api/policy-schema" Viewer;
    PrincipalAdd POST "/api/principals" Owner;
    PrincipalGet GET "/api/principals/{id}" Viewer;
    PrincipalPolicyGet GET "/api/principals/{id}/policy" Viewer;
    PrincipalPolicyPut PUT "/api/principals/{id}/policy" Owner;
    Principals GET "/api/principals" Viewer;
    Ready GET "/ready" Anybody;
    Revive POST "/api/principals/{id}/revive" Owner;
    Seed POST "/api/seed" Owner;
}

/// What a path leads to.
pub(crate) enum Matched<'p> {
    /// Nothing.
    Nothing,
    /// A place that answers to these methods, not to the one that was used.
    OtherMethod(String),
    /// A route, with the caller's segments by name.
    Route(Route, matchit::Params<'static, 'p>),
}

fn table() -> &'static Router<Vec<Route>> {
    static TABLE: OnceLock<Router<Vec<Route>>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut router: Router<Vec<Route>> = Router::new();
        let mut patterns: Vec<&str> = Route::ALL.iter().map(|route| route.pattern()).collect();
        patterns.sort_unstable();
        patterns.dedup();
        for pattern in patterns {
            let here = Route::ALL
                .iter()
                .copied()
                .filter(|route| route.pattern() == pattern);
            // Patterns are constants that a test inserts; one that clashes would lead nowhere.
            let _ = router.insert(pattern, here.collect());
        }
        router
    })
}

/// The route of a method and a path as it was sent. Nothing is decoded: a segment with an escape
/// in it is no name of anything.
pub(crate) fn find<'p>(method: &Method, path: &'p str) -> Matched<'p> {
    let Ok(found) = table().at(path) else {
        return Matched::Nothing;
    };
    let fits = |route: &&Route| route.method() == "ANY" || route.method() == method.as_str();
    match found.value.iter().find(fits) {
        Some(route) => Matched::Route(*route, found.params),
        None => {
            let allowed: Vec<&str> = found.value.iter().map(|route| route.method()).collect();
            Matched::OtherMethod(allowed.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_is_found_under_its_own_pattern() {
        for route in Route::ALL {
            let path = route
                .pattern()
                .replace("{id}", "x")
                .replace("{key}", "x")
                .replace("{name}", "x");
            let method = if route.method() == "ANY" {
                "POST"
            } else {
                route.method()
            };
            let method = method.parse().unwrap();
            assert!(matches!(find(&method, &path), Matched::Route(found, _) if found == *route));
        }
    }
}
