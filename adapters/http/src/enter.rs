//! The one way in: host, route, caller, and only then what the request holds.

use http::HeaderMap;
use http::HeaderValue;
use http::Method;
use http::Response;
use http::StatusCode;
use http::header;
use http::request::Parts;
use toolgate_core::key::KeyHash;
use toolgate_core::key::OperatorToken;
use toolgate_mcp::store::Operator;
use toolgate_mcp::wire;

use crate::Answered;
use crate::App;
use crate::Asked;
use crate::Known;
use crate::answer::Done;
use crate::answer::Problem;
use crate::answer::guard;
use crate::approvals;
use crate::audit;
use crate::mcp;
use crate::operators;
use crate::policies;
use crate::principals;
use crate::route;
use crate::route::Access;
use crate::route::Matched;
use crate::route::Route;
use crate::status;

/// The largest body of any route, in bytes.
const MOST_BODY: usize = 1 << 20;

/// A request to the admin API whose operator is known.
pub(crate) struct Ctx<'a> {
    pub(crate) app: &'a App,
    pub(crate) operator: &'a Operator,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) query: Option<&'a str>,
    pub(crate) body: &'a [u8],
    segments: &'a [(String, String)],
}

impl Ctx<'_> {
    /// The caller's segment of that name.
    pub(crate) fn segment(&self, name: &str) -> &str {
        let found = self.segments.iter().find(|(other, _)| other == name);
        found.map_or("", |(_, value)| value)
    }
}

/// Answers one request.
///
/// The order is the same for every route: the host that it names, the route that it matches, who
/// asks, and then what it holds. A request that no route matches is answered without a token; one
/// that matches a route under `/api` is 401 without a good token, whatever else is wrong with it.
pub async fn handle(app: &App, request: Asked) -> Answered {
    let (parts, body) = request.into_parts();
    let (route, response) = match app.hosts.check(&parts.uri, &parts.headers) {
        Err(reply) if parts.uri.path().starts_with("/api") => (None, foreign(&reply)),
        Err(reply) => (None, guard(reply.into())),
        Ok(()) => match route::find(&parts.method, parts.uri.path()) {
            Matched::Nothing => (None, Problem::missing().into_response()),
            Matched::OtherMethod(allowed) => (None, other_method(&allowed)),
            Matched::Route(route, params) => {
                let segments: Vec<(String, String)> = params
                    .iter()
                    .map(|(name, value)| (name.to_owned(), value.to_owned()))
                    .collect();
                let response = matched(app, route, &segments, &parts, &body).await;
                (Some(route), response)
            }
        },
    };
    tracing::info!(
        method = method_word(&parts.method),
        route = route.map_or("none", Route::pattern),
        status = response.status().as_u16(),
        "answered"
    );
    response
}

/// A method as it is logged: a word of the caller's own is not.
fn method_word(method: &Method) -> &'static str {
    match *method {
        Method::DELETE => "DELETE",
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::OPTIONS => "OPTIONS",
        Method::PATCH => "PATCH",
        Method::POST => "POST",
        Method::PUT => "PUT",
        _ => "other",
    }
}

async fn matched(
    app: &App,
    route: Route,
    segments: &[(String, String)],
    parts: &Parts,
    body: &[u8],
) -> Answered {
    match route.access() {
        Access::Agent => guard(mcp::endpoint(app, &parts.method, &parts.headers, body).await),
        Access::Anybody => status::open(app, route).into_response(),
        Access::Owner | Access::Viewer => {
            let operator = match operator(app, &parts.headers).await {
                Ok(operator) => operator,
                Err(response) => return response,
            };
            let ctx = Ctx {
                app,
                operator: &operator,
                headers: &parts.headers,
                query: parts.uri.query(),
                body,
                segments,
            };
            let mut response = match api(route, &ctx).await {
                Ok(done) => done.into_response(),
                Err(problem) => problem.into_response(),
            };
            response.extensions_mut().insert(Known);
            response
        }
    }
}

