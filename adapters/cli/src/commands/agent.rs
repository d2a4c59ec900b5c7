//! `toolgate agent`: agents, their keys and their switches.

use std::path::PathBuf;

use clap::Subcommand;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;
use toolgate_core::id::PrincipalName;
use toolgate_core::time::Timestamp;
use toolgate_core::time::TimestampError;

use super::clients::McpClient;
use super::policy::read_policy;
use crate::client::Client;
use crate::failure::Failure;
use crate::out::Out;
use crate::out::at;
use crate::out::items;
use crate::out::plain;
use crate::out::table;

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Command {
    /// Make an agent and a key for it
    #[command(after_help = "Examples:
  toolgate agent add support-bot --policy support.json
  toolgate agent add my-agent --client claude-code
  toolgate agent add ci-bot --json | jq -r .key")]
    Add {
        /// Lower-case letters, digits and hyphens
        #[arg(value_parser = name)]
        name: PrincipalName,
        /// A file with its policy; without one it may do nothing
        #[arg(long, value_name = "FILE")]
        policy: Option<PathBuf>,
        /// The operator whose agent it is
        #[arg(long)]
        owner: Option<String>,
        /// Print the configuration of this client
        #[arg(long)]
        client: Option<McpClient>,
    },
    /// Make a further key for an agent
    Key {
        /// Its name or id
        agent: String,
        /// When the key ends to be good, in RFC 3339, as 2031-12-31T23:59:59Z
        #[arg(long, value_name = "TIME", value_parser = time)]
        expires_at: Option<Timestamp>,
        /// Print the configuration of this client
        #[arg(long)]
        client: Option<McpClient>,
    },
    /// Switch an agent off, at once
    Kill {
        /// Its name or id
        agent: String,
        /// Why, for the audit
        #[arg(long)]
        reason: Option<String>,
    },
    /// List all agents
    List,
    /// Switch an agent on again
    Revive {
        /// Its name or id
        agent: String,
    },
    /// Revoke a key of an agent
    Revoke {
        /// Its name or id
        agent: String,
        /// The key's id, as `agent show` prints it
        key: String,
    },
    /// Show an agent with its keys and its use
    Show {
        /// Its name or id
        agent: String,
    },
}

pub(crate) async fn run(command: Command, client: &Client, out: &mut Out) -> Result<(), Failure> {
    match command {
        Command::Add {
            name,
            policy,
            owner,
            client: of,
        } => add(client, out, &name, policy, owner, of).await,
        Command::Key {
            agent,
            expires_at,
            client: of,
        } => {
            let body = expires_at.map_or(json!({}), |at| json!({"expiresAt": at}));
            let made = client.post(&["principals", &agent, "keys"], &body).await?;
            handed_over(client, out, made, &agent, of)
        }
        Command::Kill { agent, reason } => {
            let body = reason.map_or(json!({}), |reason| json!({"reason": reason}));
            let answer = client.post(&["principals", &agent, "kill"], &body).await?;
            out.answer(&answer, || {
                vec![format!("{} is switched off", plain(&agent))]
            })
        }
        Command::List => {
            let answer = client.fetch(&["principals"], &[]).await?;
            out.answer(&answer, || listed(&answer))
        }
        Command::Revive { agent } => {
            let answer = client
                .post(&["principals", &agent, "revive"], &json!({}))
                .await?;
            out.answer(&answer, || {
                vec![format!("{} is switched on", plain(&agent))]
            })
        }
        Command::Revoke { agent, key } => {
            let path = ["principals", &agent, "keys", &key, "revoke"];
            let answer = client.post(&path, &json!({})).await?;
            out.answer(&answer, || vec![format!("{} is revoked", plain(&key))])
        }
        Command::Show { agent } => {
            let answer = client.fetch(&["principals", &agent], &[]).await?;
            out.answer(&answer, || shown(&answer))
        }
    }
}

