//! Runs commands from the workspace's root and says which.

use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::Stdio;
use std::sync::OnceLock;
use std::time::Duration;
use std::time::Instant;

use crate::guard::Guard;

/// How often a bounded command is asked whether it has ended.
const POLL: Duration = Duration::from_millis(25);

/// Where commands run, and what keeps those that are tested from other machines.
#[derive(Debug)]
pub(crate) struct Shell {
    root: PathBuf,
    guard: OnceLock<Result<Option<Guard>, String>>,
}

impl Shell {
    /// The folder that holds the workspace's `Cargo.toml`, found from this crate's own place.
    pub(crate) fn at_workspace_root() -> Self {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        Self {
            root: here.parent().unwrap_or(here).to_path_buf(),
            guard: OnceLock::new(),
        }
    }

    /// The guard of this run, which the first to ask for it starts.
    pub(crate) fn guard(&self) -> Result<Option<&Guard>, String> {
        let guard = self.guard.get_or_init(|| Guard::start(self));
        guard.as_ref().map(Option::as_ref).map_err(Clone::clone)
    }

    /// The guard, if anything ran under it.
    pub(crate) fn used_guard(&self) -> Option<&Guard> {
        self.guard.get()?.as_ref().ok()?.as_ref()
    }

    /// Puts a command under guard.
    pub(crate) fn keep(&self, command: &mut Command) -> Result<(), String> {
        if let Some(guard) = self.guard()? {
            command.envs(guard.env());
        }
        Ok(())
    }

    /// Runs a line of cargo under guard, once what it needs is built.
    pub(crate) fn run_kept(&self, line: &str, env: &[(&str, &str)]) -> Result<(), String> {
        let mut command = self.command(line);
        command.envs(env.iter().copied());
        self.keep(&mut command)?;
        println!("$ {line}");
        run(&mut command, line)
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// A command in the workspace's root, without standard input.
    pub(crate) fn command(&self, line: &str) -> Command {
        let mut words = line.split_whitespace();
        let program = match words.next() {
            Some("cargo") => std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()),
            other => other.unwrap_or_default().to_owned(),
        };
        let mut command = Command::new(program);
        command
            .args(words)
            .current_dir(&self.root)
            .stdin(Stdio::null());
        command
    }

    /// Runs one line whose words hold no spaces.
    pub(crate) fn run(&self, line: &str) -> Result<(), String> {
        self.run_with(line, &[])
    }

    /// Runs one line with variables added to its environment.
    pub(crate) fn run_with(&self, line: &str, env: &[(&str, &str)]) -> Result<(), String> {
        let shown: Vec<String> = env
            .iter()
            .map(|(name, value)| {
                if value.contains(' ') {
                    format!("{name}='{value}' ")
                } else {
                    format!("{name}={value} ")
                }
            })
            .collect();
        println!("$ {}{line}", shown.concat());
        let mut command = self.command(line);
        command.envs(env.iter().copied());
        run(&mut command, line)
    }

    /// Standard output of a line that must succeed.
    pub(crate) fn read(&self, line: &str) -> Result<String, String> {
        let output = self
            .command(line)
            .stderr(Stdio::piped())
            .output()
            .map_err(|error| format!("`{line}` could not start: {error}"))?;
        if output.status.success() {
            String::from_utf8(output.stdout).map_err(|_| format!("`{line}` did not print UTF-8"))
        } else {
            let stderr = String::from_utf8_lossy(&output.stderr);
            Err(format!(
                "`{line}` failed ({}): {}",
                output.status,
                stderr.trim()
            ))
        }
    }

    /// Whether the tool answers at all.
    pub(crate) fn has(&self, line: &str) -> bool {
        self.read(line).is_ok()
    }
}

/// A command as a line to read.
pub(crate) fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name();
    let words = program.into_iter().chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}

/// Runs a command to its end; `name` stands for it in the error.
pub(crate) fn run(command: &mut Command, name: &str) -> Result<(), String> {
    let status = command
        .status()
        .map_err(|error| format!("`{name}` could not start: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("`{name}` failed ({status})"))
    }
}

/// Runs a command for at most `limit` and ends it after that.
pub(crate) fn run_bounded(
    command: &mut Command,
    name: &str,
    limit: Duration,
) -> Result<(), String> {
    let mut child = command
        .spawn()
        .map_err(|error| format!("`{name}` could not start: {error}"))?;
    let clock = Stopwatch::start();
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("`{name}` failed ({status})")),
            Ok(None) if clock.elapsed() < limit => std::thread::sleep(POLL),
            Ok(None) => {
                let killed = child.kill().and_then(|()| child.wait());
                let ended = if killed.is_ok() {
                    "ended"
                } else {
                    "could not be ended"
                };
                return Err(format!(
                    "`{name}` ran longer than {limit:?} and was {ended}"
                ));
            }
            Err(error) => return Err(format!("`{name}` could not be waited for: {error}")),
        }
    }
}

/// The one reader of a clock in this tool.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(
        clippy::disallowed_methods,
        reason = "a tool that times suites reads the clock"
    )]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_does_not_end_is_ended() {
        let shell = Shell::at_workspace_root();
        let error = run_bounded(&mut shell.command("sleep 60"), "sleeper", Duration::ZERO);
        assert!(
            error.is_err_and(|text| text.contains("longer than") && text.contains("was ended"))
        );
    }

    #[test]
    fn a_failing_command_is_named() {
        let shell = Shell::at_workspace_root();
        assert!(
            shell
                .run("false")
                .is_err_and(|text| text.starts_with("`false` failed"))
        );
        assert!(
            shell
                .run("no-such-tool-here")
                .is_err_and(|text| text.contains("could not start"))
        );
    }
}
