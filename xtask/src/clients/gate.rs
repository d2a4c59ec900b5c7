//! A gate as a child process.

use std::fs;
use std::io::BufRead;
use std::io::BufReader;
use std::path::Path;
use std::path::PathBuf;
use std::process::Child;
use std::process::ChildStdout;
use std::process::Command;
use std::process::Stdio;
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;

use crate::shell;
use crate::shell::Shell;
use crate::shell::Stopwatch;

/// How long a gate may take until it says that it listens.
const START_LIMIT: Duration = Duration::from_secs(30);

/// How long a gate may take to end when it is asked to.
const STOP_LIMIT: Duration = Duration::from_secs(10);

const POLL: Duration = Duration::from_millis(25);

/// A running gate; it is killed when this value goes away.
#[derive(Debug)]
pub(super) struct Gate {
    child: Child,
    log: PathBuf,
    env: Variables,
}

/// What a script finds in its environment.
type Variables = Vec<(&'static str, String)>;

impl Gate {
    /// Starts a seeded gate over an empty store and waits until it listens.
    pub(super) fn demo(shell: &Shell, binary: &Path, folder: &Path) -> Result<Self, String> {
        empty(folder)?;
        let mut command = Command::new(binary);
        command.args(["demo", "--listen", "127.0.0.1:0", "--json", "--data"]);
        command.arg(folder.join("data"));
        Self::start(shell, command, folder, demo_env)
    }

    /// Starts the gate before the tools of the conformance runner, and waits until it listens.
    pub(super) fn reference(shell: &Shell, binary: &Path, folder: &Path) -> Result<Self, String> {
        empty(folder)?;
        Self::start(shell, Command::new(binary), folder, reference_env)
    }

    fn start(
        shell: &Shell,
        mut command: Command,
        folder: &Path,
        env: impl FnOnce(&Value) -> Option<Variables>,
    ) -> Result<Self, String> {
        let log = folder.join("log");
        let file = fs::File::create(&log).map_err(|error| format!("{}: {error}", log.display()))?;
        println!("$ {}", shell::shown(&command));
        shell.keep(&mut command)?;
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(file)
            .spawn()
            .map_err(|error| format!("the gate could not start: {error}"))?;
        let announced = child.stdout.take().map(listen);
        let mut gate = Self {
            child,
            log,
            env: Vec::new(),
        };
        let answer = announced
            .ok_or_else(|| "its standard output is not to be had".to_owned())
            .and_then(|receiver| {
                receiver
                    .recv_timeout(START_LIMIT)
                    .map_err(|error| match error {
                        mpsc::RecvTimeoutError::Timeout => format!("not ready in {START_LIMIT:?}"),
                        mpsc::RecvTimeoutError::Disconnected => {
                            "it ended without a JSON line".to_owned()
                        }
                    })
            })
            .and_then(|value| env(&value).ok_or_else(|| "its JSON line lacks a field".to_owned()));
        match answer {
            Ok(env) => {
                gate.env = env;
                Ok(gate)
            }
            Err(error) => {
                gate.print_log();
                Err(format!("the gate did not start: {error}"))
            }
        }
    }

    /// What a script needs to know.
    pub(super) fn env(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.env.iter().map(|(name, value)| (*name, value.as_str()))
    }

    pub(super) fn print_log(&self) {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        println!("the gate's log:\n{}", text.trim_end());
    }

    /// Asks the gate to end; a gate that does not is a failure.
    pub(super) fn stop(mut self) -> Result<(), String> {
        if cfg!(unix) {
            let pid = self.child.id().to_string();
            let asked = Command::new("kill").args(["-TERM", &pid]).status();
            if asked.is_ok_and(|status| status.success()) {
                return self.wait();
            }
        }
        Ok(())
    }

    fn wait(&mut self) -> Result<(), String> {
        let clock = Stopwatch::start();
        while clock.elapsed() < STOP_LIMIT {
            match self.child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) => return Err(format!("the gate ended with {status} on SIGTERM")),
                Ok(None) => std::thread::sleep(POLL),
                Err(error) => return Err(format!("the gate could not be waited for: {error}")),
            }
        }
        Err(format!(
            "the gate did not end within {STOP_LIMIT:?} of SIGTERM"
        ))
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let ended = self.child.kill().and_then(|()| self.child.wait());
            if let Err(error) = ended {
                println!("the gate could not be ended: {error}");
            }
        }
    }
}

/// Hands on the lines that are JSON objects, and reads to the end so that the pipe never fills.
fn listen(stdout: ChildStdout) -> mpsc::Receiver<Value> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let lines = BufReader::new(stdout).lines().map_while(Result::ok);
        for value in lines.filter_map(|line| serde_json::from_str::<Value>(&line).ok()) {
            if value.is_object() {
                sender.send(value).ok();
            }
        }
    });
    receiver
}

/// A folder with nothing in it.
fn empty(folder: &Path) -> Result<(), String> {
    let wrong = |error| format!("{}: {error}", folder.display());
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(wrong)?;
    }
    fs::create_dir_all(folder).map_err(wrong)
}

/// The variables that the scripts read, from the line that the demo printed.
fn demo_env(line: &Value) -> Option<Variables> {
    Some(vec![
        ("TOOLGATE_URL", url(line)?),
        ("TOOLGATE_TOKEN", line.get("token")?.as_str()?.to_owned()),
        ("TOOLGATE_AGENT_KEY", key(line, "support-bot")?),
        ("TOOLGATE_OPS_KEY", key(line, "ops-bot")?),
    ])
}

/// The same for the gate before the tools of the conformance runner.
fn reference_env(line: &Value) -> Option<Variables> {
    Some(vec![
        ("TOOLGATE_URL", url(line)?),
        ("TOOLGATE_AGENT_KEY", key(line, "judge")?),
    ])
}

fn url(line: &Value) -> Option<String> {
    let url = line.get("url")?.as_str()?;
    Some(url.trim_end_matches('/').to_owned())
}

fn key(line: &Value, name: &str) -> Option<String> {
    let mut agents = line.get("agents")?.as_array()?.iter();
    let agent = agents.find(|agent| agent.get("name").is_some_and(|n| n == name))?;
    Some(agent.get("key")?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_announcement_becomes_variables() {
        let line = json!({"url": "http://127.0.0.1:1/", "token": "t", "agents": [
            {"name": "ops-bot", "id": "b", "key": "tg_b"},
            {"name": "support-bot", "id": "a", "key": "tg_a"},
        ]});
        let env = demo_env(&line).unwrap();
        assert_eq!(env[0], ("TOOLGATE_URL", "http://127.0.0.1:1".to_owned()));
        assert_eq!(env[2], ("TOOLGATE_AGENT_KEY", "tg_a".to_owned()));
        assert_eq!(env[3], ("TOOLGATE_OPS_KEY", "tg_b".to_owned()));
    }

    #[test]
    fn an_announcement_without_a_key_is_refused() {
        let line = json!({"url": "u", "token": "t", "agents": [{"name": "ops-bot", "key": "k"}]});
        assert_eq!(demo_env(&line), None);
    }
}
