//! The MCP endpoint: a key, a message, an answer.

use http::HeaderMap;
use http::Method;
use http::StatusCode;
use toolgate_mcp::gateway::CallRequest;
use toolgate_mcp::gateway::Caller;
use toolgate_mcp::gateway::Gate;
use toolgate_mcp::gateway::Reply;
use toolgate_mcp::gateway::Unauthenticated;
use toolgate_mcp::wire;
use toolgate_mcp::wire::Ask;
use toolgate_mcp::wire::Decoded;
use toolgate_mcp::wire::Face;
use toolgate_mcp::wire::HttpReply;
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
        Decoded::Ask(ask) => match answer(&app.gate, &caller, Some(headers), ask).await {
            Ok(reply) => reply.into(),
            Err(error) => turned_away(&error),
        },
    };
    response.extensions_mut().insert(Known);
    response
}

/// Answers one line of a client that speaks over standard input and output, whose host vouches for
/// the caller. Nothing is said to a notification; the line that comes back has no line end.
pub async fn line(gate: &Gate, face: &Face, caller: &Caller, line: &[u8]) -> Option<Vec<u8>> {
    let reply = match face.line(line) {
        Decoded::Answer(reply) => reply,
        Decoded::Ask(ask) => {
            let again = ask.clone();
            match answer(gate, caller, None, ask).await {
                Ok(reply) => reply,
                Err(Unauthenticated::Key) => again.failed("the gate does not know this agent"),
                Err(Unauthenticated::Store(_)) => {
                    again.failed("the gate cannot be asked right now")
                }
            }
        }
    };
    (!reply.body.is_empty()).then_some(reply.body)
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

async fn answer(
    gate: &Gate,
    caller: &Caller,
    headers: Option<&HeaderMap>,
    ask: Ask,
) -> Result<HttpReply, Unauthenticated> {
    match ask.what.clone() {
        What::ListTools { cursor: Some(_) } => Ok(ask.unknown_cursor()),
        What::ListTools { cursor: None } => {
            let tools = gate.view(caller).await?;
            Ok(ask.tools(tools, None))
        }
        What::CallTool {
            name,
            arguments,
            meta,
        } => {
            // Headers that mirror arguments are checked for tools of the caller's view alone:
            // whether a tool outside of it exists must not show.
            let ask = match headers {
                None => ask,
                Some(headers) => match mirrored(gate, caller, headers, ask, &name).await {
                    Ok(ask) => ask,
                    Err(reply) => return Ok(reply),
                },
            };
            let request = CallRequest {
                name,
                arguments,
                new_request: meta.new_request,
                execution: meta.execution,
                occurrence: meta.occurrence,
            };
            match gate.call(caller, &request).await {
                Reply::Hidden => Ok(ask.unknown_tool()),
                Reply::Result(result) => Ok(ask.result(result)),
                Reply::Unauthorised => Err(Unauthenticated::Key),
            }
        }
    }
}

async fn mirrored(
    gate: &Gate,
    caller: &Caller,
    headers: &HeaderMap,
    ask: Ask,
    name: &str,
) -> Result<Ask, HttpReply> {
    let catalog = gate.catalog();
    let Some(tool) = catalog.find(name) else {
        return Ok(ask);
    };
    if !gate.shows(caller, tool).await {
        return Ok(ask);
    }
    ask.mirrored(tool.input_schema(), headers)
}
