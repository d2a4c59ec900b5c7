//! The servers that are compared.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use http::HeaderMap;
use http::Method;
use http::header;
use toolgate_axum::embed::Embedding;
use toolgate_axum::hands::SystemClock;
use toolgate_axum::sqlite::Durability;
use toolgate_axum::sqlite::SqliteStore;
use toolgate_mcp::upstream::ToolCall;
use toolgate_mcp::upstream::Upstream as _;
use toolgate_mcp::wire::Decoded;
use toolgate_mcp::wire::Face;
use toolgate_mcp::wire::What;

use crate::Outcome;
use crate::process;
use crate::tool;
use crate::tool::Reader;

/// In the order of the table.
pub(crate) const KINDS: [&str; 4] = ["handler", "proxy", "strict", "relaxed"];

const POLICY: &str = r#"{"tools": {"read": {}}, "perMinute": 1000000, "perDay": 1000000000}"#;

/// The file inside a server's folder that holds its agent's key.
pub(crate) const KEY: &str = "key";

pub(crate) async fn serve(kind: &str, address: &str, folder: &str) -> Outcome<()> {
    process::pin(0);
    let address: SocketAddr = address.parse()?;
    let folder = Path::new(folder);
    match kind {
        "handler" => {
            let answer = serde_json::json!({"jsonrpc": "2.0", "id": 1, "result": tool::result()});
            let answer = Bytes::from(answer.to_string());
            let handler = move || {
                let answer = answer.clone();
                async move { ([(header::CONTENT_TYPE, "application/json")], answer) }
            };
            plain(address, Router::new().route("/mcp", post(handler))).await
        }
        "proxy" => plain(address, Router::new().route("/mcp", post(proxied))).await,
        "strict" => gate(address, folder, Durability::Strict).await,
        "relaxed" => gate(address, folder, Durability::Relaxed).await,
        _ => Err("there is no such server".into()),
    }
}

async fn plain(address: SocketAddr, router: Router) -> Outcome<()> {
    let listener = tokio::net::TcpListener::bind(address).await?;
    let listener = axum::serve::ListenerExt::tap_io(listener, |stream| {
        stream.set_nodelay(true).ok();
    });
    axum::serve(listener, router).await?;
    Ok(())
}

/// Reads the message, calls the tool, answers: a proxy that enforces nothing and keeps nothing.
async fn proxied(headers: HeaderMap, body: Bytes) -> http::Response<axum::body::Body> {
    let decoded = Face::new("proxy", "0").decode(&Method::POST, &headers, &body);
    let reply = match decoded {
        Decoded::Answer(reply) => reply,
        Decoded::Ask(ask) => match ask.what.clone() {
            What::CallTool {
                name, arguments, ..
            } => match called(&name, &arguments).await {
                Some(result) => ask.result(result),
                None => ask.failed("the tool failed"),
            },
            What::ListTools { .. } => ask.tools(Vec::<()>::new(), None),
        },
    };
    http::Response::<Bytes>::from(reply).map(axum::body::Body::from)
}

async fn called(name: &str, arguments: &str) -> Option<serde_json::Value> {
    let call = ToolCall::new(
        "c1".parse().ok()?,
        "p1".parse().ok()?,
        name.parse().ok()?,
        serde_json::from_str(arguments).ok()?,
    );
    Reader::new().ok()?.call(call).await.ok()
}

async fn gate(address: SocketAddr, folder: &Path, durability: Durability) -> Outcome<()> {
    let clock = Arc::new(SystemClock::start());
    let store = Arc::new(SqliteStore::open(folder, durability, clock)?);
    let embedding = Embedding::over(store.clone(), store.clone(), store);
    let gate = embedding.upstream(Arc::new(Reader::new()?))?.open().await?;
    let agent = gate.agent("bench", POLICY).await?;
    let key = gate.new_key(&agent).await?;
    std::fs::write(folder.join(KEY), key.reveal())?;
    gate.http(address).await?;
    Ok(())
}
