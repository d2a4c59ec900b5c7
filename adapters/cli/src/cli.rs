//! The command line.

use clap::Parser;
use clap::Subcommand;

use crate::client::Client;
use crate::client::Connection;
use crate::commands;
use crate::failure::Exit;
use crate::failure::Failure;
use crate::out::Out;

/// A gate between AI agents and the tools they call.
#[derive(Debug, Clone, Parser)]
#[command(version, propagate_version = true, disable_help_subcommand = true)]
#[command(after_help = "Examples:
  toolgate demo
  toolgate serve -c toolgate.toml
  toolgate agent add my-agent --policy policy.json --client claude-code
  toolgate approvals list

Exit codes: 0 done, 1 refused or tampered with, 2 incomplete, 3 not to be read or reached,
64 wrong usage.")]
pub(crate) struct Cli {
    #[command(flatten)]
    connection: Connection,

    /// Print one JSON document, for programs
    #[arg(long, global = true)]
    pub(crate) json: bool,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Clone, Subcommand)]
enum Command {
    /// Agents, their keys and their switches
    #[command(subcommand)]
    Agent(commands::agent::Command),
    /// Calls that wait for a person
    #[command(subcommand)]
    Approvals(commands::approvals::Command),
    /// Read the chains back, with a gate or without one
    #[command(subcommand)]
    Audit(commands::audit::Command),
    /// Copy what a gate keeps, while it runs
    Backup(commands::copies::Backup),
    /// The gate with seeded tools, for a look around
    Demo(commands::demo::Args),
    /// What is configured, reachable and unsafe
    Doctor(commands::doctor::Args),
    /// Clean a text from standard input
    Filter(commands::filter::Args),
    /// Write a configuration to start from
    Init(commands::init::Args),
    /// People with a role
    #[command(subcommand)]
    Operators(commands::operators::Command),
    /// What agents may do
    #[command(subcommand)]
    Policy(commands::policy::Command),
    /// Have the running gate read its file again
    Reload(commands::reload::Args),
    /// Put a copy in the place of what a gate kept
    Restore(commands::copies::Restore),
    /// The gate before the sources of tools that a file names
    Serve(commands::serve::Args),
}

impl Cli {
    pub(crate) fn run(self, out: &mut Out) -> Result<Exit, Failure> {
        let connection = self.connection;
        match self.command {
            Command::Agent(command) => {
                one(async { commands::agent::run(command, &Client::open(&connection)?, out).await })
            }
            Command::Approvals(command) => waiting(async {
                commands::approvals::run(command, &Client::open(&connection)?, out).await
            }),
            Command::Audit(commands::audit::Command::Export { data }) => {
                commands::audit::export(&data, out).map(|()| Exit::Ok)
            }
            Command::Audit(commands::audit::Command::Verify {
                data: None,
                file: None,
            }) => waiting(commands::audit::verify_online(&connection, out)),
            Command::Audit(commands::audit::Command::Verify { data, file }) => {
                commands::audit::verify_offline(data.as_deref(), file.as_deref(), out)
            }
            Command::Backup(args) => commands::copies::backup(&args, out).map(|()| Exit::Ok),
            Command::Demo(args) => serving(commands::demo::run(&args, out)),
            Command::Doctor(args) => waiting(commands::doctor::run(&args, &connection, out)),
            Command::Filter(args) => commands::filter::run(&args, out).map(|()| Exit::Ok),
            Command::Init(args) => commands::init::run(&args, out).map(|()| Exit::Ok),
            Command::Operators(command) => one(async {
                commands::operators::run(command, &Client::open(&connection)?, out).await
            }),
            Command::Policy(command) => waiting(commands::policy::run(command, &connection, out)),
            Command::Reload(args) => one(commands::reload::run(&args, out)),
            Command::Restore(args) => one(commands::copies::restore(&args, out)),
            Command::Serve(args) => serving(commands::serve::run(&args, out)),
        }
    }
}

/// Runs a command that asks and waits.
fn one(command: impl Future<Output = Result<(), Failure>>) -> Result<Exit, Failure> {
    waiting(async { command.await.map(|()| Exit::Ok) })
}

/// Runs a command on this thread.
fn waiting(command: impl Future<Output = Result<Exit, Failure>>) -> Result<Exit, Failure> {
    run_on(tokio::runtime::Builder::new_current_thread(), command)
}

/// Runs a gate on all threads.
fn serving(gate: impl Future<Output = Result<(), Failure>>) -> Result<Exit, Failure> {
    let gate = async { gate.await.map(|()| Exit::Ok) };
    run_on(tokio::runtime::Builder::new_multi_thread(), gate)
}

fn run_on(
    mut builder: tokio::runtime::Builder,
    command: impl Future<Output = Result<Exit, Failure>>,
) -> Result<Exit, Failure> {
    let runtime = builder
        .enable_all()
        .build()
        .map_err(|_| Failure::unreachable("the runtime cannot be started"))?;
    let done = runtime.block_on(command);
    // What a cut connection left behind is not waited for.
    runtime.shutdown_background();
    done
}