async fn api(route: Route, ctx: &Ctx<'_>) -> Result<Done, Problem> {
    if route.access() == Access::Owner && !ctx.operator.role.may_change() {
        let message = "this operator may look, and not change anything";
        return Err(Problem::new(StatusCode::FORBIDDEN, "forbidden", message));
    }
    if ctx.body.len() > MOST_BODY {
        let message = "the body is larger than 1 MiB";
        return Err(Problem::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            message,
        ));
    }
    match route {
        Route::AgentKeys => principals::add_key(ctx).await,
        Route::ApprovalDecide => approvals::decide(ctx).await,
        Route::ApprovalGet => approvals::show(ctx).await,
        Route::Approvals => approvals::list(ctx).await,
        Route::Audit => audit::list(ctx).await,
        Route::AuditVerify => audit::verify(ctx).await,
        Route::Catalog => status::catalog(ctx),
        Route::Check => principals::check(ctx).await,
        Route::KeyRevoke => principals::revoke_key(ctx).await,
        Route::Kill => principals::kill(ctx).await,
        Route::OperatorAdd => operators::add(ctx).await,
        Route::OperatorRemove => operators::remove(ctx).await,
        Route::Operators => operators::list(ctx).await,
        Route::Overview => status::overview(ctx).await,
        Route::Policies => policies::list(ctx).await,
        Route::PolicyApply => policies::apply(ctx).await,
        Route::PolicyGet => policies::show(ctx).await,
        Route::PolicyPut => policies::put(ctx).await,
        Route::PolicySchema => Ok(Done::ok(toolgate_core::policy::schema())),
        Route::PrincipalAdd => principals::add(ctx).await,
        Route::PrincipalGet => principals::show(ctx).await,
        Route::PrincipalPolicyGet => principals::policy(ctx).await,
        Route::PrincipalPolicyPut => principals::set_policy(ctx).await,
        Route::Principals => principals::list(ctx).await,
        Route::Revive => principals::revive(ctx).await,
        Route::Seed => status::seed(ctx).await,
        Route::Health | Route::Mcp | Route::Ready => Err(Problem::missing()),
    }
}

/// The operator whose token is presented, told apart in constant time.
async fn operator(app: &App, headers: &HeaderMap) -> Result<Operator, Answered> {
    let presented = wire::bearer(headers)
        .ok()
        .and_then(OperatorToken::presented);
    let Some(token) = presented else {
        return Err(unauthorised());
    };
    let hash: KeyHash = token.hash();
    let unstored = app.owners.iter().fold(None, |found, owner| {
        if owner.token.matches(&hash) {
            Some(owner)
        } else {
            found
        }
    });
    if let Some(owner) = unstored {
        return Ok(owner.clone());
    }
    match app.gate.directory().operator_of_token(&hash).await {
        Ok(Some(operator)) => Ok(operator),
        Ok(None) => Err(unauthorised()),
        Err(_) => Err(Problem::unavailable().into_response()),
    }
}

/// A host or an origin that is not served, in the words of the admin API.
fn foreign(reply: &wire::HttpReply) -> Answered {
    let message = "this host or this origin is not served";
    Problem::new(reply.status, "foreign_host", message).into_response()
}

fn unauthorised() -> Answered {
    let message = "a good operator token is needed";
    let problem = Problem::new(StatusCode::UNAUTHORIZED, "unauthorised", message);
    let mut response = problem.into_response();
    let scheme = HeaderValue::from_static("Bearer");
    response
        .headers_mut()
        .insert(header::WWW_AUTHENTICATE, scheme);
    response
}

fn other_method(allowed: &str) -> Answered {
    let message = "this place does not answer to that method";
    let problem = Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        message,
    );
    let mut response: Response<_> = problem.into_response();
    if let Ok(allowed) = HeaderValue::from_str(allowed) {
        response.headers_mut().insert(header::ALLOW, allowed);
    }
    response
}
