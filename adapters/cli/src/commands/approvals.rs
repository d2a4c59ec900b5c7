//! `toolgate approvals`: calls that wait for a person.

use clap::Subcommand;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use crate::client::Client;
use crate::failure::Failure;
use crate::out::Out;
use crate::out::at;
use crate::out::items;
use crate::out::plain;
use crate::out::table;

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Command {
    /// Let a call be made
    #[command(after_help = "Examples:
  toolgate approvals approve ap_…
  toolgate approvals approve ap_… --viewed DIGEST")]
    Approve {
        /// The request's id
        id: String,
        /// Why, for the audit
        #[arg(long)]
        reason: Option<String>,
        /// The digest that `approvals show` printed: refuse if the request is another one
        #[arg(long, value_name = "DIGEST")]
        viewed: Option<String>,
    },
    /// Do not let a call be made
    Decline {
        /// The request's id
        id: String,
        /// Why; the agent gets to read it
        #[arg(long)]
        reason: Option<String>,
    },
    /// List requests, newest first
    List {
        /// pending, applying, applied, failed, unknown, declined, expired, blocked, withdrawn or all
        #[arg(long, default_value = "pending")]
        status: String,
        /// Of this agent alone
        #[arg(long)]
        agent: Option<String>,
        /// At most so many
        #[arg(long, default_value_t = 100)]
        limit: u32,
    },
    /// Show what a person is asked
    Show {
        /// The request's id
        id: String,
    },
}

pub(crate) async fn run(command: Command, client: &Client, out: &mut Out) -> Result<(), Failure> {
    match command {
        Command::Approve { id, reason, viewed } => {
            decide(client, out, &id, true, reason, viewed).await
        }
        Command::Decline { id, reason } => decide(client, out, &id, false, reason, None).await,
        Command::List {
            status,
            agent,
            limit,
        } => {
            let limit = limit.to_string();
            let mut query = vec![("limit", limit.as_str())];
            if status != "all" {
                query.push(("status", &status));
            }
            if let Some(agent) = &agent {
                query.push(("principal", agent));
            }
            let answer = client.fetch(&["approvals"], &query).await?;
            out.answer(&answer, || listed(&answer))
        }
        Command::Show { id } => {
            let answer = client.fetch(&["approvals", &id], &[]).await?;
            out.answer(&answer, || shown(&answer))
        }
    }
}

async fn decide(
    client: &Client,
    out: &mut Out,
    id: &str,
    approved: bool,
    reason: Option<String>,
    viewed: Option<String>,
) -> Result<(), Failure> {
    let mut body = Map::new();
    body.insert("approved".to_owned(), json!(approved));
    if let Some(reason) = reason {
        body.insert("reason".to_owned(), json!(reason));
    }
    if let Some(viewed) = viewed {
        body.insert("viewedDigest".to_owned(), json!(viewed));
    }
    let answer = client
        .post(&["approvals", id], &Value::Object(body))
        .await?;
    out.answer(&answer, || {
        vec![format!("{}: {}", plain(id), plain(&at(&answer, "/status")))]
    })
}

/// The agent's name, or its id where there is no name.
fn agent(approval: &Value) -> String {
    let name = at(approval, "/principalName");
    if name.is_empty() {
        at(approval, "/principal")
    } else {
        name
    }
}

fn listed(answer: &Value) -> Vec<String> {
    let rows: Vec<_> = items(answer, "/approvals")
        .iter()
        .map(|approval| {
            [
                at(approval, "/id"),
                agent(approval),
                at(approval, "/tool"),
                at(approval, "/status"),
                at(approval, "/expiresAt"),
                at(approval, "/args"),
            ]
        })
        .collect();
    table(
        ["ID", "AGENT", "TOOL", "STATUS", "EXPIRES", "ARGUMENTS"],
        &rows,
    )
}

fn shown(approval: &Value) -> Vec<String> {
    let mut lines = vec![
        format!("id       {}", plain(&at(approval, "/id"))),
        format!("agent    {}", plain(&agent(approval))),
        format!("tool     {}", plain(&at(approval, "/tool"))),
        format!("status   {}", plain(&at(approval, "/status"))),
        format!("created  {}", plain(&at(approval, "/createdAt"))),
        format!("expires  {}", plain(&at(approval, "/expiresAt"))),
        format!("digest   {}", plain(&at(approval, "/viewedDigest"))),
        String::new(),
    ];
    lines.extend(at(approval, "/prompt").lines().map(plain));
    lines
}
