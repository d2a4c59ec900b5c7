//! `toolgate approvals`: calls that wait for a person.

use clap::Subcommand;
use clap::ValueEnum;
use clap::builder::PossibleValue;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;
use toolgate_core::approval::Status;

use crate::client::Client;
use crate::failure::Exit;
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
  toolgate approvals approve ap_… --viewed DIGEST

It exits with 1 if the call was approved but not made, or if nobody knows whether it was.")]
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
        /// Where they stand
        #[arg(long, default_value = "pending")]
        status: Listed,
        /// Of this agent alone
        #[arg(long)]
        agent: Option<String>,
        /// Older than this one, to read on
        #[arg(long, value_name = "ID")]
        before: Option<String>,
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

/// The requests that are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listed {
    All,
    Of(Status),
}

impl Listed {
    fn word(self) -> Option<&'static str> {
        match self {
            Self::All => None,
            Self::Of(status) => Some(status.as_str()),
        }
    }
}

impl ValueEnum for Listed {
    fn value_variants<'a>() -> &'a [Self] {
        &LISTED
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.word().unwrap_or("all")))
    }
}

pub(crate) async fn run(command: Command, client: &Client, out: &mut Out) -> Result<Exit, Failure> {
    match command {
        Command::Approve { id, reason, viewed } => {
            decide(client, out, &id, true, reason, viewed).await
        }
        Command::Decline { id, reason } => decide(client, out, &id, false, reason, None).await,
        Command::List {
            status,
            agent,
            before,
            limit,
        } => {
            let limit = limit.to_string();
            let mut query = vec![("limit", limit.as_str())];
            if let Some(status) = status.word() {
                query.push(("status", status));
            }
            if let Some(agent) = &agent {
                query.push(("principal", agent));
            }
            if let Some(before) = &before {
                query.push(("before", before));
            }
            let answer = client.fetch(&["approvals"], &query).await?;
            out.answer(&answer, || listed(&answer))?;
            Ok(Exit::Ok)
        }
        Command::Show { id } => {
            let answer = client.fetch(&["approvals", &id], &[]).await?;
            out.answer(&answer, || shown(&answer))?;
            Ok(Exit::Ok)
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
) -> Result<Exit, Failure> {
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
        let mut lines = vec![format!("{}: {}", plain(id), plain(&at(&answer, "/status")))];
        lines.extend(why(&answer).map(|why| format!("  {why}")));
        lines
    })?;
    Ok(decided(approved, &answer))
}

/// Whether what was decided is what came of it: a call may be approved and yet not be made.
fn decided(approved: bool, answer: &Value) -> Exit {
    let status = at(answer, "/status");
    let not_made = approved && matches!(status.as_str(), "blocked" | "failed" | "unknown");
    if not_made { Exit::Refused } else { Exit::Ok }
}

/// Why a call was not made, if the gate says so.
fn why(approval: &Value) -> Option<String> {
    let (code, message) = (at(approval, "/code"), at(approval, "/message"));
    match (code.is_empty(), message.is_empty()) {
        (true, true) => None,
        (true, false) => Some(plain(&message)),
        (false, true) => Some(plain(&code)),
        (false, false) => Some(format!("{}: {}", plain(&code), plain(&message))),
    }
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
    let mut lines = table(
        ["ID", "AGENT", "TOOL", "STATUS", "EXPIRES", "ARGUMENTS"],
        &rows,
    );
    let next = at(answer, "/next");
    if !next.is_empty() {
        lines.push(String::new());
        lines.push(format!("there are older ones: --before {}", plain(&next)));
    }
    lines
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
    ];
    lines.extend(why(approval).map(|why| format!("reason   {why}")));
    lines.push(String::new());
    lines.extend(at(approval, "/prompt").lines().map(plain));
    lines
}

/// All of them, and every status by name.
const LISTED: [Listed; Status::ALL.len() + 1] = [
    Listed::All,
    Listed::Of(Status::Applied),
    Listed::Of(Status::Applying),
    Listed::Of(Status::Blocked),
    Listed::Of(Status::Declined),
    Listed::Of(Status::Expired),
    Listed::Of(Status::Failed),
    Listed::Of(Status::Pending),
    Listed::Of(Status::Unknown),
    Listed::Of(Status::Withdrawn),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_is_approved_but_not_made_is_no_success() {
        for (status, approved, exit) in [
            ("applied", true, Exit::Ok),
            ("applying", true, Exit::Ok),
            ("blocked", true, Exit::Refused),
            ("failed", true, Exit::Refused),
            ("unknown", true, Exit::Refused),
            ("declined", false, Exit::Ok),
        ] {
            let answer = json!({"status": status});
            assert_eq!(decided(approved, &answer), exit, "{status}");
        }
    }

    #[test]
    fn a_reason_is_told_as_far_as_the_gate_gives_one() {
        let told = |answer: Value| why(&answer);
        assert_eq!(told(json!({"status": "applied"})), None);
        assert_eq!(
            told(json!({"code": "killed", "message": "the agent is off\u{1b}"})).as_deref(),
            Some("killed: the agent is off\\u{1b}")
        );
        assert_eq!(
            told(json!({"message": "it is off"})).as_deref(),
            Some("it is off")
        );
        assert_eq!(told(json!({"code": "killed"})).as_deref(), Some("killed"));
    }

    #[test]
    fn requests_can_be_listed_by_every_status() {
        for status in Status::ALL {
            assert_eq!(
                Listed::from_str(status.as_str(), false),
                Ok(Listed::Of(status))
            );
        }
        assert!(Listed::from_str("pendig", false).is_err());
    }
}
