//! `toolgate demo`: the gate with seeded tools, for a look around on one machine.

use std::net::SocketAddr;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use serde_json::json;
use toolgate_axum::native;
use toolgate_axum::native::Connector;
use toolgate_axum::native::DemoSeed;
use toolgate_axum::native::Settings;
use toolgate_axum::sqlite::Durability;
use toolgate_http::Seed as _;

use super::agent::plain_json;
use super::clients::McpClient;
use super::running;
use super::running::Running;
use crate::failure::Failure;
use crate::out::Out;
use crate::out::at;
use crate::out::items;
use crate::words;

/// The operator that a demo has.
const OWNER: &str = "demo-owner";
/// The owner's token: good on this machine, in a demo, and nowhere else.
const TOKEN: &str = "local-admin";

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "Examples:
  toolgate demo
  toolgate demo --listen 127.0.0.1:0 --data demo-data --json

The operator's token is `local-admin`, so it listens on this machine only. Each start makes new
keys for its two agents and revokes all earlier ones of theirs. It takes no folder in which a gate
that is no demo keeps its data, and `toolgate serve` takes no folder of a demo.")]
pub(crate) struct Args {
    /// An address of this machine
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8787")]
    listen: SocketAddr,
    /// Keep everything here; without it, in a fresh temporary folder
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

pub(crate) async fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    if !args.listen.ip().is_loopback() {
        return Err(Failure::usage(
            "a demo's token is known to everybody: it listens on this machine only",
        ));
    }
    running::start_logs()?;
    let (data, temporary) = match &args.data {
        Some(data) => (words::absolute(data)?, false),
        None => (running::temporary_folder()?, true),
    };
    let served = serve(args, &data, out).await;
    if temporary {
        // What is left behind is the operating system's to clear away.
        std::fs::remove_dir_all(&data).ok();
    }
    served
}

async fn serve(args: &Args, data: &Path, out: &mut Out) -> Result<(), Failure> {
    native::mark_demo(data).map_err(|error| words::not_a_demo(data, &error))?;
    let native = Arc::new(running::open(data, Durability::Strict)?);
    let seed = Arc::new(DemoSeed::new(&native));
    let mut settings = Settings::new(running::owner(OWNER, TOKEN)?);
    settings.connectors = Connector::ALL.to_vec();
    settings.seed = Some(Arc::clone(&seed) as _);
    let running = Running::start(native, &settings, args.listen, None).await?;
    let url = running.url()?;
    let seeded = seed
        .seed(&running.gate(), &settings.owner.name)
        .await
        .map_err(|error| Failure::unreachable(format!("the demo cannot be seeded: {error}")))?;
    let agents = items(&seeded, "/principals");
    let document = json!({"url": url, "token": TOKEN, "agents": agents, "data": data});
    out.answer(&document, || welcome(&document))?;
    let again = settings.clone();
    running.serve(move || Ok(again.clone())).await
}

fn welcome(document: &Value) -> Vec<String> {
    let url = at(document, "/url");
    let mut lines = vec![
        format!("toolgate demo on {url}"),
        format!("operator token   {}", at(document, "/token")),
        format!("data             {}", at(document, "/data")),
        String::new(),
    ];
    for agent in items(document, "/agents") {
        lines.push(format!("{:<16} {}", at(agent, "/name"), at(agent, "/id")));
        lines.push(format!("{:<16} {}", "", at(agent, "/key")));
    }
    lines.push("Keys are shown this once.".to_owned());
    lines.push(String::new());
    let setup = McpClient::ClaudeCode.setup(&url, &at(document, "/agents/0/key"));
    let (name, value) = setup.variable;
    lines.push("For an MCP client:".to_owned());
    lines.push(format!("  export {name}={value}"));
    lines.push(plain_json(&setup.document));
    lines.push(String::new());
    lines.push("Ctrl-C ends it.".to_owned());
    lines
}
