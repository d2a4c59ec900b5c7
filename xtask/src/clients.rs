//! Drives the built binary with MCP clients of other makers.
//!
//! Each run starts a demo gate of its own on a free port, with a fresh store, so that no run sees
//! another's approvals or spends another's limits.

use std::path::Path;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use crate::metadata::Workspace;
use crate::shell;
use crate::shell::Shell;

pub(crate) mod conformance;
mod gate;
mod kit;

use gate::Gate;
use kit::Home;
use kit::Kit;

/// How long one script may take, from its start to its end.
const SCRIPT_LIMIT: Duration = Duration::from_secs(180);

/// A script, the protocol mode it is told to use, and what it stands for.
const RUNS: [(Home, &str, &str); 12] = [
    (Home::PythonTwo, "client.py", "auto"),
    (Home::PythonTwo, "client.py", "legacy"),
    (Home::PythonOne, "mcp1.py", "legacy"),
    (Home::Fastmcp, "fast.py", "auto"),
    (Home::Fastmcp, "fast.py", "legacy"),
    (Home::Node, "sdk1.mjs", "legacy"),
    (Home::Node, "client2.mjs", "auto"),
    (Home::Node, "client2.mjs", "legacy"),
    (Home::Rmcp, "toolgate-rmcp-client", "auto"),
    (Home::Rmcp, "toolgate-rmcp-client", "legacy"),
    (Home::Node22, "inspector.mjs", "modern"),
    (Home::Node22, "inspector.mjs", "legacy"),
];

/// The suite.
pub(crate) fn check(shell: &Shell) -> Result<(), String> {
    let workspace = Workspace::read(shell)?;
    let work = workspace.target.join("clients");
    let kit = Kit::at(&work);
    let binary = std::thread::scope(|scope| {
        let nodes = scope.spawn(|| kit.install(shell, &Home::NODES));
        let pythons = scope.spawn(|| kit.install(shell, &Home::PYTHONS));
        let crates = scope.spawn(|| kit.install(shell, &Home::CRATES));
        let binary = build(shell, &workspace, "toolgate");
        ended(crates.join())?;
        ended(nodes.join())?;
        ended(pythons.join())?;
        binary
    })?;
    let mut failed = Vec::new();
    for (home, script, mode) in RUNS {
        let name = format!("{script} {mode}");
        println!("\n--- {name}");
        if let Err(error) = one_run(shell, &kit, &binary, &work, (home, script, mode)) {
            println!("{name}: {error}");
            failed.push(name);
        }
    }
    if failed.is_empty() {
        Ok(())
    } else {
        Err(format!("not satisfied: {}", failed.join(", ")))
    }
}

/// Builds a binary, with every feature as the tests have it, and says where it is.
fn build(shell: &Shell, workspace: &Workspace, name: &str) -> Result<PathBuf, String> {
    shell.run(&format!(
        "cargo build --profile ci --workspace --all-features --bin {name}"
    ))?;
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    Ok(workspace.target.join("ci").join(file))
}

/// What a thread came to; one that panicked is a failure too.
fn ended(joined: std::thread::Result<Result<(), String>>) -> Result<(), String> {
    joined.unwrap_or_else(|_| Err("the installation ended before its time".to_owned()))
}

/// One gate, one script.
fn one_run(
    shell: &Shell,
    kit: &Kit,
    binary: &Path,
    work: &Path,
    (home, script, mode): (Home, &str, &str),
) -> Result<(), String> {
    let mut command = kit.command(shell, home, script)?;
    let gate = Gate::demo(shell, binary, &work.join("gate"))?;
    command.arg(mode).envs(gate.env()).stdin(Stdio::null());
    shell.keep(&mut command)?;
    let result = shell::run_bounded(&mut command, script, SCRIPT_LIMIT);
    if result.is_err() {
        gate.print_log();
    }
    let stopped = gate.stop();
    result.and(stopped)
}
