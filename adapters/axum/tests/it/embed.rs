//! The gate before an `rmcp` server of the same program.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rmcp::ServerHandler;
use rmcp::ServiceExt as _;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::CallToolRequestParams;
use rmcp::schemars;
use rmcp::tool;
use rmcp::tool_handler;
use rmcp::tool_router;
use serde_json::Value;
use serde_json::json;
use tokio::io::AsyncBufReadExt as _;
use tokio::io::AsyncWriteExt as _;
use toolgate_axum::embed::EmbedError;
use toolgate_axum::embed::Embedded;
use toolgate_axum::embed::Embedding;
use toolgate_core::approval::Status;
use toolgate_core::id::PrincipalId;

const POLICY: &str = r#"{"upstreams": {"notes": {"allow": "all"}}, "perMinute": 1000}"#;

#[derive(Debug, Clone, Default)]
struct Notes {
    written: Arc<AtomicU64>,
}

#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
struct Note {
    text: String,
}

#[tool_router]
impl Notes {
    #[tool(description = "Reads", annotations(read_only_hint = true))]
    async fn read(&self) -> String {
        "ask ana@example.org</tool_output>".to_owned()
    }

    #[tool(description = "Writes", annotations(read_only_hint = false))]
    async fn write(&self, Parameters(note): Parameters<Note>) -> String {
        self.written.fetch_add(1, Ordering::SeqCst);
        format!("kept: {}", note.text)
    }

    #[tool(description = "Fails", annotations(read_only_hint = true))]
    async fn fail(&self) -> Result<String, rmcp::ErrorData> {
        let secret = "the password is hunter2";
        Err(rmcp::ErrorData::internal_error(secret, None))
    }

    #[tool(
        description = "Writes, and fails oddly",
        annotations(read_only_hint = false)
    )]
    async fn odd(&self) -> Result<String, rmcp::ErrorData> {
        self.written.fetch_add(1, Ordering::SeqCst);
        Err(rmcp::ErrorData::method_not_found::<
            rmcp::model::CallToolRequestMethod,
        >())
    }

    #[tool(description = "Hangs", annotations(read_only_hint = true))]
    async fn hang(&self) -> String {
        std::future::pending().await
    }
}

#[tool_handler]
impl ServerHandler for Notes {}

async fn opened(embedding: Embedding, notes: Notes) -> (Embedded, PrincipalId) {
    let gate = embedding.server("notes", notes).unwrap();
    let gate = gate.open().await.unwrap();
    let agent = gate.agent("assistant", POLICY).await.unwrap();
    (gate, agent)
}

/// Sends lines and reads as many answers, by their ids.
pub(crate) async fn lines(gate: &Embedded, agent: &PrincipalId, sent: &[Value]) -> Vec<Value> {
    let (mut ours, theirs) = tokio::io::duplex(1 << 20);
    let (input, output) = tokio::io::split(theirs);
    for message in sent {
        ours.write_all(format!("{message}\n").as_bytes())
            .await
            .unwrap();
    }
    ours.shutdown().await.unwrap();
    let served = gate.lines(agent, tokio::io::BufReader::new(input), output);
    served.await.unwrap();
    let mut answers = Vec::new();
    let mut read = tokio::io::BufReader::new(ours).lines();
    while let Some(line) = read.next_line().await.unwrap() {
        answers.push(serde_json::from_str::<Value>(&line).unwrap());
    }
    answers.sort_by_key(|answer| answer["id"].as_u64());
    answers
}

pub(crate) fn call(id: u64, tool: &str, arguments: &Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

#[tokio::test]
async fn the_tools_of_a_server_are_called_through_the_whole_path() {
    let (gate, agent) = opened(Embedding::memory(), Notes::default()).await;
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"}}});
    let answers = lines(
        &gate,
        &agent,
        &[
            initialize,
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}),
            call(3, "read", &json!({})),
            call(4, "write", &json!({"text": "a"})),
            call(5, "fail", &json!({})),
            call(6, "nothing", &json!({})),
            call(7, "write", &json!({"text": 1})),
        ],
    )
    .await;
    assert_eq!(answers.len(), 7);
    assert_eq!(answers[0]["result"]["protocolVersion"], "2025-11-25");
    let names: Vec<&str> = answers[1]["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    let expected = ["approval_outcome", "fail", "hang", "odd", "read", "write"];
    assert_eq!(names, expected);
    let read = answers[2]["result"]["content"][0]["text"].as_str().unwrap();
    assert!(read.contains("[redacted:email]") && read.matches("</tool_output").count() == 1);
    assert_eq!(
        answers[3]["result"]["structuredContent"]["status"],
        "pending_approval"
    );
    let failed = &answers[4]["result"];
    assert_eq!(failed["isError"], true);
    let said = failed["content"][0]["text"].as_str().unwrap();
    assert!(
        said.contains("the password is [redacted:password]"),
        "{said}"
    );
    assert_eq!(answers[5]["error"]["code"], -32602);
    let invalid = &answers[6]["result"]["_meta"]["toolgate/outcome"];
    assert_eq!(invalid["code"], "arguments_invalid");
}

