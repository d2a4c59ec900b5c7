//! The example runs as its first lines say.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::io::BufRead as _;
use std::io::BufReader;
use std::io::Read as _;
use std::io::Write as _;
use std::net::TcpListener;
use std::net::TcpStream;
use std::process::Child;
use std::process::Command;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use serde_json::json;

const TOKEN: &str = "a-token-of-24-characters-or-more";

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

fn call(id: u64, tool: &str, arguments: &Value) -> String {
    let params = json!({"name": tool, "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
}

#[test]
fn over_standard_input_and_output() {
    let child = Command::new(env!("CARGO_BIN_EXE_embedded"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut child = Running(child.unwrap());
    let mut input = child.0.stdin.take().unwrap();
    let mut output = BufReader::new(child.0.stdout.take().unwrap());
    let mut ask = |line: &str| -> Value {
        writeln!(input, "{line}").unwrap();
        let mut answer = String::new();
        output.read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap()
    };
    let read = ask(&call(1, "read", &json!({"title": "a"})));
    assert!(read.to_string().contains("there is no such note"));
    let write = ask(&call(2, "write", &json!({"title": "a", "text": "b"})));
    let waits = write.pointer("/result/structuredContent/status");
    assert_eq!(waits, Some(&json!("pending_approval")));
    drop(input);
    assert!(child.0.wait().unwrap().success());
}

#[test]
fn over_http_with_an_owner_who_approves() {
    let folder = tempfile::tempdir().unwrap();
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap().to_string();
    drop(free);
    let child = Command::new(env!("CARGO_BIN_EXE_embedded"))
        .arg(&address)
        .env("NOTES_TOKEN", TOKEN)
        .current_dir(folder.path())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = Running(child.unwrap());
    let mut said = String::new();
    let mut errors = BufReader::new(child.0.stderr.take().unwrap());
    errors.read_line(&mut said).unwrap();
    let key = said.trim().strip_prefix("key: ").unwrap();
    let post = |path: &str, token: &str, body: &str| post(&address, path, token, body);
    let write = post(
        "/mcp",
        key,
        &call(1, "write", &json!({"title": "a", "text": "b"})),
    );
    let id = write.pointer("/result/structuredContent/id");
    let path = format!("/api/approvals/{}", id.and_then(Value::as_str).unwrap());
    let decided = post(&path, TOKEN, r#"{"approved":true}"#);
    assert_eq!(decided.get("status"), Some(&json!("applied")));
    let read = post("/mcp", key, &call(2, "read", &json!({"title": "a"})));
    assert!(read.to_string().contains("\\nb\\n"), "{read}");
}

fn post(address: &str, path: &str, token: &str, body: &str) -> Value {
    let mut stream = (0..1_000)
        .find_map(|_| {
            let found = TcpStream::connect(address).ok();
            if found.is_none() {
                std::thread::sleep(Duration::from_millis(20));
            }
            found
        })
        .unwrap();
    let length = body.len();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap()
}
