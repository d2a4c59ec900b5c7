//! Drives the built binary with the official MCP clients.
//!
//! Each run starts a demo gate of its own on a free port, with a fresh store, so that no run sees
//! another's approvals or spends another's limits.

use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::Stdio;
use std::time::Duration;

use crate::metadata::Workspace;
use crate::shell;
use crate::shell::Shell;

mod gate;

use gate::Gate;

/// How long one script may take, from its start to its end.
const SCRIPT_LIMIT: Duration = Duration::from_secs(120);

/// A script, the protocol mode it is told to use, and what it stands for.
const RUNS: [(Tongue, &str, &str); 5] = [
    (Tongue::Python, "client.py", "auto"),
    (Tongue::Python, "client.py", "legacy"),
    (Tongue::Node, "sdk1.mjs", "legacy"),
    (Tongue::Node, "client2.mjs", "auto"),
    (Tongue::Node, "client2.mjs", "legacy"),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tongue {
    Node,
    Python,
}

/// The suite.
pub(crate) fn check(shell: &Shell) -> Result<(), String> {
    let workspace = Workspace::read(shell)?;
    let sources = shell.root().join("tests/clients");
    let work = workspace.target.join("clients");
    let kit = Kit::install(shell, &sources, &work)?;
    shell.run("cargo build --profile ci --workspace --all-features --bin toolgate")?;
    let binary = workspace
        .target
        .join("ci")
        .join(format!("toolgate{}", std::env::consts::EXE_SUFFIX));
    let mut failed = Vec::new();
    for (tongue, script, mode) in RUNS {
        let name = format!("{script} {mode}");
        println!("\n--- {name}");
        if let Err(error) = one_run(&kit, &binary, &work, (tongue, script, mode)) {
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

/// One gate, one script.
fn one_run(
    kit: &Kit,
    binary: &Path,
    work: &Path,
    (tongue, script, mode): (Tongue, &str, &str),
) -> Result<(), String> {
    let gate = Gate::start(binary, &work.join("gate"))?;
    let mut command = kit.command(tongue, script);
    command.arg(mode).envs(gate.env()).stdin(Stdio::null());
    let result = shell::run_bounded(&mut command, script, SCRIPT_LIMIT);
    if result.is_err() {
        gate.print_log();
    }
    let stopped = gate.stop();
    result.and(stopped)
}

/// The installed clients.
#[derive(Debug)]
struct Kit {
    node: PathBuf,
    python: PathBuf,
    interpreter: PathBuf,
}

impl Kit {
    /// Puts the pinned clients under the target folder, once for each state of the pins.
    fn install(shell: &Shell, sources: &Path, work: &Path) -> Result<Self, String> {
        for tool in ["node", "npm", "python3"] {
            if !shell.has(&format!("{tool} --version")) {
                return Err(format!("`{tool}` is not installed; the clients need it"));
            }
        }
        let node = work.join("node");
        copy(sources, &node, &["package.json", "package-lock.json"])?;
        once(&node, &["package-lock.json"], || {
            let line = "npm ci --ignore-scripts --no-audit --no-fund --loglevel=error";
            println!("$ {line}");
            let mut command = shell.command(line);
            shell::run(command.current_dir(&node), "npm ci")
                .map_err(|error| format!("the TypeScript clients could not be had: {error}"))
        })?;
        let python = work.join("python");
        copy(sources, &python, &["requirements.txt"])?;
        let bin = if cfg!(windows) {
            "venv/Scripts"
        } else {
            "venv/bin"
        };
        let interpreter = python.join(bin).join("python");
        once(&python, &["requirements.txt"], || {
            println!(
                "$ python3 -m venv --clear {}",
                python.join("venv").display()
            );
            let mut venv = Command::new("python3");
            venv.args(["-m", "venv", "--clear"])
                .arg(python.join("venv"));
            shell::run(&mut venv, "python3 -m venv")
                .map_err(|error| format!("a Python environment could not be made: {error}"))?;
            println!("$ pip install -r requirements.txt");
            let mut pip = Command::new(&interpreter);
            pip.args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
            ]);
            pip.args(["--no-deps", "-r"])
                .arg(python.join("requirements.txt"));
            shell::run(&mut pip, "pip install")
                .map_err(|error| format!("the Python client could not be had: {error}"))
        })?;
        copy(sources, &node, &["judge.mjs", "sdk1.mjs", "client2.mjs"])?;
        copy(sources, &python, &["client.py"])?;
        Ok(Self {
            node,
            python,
            interpreter,
        })
    }

    fn command(&self, tongue: Tongue, script: &str) -> Command {
        match tongue {
            Tongue::Node => {
                let mut command = Command::new("node");
                command.arg(self.node.join(script)).current_dir(&self.node);
                command
            }
            Tongue::Python => {
                let mut command = Command::new(&self.interpreter);
                command.arg("-u");
                command
                    .arg(self.python.join(script))
                    .current_dir(&self.python);
                command
            }
        }
    }
}

/// Copies files, so that scripts lie beside the packages that they import.
fn copy(from: &Path, to: &Path, names: &[&str]) -> Result<(), String> {
    fs::create_dir_all(to).map_err(|error| format!("{}: {error}", to.display()))?;
    for name in names {
        fs::copy(from.join(name), to.join(name)).map_err(|error| {
            format!("{} could not be copied: {error}", from.join(name).display())
        })?;
    }
    Ok(())
}

/// Does `work` unless it was done for these very files before.
fn once(
    folder: &Path,
    names: &[&str],
    work: impl FnOnce() -> Result<(), String>,
) -> Result<(), String> {
    let stamp = folder.join("installed");
    let mut pins = Vec::new();
    for name in names {
        let path = folder.join(name);
        pins.extend(fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?);
    }
    if fs::read(&stamp).is_ok_and(|done| done == pins) {
        return Ok(());
    }
    work()?;
    fs::write(&stamp, pins).map_err(|error| format!("{}: {error}", stamp.display()))
}
