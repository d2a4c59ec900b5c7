//! The MCP endpoint: a key, a message, an answer.

use http::HeaderMap;
use http::Method;
use http::StatusCode;
use toolgate_mcp::gateway::CallRequest;
use toolgate_mcp::gateway::Caller;
use toolgate_mcp::gateway::Reply;
use toolgate_mcp::gateway::Unauthenticated;
use toolgate_mcp::wire;
use toolgate_mcp::wire::Ask;
use toolgate_mcp::wire::Decoded;
use toolgate_mcp::wire::What;

use crate::Answered;
use crate::App;
use crate::Known;
use crate::answer::Problem;

/// Answers a message to the endpoint. Nothing of it is read before the key is known to be good.
pub(crate) async fn endpoint(
    app: &App,
    method: &Method,
    headers: &HeaderMap,
    body: &[u8],
) -> Answered {
    let presented = match wire::bearer(headers) {
        Ok(presented) => presented,
        Err(reply) => return reply.into(),
    };
    let caller = match app.gate.authenticate(presented).await {
        Ok(caller) => caller,
        Err(error) => return turned_away(&error),
    };
    let mut response = match app.face.decode(method, headers, body) {
        Decoded::Answer(reply) => reply.into(),
        Decoded::Ask(ask) => answer(app, &caller, headers, ask).await,
    };
    response.extensions_mut().insert(Known);
    response
}

fn turned_away(error: &Unauthenticated) -> Answered {
    match error {
        Unauthenticated::Key => wire::unauthorised(true).into(),
        Unauthenticated::Store(_) => Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "unavailable",
            "the key cannot be checked right now",
        )
        .into_response(),
    }
}

async fn answer(app: &App, caller: &Caller, headers: &HeaderMap, ask: Ask) -> Answered {
    match ask.what.clone() {
        What::ListTools { cursor: Some(_) } => ask.unknown_cursor().into(),
        What::ListTools { cursor: None } => match app.gate.view(caller).await {
            Ok(tools) => ask.tools(tools, None).into(),
            Err(error) => turned_away(&error),
        },
        What::CallTool {
            name,
            arguments,
            meta,
        } => {
            // Headers that mirror arguments are checked for tools of the caller's view alone:
            // whether a tool outside of it exists must not show.
            let ask = match mirrored(app, caller, headers, ask, &name).await {
                Ok(ask) => ask,
                Err(response) => return response,
            };
            let request = CallRequest {
                name,
                arguments,
                new_request: meta.new_request,
                execution: meta.execution,
                occurrence: meta.occurrence,
            };
            match app.gate.call(caller, &request).await {
                Reply::Hidden => ask.unknown_tool().into(),
                Reply::Result(result) => ask.result(result).into(),
                Reply::Unauthorised => wire::unauthorised(true).into(),
            }
        }
    }
}

async fn mirrored(
    app: &App,
    caller: &Caller,
    headers: &HeaderMap,
    ask: Ask,
    name: &str,
) -> Result<Ask, Answered> {
    let catalog = app.gate.catalog();
    let Some(tool) = catalog.find(name) else {
        return Ok(ask);
    };
    if !app.gate.shows(caller, tool).await {
        return Ok(ask);
    }
    ask.mirrored(tool.input_schema(), headers)
        .map_err(Into::into)
}
