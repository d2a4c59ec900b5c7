//! A server without tools, behind the gate.

use rmcp::ServerHandler;
use toolgate_axum::embed::Embedding;

struct Empty;

impl ServerHandler for Empty {}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let gate = Embedding::memory().server("empty", Empty)?.open().await?;
    let agent = gate.agent("assistant", r#"{"tools": {}}"#).await?;
    gate.stdio(&agent).await?;
    Ok(())
}
