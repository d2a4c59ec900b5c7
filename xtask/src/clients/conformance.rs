//! Puts the public conformance runner to a gate before the tools that it looks for.
//!
//! The runner fails for every check that neither passes nor stands in the file of expected failures,
//! and for every one that stands there and passes.

use std::fs;
use std::io::BufRead;
use std::io::BufReader;
use std::path::Path;
use std::process::Child;
use std::process::Stdio;
use std::time::Duration;

use super::Gate;
use super::Home;
use super::Kit;
use super::build;
use super::ended;
use crate::metadata::Workspace;
use crate::shell;
use crate::shell::Shell;

/// The runner's program among its packages.
const RUNNER: &str = "node_modules/@modelcontextprotocol/conformance/dist/index.js";

/// The revisions whose requirements are put to the gate.
const REVISIONS: [&str; 2] = ["2026-07-28", "2025-11-25"];

/// How long the requirements of one revision may take.
const LIMIT: Duration = Duration::from_secs(120);

/// What the runner prints before it sums up.
const SUMMARY: &str = "=== SUMMARY ===";

/// The suite.
// spec: MT-03 MT-04
pub(crate) fn check(shell: &Shell) -> Result<(), String> {
    let workspace = Workspace::read(shell)?;
    let work = workspace.target.join("clients");
    let kit = Kit::at(&work);
    let binary = std::thread::scope(|scope| {
        let node = scope.spawn(|| kit.install(shell, &[Home::Node22]));
        let binary = build(shell, &workspace, "conformance-server");
        ended(node.join()).and(binary)
    })?;
    let folder = workspace.target.join("conformance");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let gate = Gate::reference(shell, &binary, &folder.join("gate"))?;
    let result = Forwarder::start(shell, &kit, &gate)
        .and_then(|forwarder| all_revisions(shell, &kit, &forwarder, &folder));
    if result.is_err() {
        gate.print_log();
    }
    let stopped = gate.stop();
    result.and(stopped)
}

fn all_revisions(
    shell: &Shell,
    kit: &Kit,
    forwarder: &Forwarder,
    folder: &Path,
) -> Result<(), String> {
    let mut failed = Vec::new();
    for revision in REVISIONS {
        println!("\n--- requirements of {revision}");
        if let Err(error) = one_revision(shell, kit, forwarder, &folder.join(revision), revision) {
            println!(
                "{revision}: {error}; the checks lie in {}",
                folder.display()
            );
            failed.push(revision);
        }
    }
    if failed.is_empty() {
        Ok(())
    } else {
        Err(format!("not as expected: {}", failed.join(", ")))
    }
}

fn one_revision(
    shell: &Shell,
    kit: &Kit,
    forwarder: &Forwarder,
    folder: &Path,
    revision: &str,
) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let expected = shell
        .root()
        .join("tests/conformance")
        .join(format!("expected-{revision}.yaml"));
    let log = folder.join("output");
    let file = fs::File::create(&log).map_err(|error| format!("{}: {error}", log.display()))?;
    let errors = file.try_clone().map_err(|error| error.to_string())?;
    let mut command = kit.command(shell, Home::Node22, RUNNER)?;
    command.args(["server", "--requirements", revision, "--url"]);
    command.arg(format!("{}/mcp", forwarder.url));
    command.arg("--expected-failures").arg(expected);
    command.arg("--output-dir").arg(folder.join("checks"));
    command.stdin(Stdio::null()).stdout(file).stderr(errors);
    shell.keep(&mut command)?;
    let result = shell::run_bounded(&mut command, "conformance", LIMIT);
    let text = fs::read_to_string(&log).unwrap_or_default();
    println!(
        "{}",
        text.find(SUMMARY)
            .and_then(|at| text.get(at..))
            .unwrap_or(&text)
            .trim_end()
    );
    result
}

/// The program that adds a key to what the runner sends; it ends when its input does.
#[derive(Debug)]
struct Forwarder {
    child: Child,
    url: String,
}

impl Forwarder {
    fn start(shell: &Shell, kit: &Kit, gate: &Gate) -> Result<Self, String> {
        let mut command = kit.command(shell, Home::Node22, "forward.mjs")?;
        command.envs(gate.env());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        shell.keep(&mut command)?;
        let mut child = command
            .spawn()
            .map_err(|error| format!("the forwarder could not start: {error}"))?;
        let mut url = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout).read_line(&mut url).ok();
        }
        let forwarder = Self {
            child,
            url: url.trim().to_owned(),
        };
        if forwarder.url.is_empty() {
            Err("the forwarder ended without saying where it listens".to_owned())
        } else {
            Ok(forwarder)
        }
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        let ended = self.child.kill().and_then(|()| self.child.wait());
        if let Err(error) = ended {
            println!("the forwarder could not be ended: {error}");
        }
    }
}
