//! The built binary as a child process.

use std::fs;
use std::io::BufRead as _;
use std::io::BufReader;
use std::io::Read as _;
use std::net::SocketAddr;
use std::path::Path;
use std::path::PathBuf;
use std::process::Child;
use std::process::Command;
use std::process::ExitStatus;
use std::process::Output;
use std::process::Stdio;

use serde_json::Value;
use serde_json::json;
use tempfile::TempDir;

use crate::http;
use crate::http::Reply;

/// The first owner's token of gates that are no demos.
pub(crate) const ADMIN: &str = "a-token-of-twenty-four-characters";

/// The binary under test.
pub(crate) fn toolgate() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolgate"));
    command.env_clear().stdin(Stdio::null());
    command
}

/// Runs the binary to its end.
pub(crate) fn run(args: &[&str]) -> Output {
    toolgate().args(args).output().unwrap()
}

/// A running demo gate; it is killed when this value goes away.
#[derive(Debug)]
pub(crate) struct Gate {
    child: Child,
    log: PathBuf,
    /// What it printed once it listened.
    pub(crate) announced: Value,
    pub(crate) address: SocketAddr,
}

impl Gate {
    /// Starts a demo over that folder and waits until it listens.
    pub(crate) fn demo(folder: &Path) -> Self {
        Self::start(folder, "trace")
    }

    fn start(folder: &Path, level: &str) -> Self {
        let log = folder.join("log");
        let errors = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&log)
            .unwrap();
        let mut command = toolgate();
        command
            .args(["demo", "--listen", "127.0.0.1:0", "--json", "--data"])
            .arg(folder.join("data"))
            .env("TOOLGATE_LOG", level)
            .stdout(Stdio::piped())
            .stderr(errors);
        Self::announced(command, log)
    }

    /// Starts a gate by a configuration, from the folder of `log`, and waits until it listens.
    pub(crate) fn serve(log: PathBuf, args: &[&str]) -> Self {
        let mut command = toolgate();
        command
            .args(["serve", "--json"])
            .args(args)
            .current_dir(log.parent().unwrap())
            .env("TOOLGATE_ADMIN_TOKEN", ADMIN)
            .stdout(Stdio::piped())
            .stderr(fs::File::create(&log).unwrap());
        Self::announced(command, log)
    }

    /// Starts a gate with all connectors, by a configuration that is written into that folder.
    pub(crate) fn configured(folder: &Path, args: &[&str]) -> Self {
        let text = "listen = \"127.0.0.1:0\"\nconnectors = [\"desk\", \"files\", \"flags\"]\n";
        fs::write(folder.join("toolgate.toml"), text).unwrap();
        let args = [&["-c", "toolgate.toml"], args].concat();
        Self::serve(folder.join("log"), &args)
    }

    /// Starts `command` and waits for the line that it prints once it listens.
    pub(crate) fn announced(mut command: Command, log: PathBuf) -> Self {
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        let announced: Value = serde_json::from_str(&line).unwrap_or_else(|_| {
            let said = fs::read_to_string(&log).unwrap_or_default();
            panic!("the gate did not start: {line}\n{said}")
        });
        let url = announced["url"].as_str().unwrap();
        let address = url.strip_prefix("http://").unwrap().parse().unwrap();
        Self {
            child,
            log,
            announced,
            address,
        }
    }

    pub(crate) fn token(&self) -> &str {
        self.announced["token"].as_str().unwrap()
    }

    pub(crate) fn agent(&self, name: &str) -> &Value {
        let agents = self.announced["agents"].as_array().unwrap();
        agents.iter().find(|agent| agent["name"] == name).unwrap()
    }

    pub(crate) fn key(&self, name: &str) -> &str {
        self.agent(name)["key"].as_str().unwrap()
    }

    /// Asks the admin API.
    pub(crate) fn api(&self, method: &str, path: &str, body: Option<&Value>) -> Reply {
        let bearer = format!("Bearer {}", self.token());
        let mut headers = vec![("Authorization", bearer.as_str())];
        let text = body.map(Value::to_string).unwrap_or_default();
        if body.is_some() {
            headers.push(("Content-Type", "application/json"));
        }
        http::send(self.address, method, path, &headers, text.as_bytes())
    }

    /// Sends an MCP request with that key.
    pub(crate) fn mcp(&self, key: &str, method: &str, params: &Value) -> Value {
        mcp(self.address, key, method, params)
    }

    /// Calls a tool and answers with its result, or with the error.
    pub(crate) fn call(&self, key: &str, tool: &str, arguments: &Value) -> Value {
        call(self.address, key, tool, arguments)
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args([name, &pid]).status().unwrap();
        assert!(sent.success());
    }

    /// Ends it as a crash would.
    pub(crate) fn crash(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks it to end and waits.
    pub(crate) fn end(mut self) -> ExitStatus {
        self.signal("-TERM");
        self.child.wait().unwrap()
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

pub(crate) fn mcp(address: SocketAddr, key: &str, method: &str, params: &Value) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let bearer = format!("Bearer {key}");
    let headers = [
        ("Authorization", bearer.as_str()),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
    ];
    let reply = http::send(
        address,
        "POST",
        "/mcp",
        &headers,
        body.to_string().as_bytes(),
    );
    assert_eq!(reply.status, 200, "{}", reply.body);
    reply.json()
}

pub(crate) fn call(address: SocketAddr, key: &str, tool: &str, arguments: &Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    let answer = mcp(address, key, "tools/call", &params);
    match answer.get("result") {
        Some(result) => result.clone(),
        None => answer["error"].clone(),
    }
}

/// A fresh folder.
pub(crate) fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// Runs a command of the binary against a gate, with its operator's token.
pub(crate) fn operate(gate: &Gate, args: &[&str]) -> Output {
    operate_as(gate, gate.token(), args)
}

/// Runs a command of the binary against a gate, with that token.
pub(crate) fn operate_as(gate: &Gate, token: &str, args: &[&str]) -> Output {
    toolgate()
        .args(args)
        .env("TOOLGATE_URL", format!("http://{}", gate.address))
        .env("TOOLGATE_TOKEN", token)
        .output()
        .unwrap()
}

/// Runs the binary with that standard input.
pub(crate) fn feed(args: &[&str], input: &[u8]) -> Output {
    let mut child = toolgate()
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || std::io::Write::write_all(&mut stdin, &input).ok());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

/// What a command printed, as its one JSON document.
pub(crate) fn document(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    let mut said = String::new();
    output.stderr.as_slice().read_to_string(&mut said).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}{said}"))
}
