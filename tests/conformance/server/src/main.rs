//! The gate before the tools that the conformance runner looks for.
//!
//! It prints one JSON line with its address and the key of its one agent, and serves until it is
//! asked to end.

mod reference;

use std::error::Error;
use std::io::Write as _;
use std::sync::Arc;

use reference::Reference;
use serde_json::json;
use toolgate_axum::embed::Embedding;
use toolgate_axum::metrics::Metrics;
use toolgate_axum::server::Limits;
use toolgate_axum::server::Live;
use toolgate_axum::server::MetricsAccess;
use toolgate_axum::server::Server;
use toolgate_axum::server::Serving;
use toolgate_axum::server::Signals;

const POLICY: &str = r#"{"upstreams": {"reference": {"allow": "all"}}, "perMinute": 100000}"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (_hangups, stop) = Signals::listen()?.split();
    let gate = Embedding::memory().server("reference", Reference)?;
    let gate = gate.open().await?;
    let agent = gate.agent("judge", POLICY).await?;
    let key = gate.new_key(&agent).await?;
    let server = Server::bind(([127, 0, 0, 1], 0).into(), Limits::default()).await?;
    let url = format!("http://{}/", server.address()?);
    let line = json!({"url": url, "agents": [{"name": "judge", "key": key.reveal()}]});
    writeln!(std::io::stdout(), "{line}")?;
    let access = MetricsAccess::Nobody;
    let serving = Serving {
        app: gate.app(),
        access,
    };
    let live = Live::new(serving, Arc::new(Metrics::new()));
    server.run(Arc::new(live), stop).await;
    Ok(())
}
