//! An MCP server with the gate before its own tools.
//!
//! Run with `cargo run -p embedded` for a client that speaks over standard input and output, or
//! with `cargo run -p embedded -- 127.0.0.1:8787` for HTTP.

mod notes;

use std::error::Error;

use notes::Notes;
use toolgate_axum::embed::Embedding;

/// Notes are read at once; what is written waits for a person.
const POLICY: &str = r#"{"upstreams": {"notes": {"allow": "all"}}, "perMinute": 60}"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    match std::env::args().nth(1) {
        None => over_stdio().await,
        Some(address) => over_http(&address).await,
    }
}

async fn over_stdio() -> Result<(), Box<dyn Error>> {
    let gate = Embedding::memory()
        .server("notes", Notes::default())?
        .open()
        .await?;
    let agent = gate.agent("assistant", POLICY).await?;
    gate.stdio(&agent).await?;
    Ok(())
}

#[expect(clippy::print_stderr, reason = "the key is shown this once")]
async fn over_http(address: &str) -> Result<(), Box<dyn Error>> {
    let token = std::env::var("NOTES_TOKEN").unwrap_or_default();
    let notes = Embedding::sqlite("notes-data")?.server("notes", Notes::default())?;
    let gate = notes.owner("owner", &token)?.open().await?;
    let agent = gate.agent("assistant", POLICY).await?;
    if !gate.has_key(&agent).await? {
        eprintln!("key: {}", gate.new_key(&agent).await?.reveal());
    }
    gate.http(address.parse()?).await?;
    Ok(())
}
