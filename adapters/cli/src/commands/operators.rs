//! `toolgate operators`: people with a role.

use clap::Subcommand;
use clap::ValueEnum;
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
    /// Add an operator; the token is printed this once
    Add {
        /// Letters, digits and any of `._@-`
        name: String,
        /// What they may do
        #[arg(long, default_value = "viewer")]
        role: Role,
    },
    /// List all operators
    List,
    /// Remove an operator; the token ends to be good at once
    Remove {
        /// Their name
        name: String,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Role {
    /// May do everything
    Owner,
    /// Sees everything, changes nothing
    Viewer,
}

pub(crate) async fn run(command: Command, client: &Client, out: &mut Out) -> Result<(), Failure> {
    match command {
        Command::Add { name, role } => {
            let role = match role {
                Role::Owner => "owner",
                Role::Viewer => "viewer",
            };
            let body = json!({"name": name, "role": role});
            let answer = client.post(&["operators"], &body).await?;
            out.answer(&answer, || {
                vec![
                    format!("operator  {}", plain(&name)),
                    format!("token     {}", plain(&at(&answer, "/token"))),
                    "The token is not shown again.".to_owned(),
                ]
            })
        }
        Command::List => {
            let answer = client.fetch(&["operators"], &[]).await?;
            out.answer(&answer, || listed(&answer))
        }
        Command::Remove { name } => {
            let answer = client.delete(&["operators", &name]).await?;
            let document = if answer.is_null() {
                json!({"name": name})
            } else {
                answer
            };
            out.answer(&document, || vec![format!("{} is removed", plain(&name))])
        }
    }
}

fn listed(answer: &Value) -> Vec<String> {
    let rows: Vec<_> = items(answer, "/operators")
        .iter()
        .map(|one| [at(one, "/name"), at(one, "/role"), at(one, "/createdAt")])
        .collect();
    table(["NAME", "ROLE", "ADDED"], &rows)
}
