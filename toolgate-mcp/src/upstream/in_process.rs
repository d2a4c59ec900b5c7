//! A server of the `rmcp` SDK in the same process, as a source of tools.

use std::collections::BTreeSet;
use std::fmt;

use async_trait::async_trait;
use futures_util::future::join;
use rmcp::ServerHandler;
use rmcp::ServiceExt as _;
use rmcp::model::CallToolRequestParams;
use rmcp::model::CallToolResponse;
use rmcp::model::ErrorCode;
use rmcp::model::PaginatedRequestParams;
use rmcp::service::ClientCacheConfig;
use rmcp::service::Peer;
use rmcp::service::RoleClient;
use rmcp::service::RoleServer;
use rmcp::service::RunningService;
use rmcp::service::ServiceError;
use rmcp::transport::async_rw::AsyncRwTransport;
use serde_json::Value;
use serde_json::json;
use tokio::sync::Mutex;
use toolgate_core::catalog::Provenance;
use toolgate_core::catalog::Source;
use toolgate_core::catalog::Trust;
use toolgate_core::digest::Digest;
use toolgate_core::id::IdError;
use toolgate_core::id::UpstreamId;

use super::Listing;
use super::ToolCall;
use super::Upstream;
use super::UpstreamError;
use super::bounds::MOST_PAGES;
use super::measured::Measured;
use super::measured::TOO_LARGE;

/// The size of the pipe to the server, in bytes.
const PIPE: usize = 64 * 1024;

/// An `rmcp` server behind the gate, spoken to over a pipe in memory.
///
/// It starts with the first look at its tools, inside the tokio runtime that looks, and runs on
/// whether or not a request of an agent is in flight. Its code is the embedding program's own, so
/// what it says of its tools is trusted as the gate's own connectors are.
///
/// ```
/// use rmcp::ServerHandler;
/// use toolgate_mcp::upstream::{InProcess, Upstream};
///
/// #[derive(Clone)]
/// struct Empty;
///
/// impl ServerHandler for Empty {}
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let upstream = InProcess::new("notes", Empty)?;
/// assert!(upstream.tools().await?.definitions.is_empty());
/// # Ok(())
/// # }
/// ```
pub struct InProcess<S: ServerHandler> {
    id: UpstreamId,
    state: Mutex<State<S>>,
}

enum State<S: ServerHandler> {
    /// Not started yet.
    Waiting(Box<S>),
    Running(Box<Running<S>>),
    /// It could not be started, and its handler is gone.
    Failed,
}

struct Running<S: ServerHandler> {
    client: RunningService<RoleClient, ()>,
    // Kept because a server ends with its handle.
    _server: RunningService<RoleServer, S>,
}

impl<S: ServerHandler> fmt::Debug for InProcess<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InProcess")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl<S: ServerHandler> InProcess<S> {
    /// The server as the source of that id. Its tools keep their names.
    ///
    /// # Errors
    /// [`IdError`] if that is no id of a source.
    pub fn new(id: &str, server: S) -> Result<Self, IdError> {
        Ok(Self {
            id: id.parse()?,
            state: Mutex::new(State::Waiting(Box::new(server))),
        })
    }

    /// The way to the running server, which is started if it was not.
    async fn peer(&self) -> Result<Peer<RoleClient>, UpstreamError> {
        let mut state = self.state.lock().await;
        if let State::Waiting(_) = &*state
            && let State::Waiting(server) = std::mem::replace(&mut *state, State::Failed)
        {
            *state = start(*server).await;
        }
        match &*state {
            State::Running(running) if !running.client.is_closed() => {
                Ok(running.client.peer().clone())
            }
            _ => Err(UpstreamError::not_made("the server in this process ended")),
        }
    }
}

async fn start<S: ServerHandler>(server: S) -> State<S> {
    let (ours, theirs) = tokio::io::duplex(PIPE);
    let (read, write) = tokio::io::split(theirs);
    let theirs = Measured::new(AsyncRwTransport::new_server(read, write));
    match join(server.serve(theirs), ().serve(ours)).await {
        (Ok(server), Ok(client)) => {
            // What the gate asks for it wants to know as it is now, and keeps itself.
            let none = ClientCacheConfig::disabled();
            client.peer().set_response_cache_config(none).await;
            State::Running(Box::new(Running {
                client,
                _server: server,
            }))
        }
        _ => {
            tracing::error!("a server in this process cannot be started");
            State::Failed
        }
    }
}

#[async_trait]
impl<S: ServerHandler> Upstream for InProcess<S> {
    fn source(&self) -> Source {
        Source {
            id: self.id.clone(),
            provenance: Provenance::Builtin,
            trust: Trust::Vetted,
        }
    }

    async fn tools(&self) -> Result<Listing, UpstreamError> {
        list(&self.peer().await?).await
    }

    async fn call(&self, call: ToolCall) -> Result<Value, UpstreamError> {
        let peer = self.peer().await?;
        let params = CallToolRequestParams::new(call.tool.as_str().to_owned())
            .with_arguments(call.arguments);
        let response = match peer.call_tool_once(params).await {
            Ok(response) => response,
            Err(error) if is_too_large(&error) => return Err(UpstreamError::too_large()),
            // An error of the protocol is what the tool says of its failure, whatever its code: it is
            // the program's own, and passes the filter as any other text.
            Err(ServiceError::McpError(error)) => {
                let text = json!({"type": "text", "text": error.message});
                return Ok(json!({"content": [text], "isError": true}));
            }
            Err(error) => return Err(failed(&error)),
        };
        let answer = match response {
            CallToolResponse::Complete(result) => serde_json::to_value(result),
            CallToolResponse::InputRequired(_) => Ok(json!({"resultType": "input_required"})),
            _ => Ok(json!({"resultType": "task"})),
        };
        answer.map_err(|_| UpstreamError::unknown("the server's result cannot be read"))
    }
}

/// The tools of a server, page by page. One that never ends is cut.
async fn list(peer: &Peer<RoleClient>) -> Result<Listing, UpstreamError> {
    let mut listing = Listing::default();
    let mut seen = BTreeSet::new();
    let mut cursor: Option<String> = None;
    for _ in 0..MOST_PAGES {
        let params = cursor.map(|at| PaginatedRequestParams::default().with_cursor(Some(at)));
        let page = match peer.list_tools(params).await {
            Ok(page) => page,
            // A server without the capability has none.
            Err(ServiceError::McpError(error)) if error.code == ErrorCode::METHOD_NOT_FOUND => {
                return Ok(listing);
            }
            Err(error) if is_too_large(&error) && !seen.is_empty() => break,
            Err(_) => {
                return Err(UpstreamError::not_made(
                    "the server does not list its tools",
                ));
            }
        };
        for tool in &page.tools {
            let definition = serde_json::to_string(tool)
                .map_err(|_| UpstreamError::not_made("a tool's definition cannot be written"))?;
            if !listing.add(definition) {
                return Ok(listing);
            }
        }
        let Some(next) = page.next_cursor else {
            return Ok(listing);
        };
        if !seen.insert(Digest::of(next.as_bytes())) {
            break;
        }
        cursor = Some(next);
    }
    listing.truncated = true;
    Ok(listing)
}

fn is_too_large(error: &ServiceError) -> bool {
    matches!(error, ServiceError::McpError(error) if error.code == TOO_LARGE)
}

fn failed(error: &ServiceError) -> UpstreamError {
    match error {
        ServiceError::TransportSend(_) => {
            UpstreamError::not_made("the server in this process ended")
        }
        _ => UpstreamError::unknown("the server does not answer"),
    }
}
