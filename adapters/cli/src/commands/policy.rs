//! `toolgate policy`: what agents may do.

use std::path::Path;
use std::path::PathBuf;

use clap::Subcommand;
use serde_json::Value;
use serde_json::json;
use toolgate_axum::native::Connector;
use toolgate_core::catalog::Catalog;
use toolgate_core::id::UpstreamId;
use toolgate_core::policy;
use toolgate_core::policy::PolicyError;
use toolgate_core::policy::Template;

use super::agent::plain_json;
use crate::client::Client;
use crate::client::Connection;
use crate::config;
use crate::failure::Exit;
use crate::failure::Failure;
use crate::out::Out;
use crate::out::at;
use crate::out::items;
use crate::out::plain;
use crate::out::table;
use crate::strict;
use crate::words;

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Command {
    /// Put a stored policy in force for agents
    Apply {
        /// The policy's name
        policy: String,
        /// Names or ids of agents
        #[arg(required = true)]
        agents: Vec<String>,
    },
    /// Check a policy file against the built-in tools, without a gate
    #[command(after_help = "Examples:
  toolgate policy check support.json
  toolgate policy check support.json -c toolgate.toml")]
    Check {
        /// The policy
        file: PathBuf,
        /// Only the connectors that this configuration names
        #[arg(short, long, value_name = "FILE")]
        config: Option<PathBuf>,
    },
    /// Say what would become of a call, without making it
    #[command(after_help = "Example:
  toolgate policy explain support-bot files_read --args '{\"path\":\"docs/../secrets/a\"}'")]
    Explain {
        /// The agent's name or id
        agent: String,
        /// The tool
        tool: String,
        /// The arguments, as JSON
        #[arg(long, default_value = "{}")]
        args: String,
    },
    /// Print a policy to start from
    #[command(after_help = "Example:
  toolgate policy init --template ask-for-writes desk files > agent.json")]
    Init {
        /// read-only, ask-for-writes, coding-agent or support
        #[arg(long, default_value = "ask-for-writes")]
        template: String,
        /// The sources of tools that it grants: desk, files, flags, web
        #[arg(required = true, value_name = "UPSTREAM")]
        upstreams: Vec<String>,
    },
    /// List the stored policies
    List,
    /// Print the JSON Schema of a policy
    Schema,
    /// Put a policy file in force for one agent
    Set {
        /// The agent's name or id
        agent: String,
        /// The policy
        file: PathBuf,
    },
    /// Store a policy file under a name
    Store {
        /// Lower-case letters, digits and hyphens
        name: String,
        /// The policy
        file: PathBuf,
    },
}

pub(crate) async fn run(
    command: Command,
    connection: &Connection,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let done = match command {
        Command::Apply { policy, agents } => {
            return apply(connection, out, &policy, &agents).await;
        }
        Command::Check { file, config } => check(out, &file, config.as_deref()).await,
        Command::Explain { agent, tool, args } => {
            let args = strict::read(&args).map_err(|fault| {
                let place = format!("line {}, column {}", fault.line, fault.column);
                Failure::usage("the arguments are not strict JSON")
                    .with([format!("{place}: {}", fault.message)])
            })?;
            let body = json!({"tool": tool, "args": args});
            let client = Client::open(connection)?;
            let answer = client.post(&["principals", &agent, "check"], &body).await?;
            out.answer(&answer, || explained(&answer))
        }
        Command::Init {
            template,
            upstreams,
        } => init(out, &template, &upstreams).await,
        Command::List => {
            let answer = Client::open(connection)?.fetch(&["policies"], &[]).await?;
            out.answer(&answer, || {
                let rows: Vec<_> = items(&answer, "/policies")
                    .iter()
                    .map(|one| [at(one, "/name"), at(one, "/version")])
                    .collect();
                table(["NAME", "VERSION"], &rows)
            })
        }
        Command::Schema => out.line(plain_json(&policy::schema())),
        Command::Set { agent, file } => {
            let body = json!({"policy": read_policy(&file)?});
            let client = Client::open(connection)?;
            let answer = client.put(&["principals", &agent, "policy"], &body).await?;
            out.answer(&answer, || {
                let version = plain(&at(&answer, "/policyVersion"));
                vec![format!(
                    "version {version} is in force for {}",
                    plain(&agent)
                )]
            })
        }
        Command::Store { name, file } => {
            let body = json!({"policy": read_policy(&file)?});
            let client = Client::open(connection)?;
            let answer = client.put(&["policies", &name], &body).await?;
            out.answer(&answer, || {
                let version = plain(&at(&answer, "/version"));
                vec![format!("{} is stored as version {version}", plain(&name))]
            })
        }
    };
    done.map(|()| Exit::Ok)
}