async fn add(
    client: &Client,
    out: &mut Out,
    name: &PrincipalName,
    policy: Option<PathBuf>,
    owner: Option<String>,
    of: Option<McpClient>,
) -> Result<(), Failure> {
    let mut body = Map::new();
    body.insert("name".to_owned(), json!(name));
    if let Some(path) = policy {
        body.insert("policy".to_owned(), read_policy(&path)?);
    }
    if let Some(owner) = owner {
        body.insert("owner".to_owned(), json!(owner));
    }
    let made = client.post(&["principals"], &Value::Object(body)).await?;
    let id = at(&made, "/id");
    let key = client
        .post(&["principals", &id, "keys"], &json!({}))
        .await?;
    let answer = json!({"id": id, "name": at(&made, "/name"), "key": at(&key, "/key")});
    handed_over(client, out, answer, name.as_str(), of)
}

fn name(text: &str) -> Result<PrincipalName, String> {
    PrincipalName::new(text).map_err(|error| {
        format!(
            "it {error}; a name has 1 to 64 lower-case letters, digits and hyphens, and does not \
             begin with a hyphen"
        )
    })
}

fn time(text: &str) -> Result<Timestamp, String> {
    text.parse()
        .map_err(|error: TimestampError| format!("{error}, as 2031-12-31T23:59:59Z"))
}

/// Prints a new key, this once, and what a client needs.
fn handed_over(
    client: &Client,
    out: &mut Out,
    mut answer: Value,
    agent: &str,
    of: Option<McpClient>,
) -> Result<(), Failure> {
    let key = at(&answer, "/key");
    let setup = of.map(|of| of.setup(client.address(), &key));
    if let (Some(setup), Some(members)) = (&setup, answer.as_object_mut()) {
        members.insert("client".to_owned(), setup.document.clone());
        members.insert("variable".to_owned(), json!(setup.variable.0));
    }
    out.answer(&answer, || {
        let mut lines = vec![
            format!("agent  {}", plain(agent)),
            format!("id     {}", plain(&at(&answer, "/id"))),
            format!("key    {}", plain(&key)),
            "The key is not shown again.".to_owned(),
        ];
        if let Some(setup) = setup {
            let (name, value) = setup.variable;
            lines.push(String::new());
            lines.push(format!("Set {name} in the client's environment:"));
            lines.push(format!("  export {name}='{}'", plain(&value)));
            lines.push(format!("and put this into {}:", setup.file));
            lines.push(plain_json(&setup.document));
        }
        lines
    })
}

/// A document for people; its strings are the gate's own.
pub(crate) fn plain_json(document: &Value) -> String {
    format!("{document:#}")
}

fn listed(answer: &Value) -> Vec<String> {
    let rows: Vec<_> = items(answer, "/principals")
        .iter()
        .map(|agent| {
            [
                at(agent, "/name"),
                at(agent, "/id"),
                at(agent, "/owner"),
                state(agent),
                at(agent, "/policyVersion"),
                at(agent, "/usage/usedToday"),
            ]
        })
        .collect();
    table(["NAME", "ID", "OWNER", "STATE", "POLICY", "TODAY"], &rows)
}

fn state(agent: &Value) -> String {
    match agent.pointer("/killed") {
        None | Some(Value::Null | Value::Bool(false)) => "on".to_owned(),
        Some(_) => "killed".to_owned(),
    }
}

fn shown(agent: &Value) -> Vec<String> {
    let mut lines = vec![
        format!("name    {}", plain(&at(agent, "/name"))),
        format!("id      {}", plain(&at(agent, "/id"))),
        format!("owner   {}", plain(&at(agent, "/owner"))),
        format!("state   {}", state(agent)),
        format!("policy  version {}", plain(&at(agent, "/policyVersion"))),
        format!(
            "today   {} of {}",
            plain(&at(agent, "/usage/usedToday")),
            plain(&at(agent, "/usage/perDay"))
        ),
        String::new(),
    ];
    let rows: Vec<_> = items(agent, "/keys")
        .iter()
        .map(|key| {
            [
                at(key, "/id"),
                at(key, "/createdAt"),
                at(key, "/lastUsedAt"),
                at(key, "/expiresAt"),
                at(key, "/revokedAt"),
            ]
        })
        .collect();
    lines.extend(table(
        ["KEY", "CREATED", "LAST USED", "EXPIRES", "REVOKED"],
        &rows,
    ));
    lines
}