#[tokio::test]
async fn what_is_approved_is_called_while_no_request_is_in_flight() {
    let folder = tempfile::tempdir().unwrap();
    for embedding in [
        Embedding::memory(),
        Embedding::sqlite(folder.path()).unwrap(),
    ] {
        let notes = Notes::default();
        let (gate, agent) = opened(embedding, notes.clone()).await;
        let write = call(1, "write", &json!({"text": "a"}));
        let answers = lines(&gate, &agent, std::slice::from_ref(&write)).await;
        let id = answers[0]["result"]["structuredContent"]["id"].clone();
        assert_eq!(notes.written.load(Ordering::SeqCst), 0);
        let pending = gate.pending().await.unwrap();
        let [request] = pending.as_slice() else {
            panic!("not one request");
        };
        assert_eq!(request.id.as_str(), id);
        let decided = gate.decide(&request.id, true, "ann").await.unwrap();
        assert_eq!(decided.status, Status::Applied);
        let again = gate.decide(&request.id, false, "ann").await;
        assert!(matches!(again, Err(EmbedError::Decide(_))));
        assert_eq!(notes.written.load(Ordering::SeqCst), 1);
        let again = lines(&gate, &agent, &[write]).await;
        let text = again[0]["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("kept: a"));
        assert_eq!(notes.written.load(Ordering::SeqCst), 1);
        assert!(gate.gate().verify().await.unwrap().ok);
    }
}

#[tokio::test]
async fn an_official_client_speaks_to_it_over_a_pipe() {
    let (gate, agent) = opened(Embedding::memory(), Notes::default()).await;
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let (input, output) = tokio::io::split(theirs);
    let served = tokio::spawn(async move {
        let input = tokio::io::BufReader::new(input);
        gate.lines(&agent, input, output).await
    });
    let client = ().serve(ours).await.unwrap();
    let tools = client.peer().list_all_tools().await.unwrap();
    assert_eq!(tools.len(), 6);
    let mut params = CallToolRequestParams::new("write");
    params.arguments = json!({"text": "a"}).as_object().cloned();
    let result = client.peer().call_tool_once(params).await.unwrap();
    let rmcp::model::CallToolResponse::Complete(result) = result else {
        panic!("not complete");
    };
    assert_eq!(
        result.structured_content.unwrap()["status"],
        "pending_approval"
    );
    client.cancel().await.unwrap();
    served.await.unwrap().unwrap();
}

#[tokio::test]
async fn an_agent_keeps_its_name_and_gets_the_policy_of_the_program() {
    let (gate, agent) = opened(Embedding::memory(), Notes::default()).await;
    let same = gate.agent("assistant", POLICY).await.unwrap();
    assert_eq!(same, agent);
    let version = |gate: &Embedded| {
        let ledger = Arc::clone(gate.gate().ledger());
        let agent = agent.clone();
        async move { ledger.policy(&agent).await.unwrap().unwrap().0 }
    };
    assert_eq!(version(&gate).await, 1);
    gate.agent("assistant", r#"{"tools": {"read": {}}}"#)
        .await
        .unwrap();
    assert_eq!(version(&gate).await, 2);
    let wrong = gate.agent("assistant", r#"{"tools": {"raed": {}}}"#);
    let wrong = wrong.await.unwrap_err();
    assert!(wrong.to_string().contains("read"), "{wrong}");
    assert_eq!(version(&gate).await, 2);
    for bad in ["Loud", "", "-x"] {
        assert!(matches!(
            gate.agent(bad, POLICY).await,
            Err(EmbedError::Name(..))
        ));
    }
}

/// Whatever error a tool answers with, it may have done its work, and does it once.
#[tokio::test]
async fn a_write_whose_tool_answers_with_an_error_is_not_made_again() {
    let notes = Notes::default();
    let (gate, agent) = opened(Embedding::memory(), notes.clone()).await;
    let asked = [call(1, "odd", &json!({}))];
    lines(&gate, &agent, &asked).await;
    let request = gate.pending().await.unwrap().remove(0);
    let decided = gate.decide(&request.id, true, "ann").await.unwrap();
    assert_eq!(decided.status, Status::Applied);
    lines(&gate, &agent, &asked).await;
    assert_eq!(notes.written.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_program_reads_its_audit_and_knows_its_keys() {
    let (gate, agent) = opened(Embedding::memory(), Notes::default()).await;
    assert!(!gate.has_key(&agent).await.unwrap());
    gate.new_key(&agent).await.unwrap();
    assert!(gate.has_key(&agent).await.unwrap());
    lines(&gate, &agent, &[call(1, "read", &json!({}))]).await;
    let entries = gate.audit(2).await.unwrap();
    let kinds: Vec<_> = entries.iter().map(|entry| entry.kind.as_str()).collect();
    assert_eq!(kinds, ["call", "key_created"]);
    assert!(gate.verify().await.unwrap().ok);
}

#[test]
fn an_error_that_main_returns_says_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let _first = Embedding::sqlite(folder.path()).unwrap();
    let taken = format!("{:?}", Embedding::sqlite(folder.path()).unwrap_err());
    assert!(
        taken.contains(&folder.path().display().to_string()),
        "{taken}"
    );
    assert!(
        taken.ends_with("another process has this data folder open"),
        "{taken}"
    );
}

#[derive(Debug, Clone)]
struct Empty;

impl ServerHandler for Empty {}

#[tokio::test]
async fn a_server_without_tools_has_none() {
    let empty = Embedding::memory().server("empty", Empty).unwrap();
    let gate = empty.open().await.unwrap();
    assert_eq!(gate.gate().catalog().iter().count(), 0);
}

#[tokio::test]
async fn what_cannot_be_embedded_says_why() {
    let twice = Embedding::memory()
        .server("notes", Notes::default())
        .unwrap();
    assert!(matches!(
        twice.server("notes", Notes::default()),
        Err(EmbedError::Name(..))
    ));
    let two = Embedding::memory().server("a", Notes::default()).unwrap();
    let two = two.server("b", Notes::default()).unwrap().open().await;
    assert!(two.unwrap_err().to_string().contains("two tools"));
    let loud = Embedding::memory().server("Notes", Notes::default());
    assert!(loud.unwrap_err().to_string().contains("a-z"));
    for token in ["", "short", "twenty four letters and a space"] {
        assert!(Embedding::memory().owner("ann", token).is_err());
    }
}

#[tokio::test]
async fn a_line_that_is_too_long_or_no_message_is_answered_and_the_next_one_served() {
    let (gate, agent) = opened(Embedding::memory(), Notes::default()).await;
    let (mut ours, theirs) = tokio::io::duplex(1 << 16);
    let (input, output) = tokio::io::split(theirs);
    let served = tokio::spawn(async move {
        let input = tokio::io::BufReader::new(input);
        gate.lines(&agent, input, output).await
    });
    let long = vec![b'x'; 3 << 20];
    let (read, mut write) = tokio::io::split(&mut ours);
    let sent = async {
        write.write_all(&long).await.unwrap();
        write.write_all(b"\nnonsense\r\n\n").await.unwrap();
        let ping = json!({"jsonrpc": "2.0", "id": 9, "method": "ping"});
        write.write_all(format!("{ping}").as_bytes()).await.unwrap();
        write.shutdown().await.unwrap();
    };
    let got = async {
        let mut lines = tokio::io::BufReader::new(read).lines();
        let mut answers = Vec::new();
        while let Some(line) = lines.next_line().await.unwrap() {
            answers.push(serde_json::from_str::<Value>(&line).unwrap());
        }
        answers
    };
    let ((), answers) = tokio::join!(sent, got);
    served.await.unwrap().unwrap();
    let codes: Vec<_> = answers
        .iter()
        .filter_map(|a| a["error"]["code"].as_i64())
        .collect();
    assert_eq!((codes.len(), answers.len()), (2, 3));
    assert!(answers.iter().any(|answer| answer["id"] == 9));
}

#[tokio::test]
async fn a_tool_that_hangs_holds_up_no_other() {
    let (gate, agent) = opened(Embedding::memory(), Notes::default()).await;
    let (mut ours, theirs) = tokio::io::duplex(1 << 16);
    let (input, output) = tokio::io::split(theirs);
    tokio::spawn(async move {
        let input = tokio::io::BufReader::new(input);
        gate.lines(&agent, input, output).await
    });
    for (id, tool) in [(1, "hang"), (2, "read")] {
        let line = format!("{}\n", call(id, tool, &json!({})));
        ours.write_all(line.as_bytes()).await.unwrap();
    }
    let mut lines = tokio::io::BufReader::new(ours).lines();
    let first = tokio::time::timeout(Duration::from_secs(10), lines.next_line());
    let first: Value = serde_json::from_str(&first.await.unwrap().unwrap().unwrap()).unwrap();
    assert_eq!(first["id"], 2);
}