/// The policy in a file, as JSON; whether it is accepted is the gate's to say.
pub(super) fn read_policy(path: &Path) -> Result<Value, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| words::unusable(path, &error))?;
    strict::read(&text).map_err(|fault| {
        let strict::Fault {
            line,
            column,
            message,
        } = fault;
        let name = path.display();
        Failure::usage(format!("{name} is not strict JSON"))
            .with([format!("{name}:{line}:{column}: {message}")])
    })
}

async fn apply(
    connection: &Connection,
    out: &mut Out,
    policy: &str,
    agents: &[String],
) -> Result<Exit, Failure> {
    let client = Client::open(connection)?;
    let body = json!({"principals": agents});
    let answer = client.post(&["policies", policy, "apply"], &body).await?;
    let results = items(&answer, "/results");
    let refused = results.iter().filter(|one| one.get("error").is_some());
    let refused = refused.count();
    out.answer(&answer, || {
        let rows: Vec<_> = results
            .iter()
            .map(|one| {
                [
                    at(one, "/principal"),
                    at(one, "/policyVersion"),
                    at(one, "/error/message"),
                ]
            })
            .collect();
        table(["AGENT", "VERSION", "REFUSED"], &rows)
    })?;
    if refused == 0 {
        return Ok(Exit::Ok);
    }
    out.note("toolgate: the policy is not in force everywhere");
    Ok(Exit::Refused)
}

async fn check(out: &mut Out, file: &Path, config: Option<&Path>) -> Result<(), Failure> {
    let connectors = match config {
        Some(config) => config::check(config)?.connectors,
        None => Connector::ALL.to_vec(),
    };
    let catalog = catalog(&connectors).await?;
    let value = read_policy(file)?;
    match policy::parse_value(&value, &catalog) {
        Ok(policy) => {
            let tools: Vec<_> = policy
                .view(&catalog)
                .map(|tool| tool.shown().as_str())
                .collect();
            out.answer(&json!({"ok": true, "tools": tools}), || {
                vec![format!("accepted; it grants {}", tools.join(", "))]
            })
        }
        Err(errors) => {
            let errors = errors.into_vec();
            let details = errors.iter().map(PolicyError::to_string);
            let mut failure = Failure::new(Exit::Refused, "the policy is not accepted");
            "invalid_policy".clone_into(&mut failure.code);
            Err(failure.with(details))
        }
    }
}

async fn init(out: &mut Out, template: &str, upstreams: &[String]) -> Result<(), Failure> {
    let template: Template = template
        .parse()
        .map_err(|error| Failure::usage(format!("the template is {error}")))?;
    let mut ids = Vec::new();
    for name in upstreams {
        let known = Connector::ALL.iter().any(|known| known.as_str() == name);
        match UpstreamId::new(name.as_str()) {
            Ok(id) if known => ids.push(id),
            _ => {
                let words = Connector::ALL.map(Connector::as_str).join(", ");
                return Err(Failure::usage(format!("an upstream is one of {words}")));
            }
        }
    }
    let catalog = catalog(&Connector::ALL).await?;
    let document = policy::template(template, &ids, &catalog);
    let document = serde_json::to_value(document)
        .map_err(|_| Failure::unreachable("the policy cannot be written"))?;
    out.line(plain_json(&document))
}

fn explained(answer: &Value) -> Vec<String> {
    let mut lines = vec![plain(&at(answer, "/decision"))];
    for reason in items(answer, "/reasons") {
        let path = at(reason, "/path");
        let place = if path.is_empty() {
            String::new()
        } else {
            format!(" at {}", plain(&path))
        };
        lines.push(format!(
            "  {}{place}: {}",
            plain(&at(reason, "/code")),
            plain(&at(reason, "/message"))
        ));
    }
    lines
}

async fn catalog(connectors: &[Connector]) -> Result<Catalog, Failure> {
    let catalog = toolgate_axum::native::catalog(connectors).await;
    catalog.map_err(|error| Failure::unreachable(error.to_string()))
}
