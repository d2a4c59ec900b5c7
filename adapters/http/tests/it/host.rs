//! An app over the store in memory, before a read and a write.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::Request;
use http::StatusCode;
use serde_json::Value;
use serde_json::json;
use toolgate_core::catalog::Provenance;
use toolgate_core::catalog::Source;
use toolgate_core::catalog::Trust;
use toolgate_core::classify;
use toolgate_core::classify::Mode;
use toolgate_core::id::OperatorName;
use toolgate_core::key::OperatorToken;
use toolgate_core::time::Timestamp;
use toolgate_http::App;
use toolgate_http::Health;
use toolgate_http::Seed;
use toolgate_http::handle;
use toolgate_mcp::gateway::Deadlines;
use toolgate_mcp::gateway::Gate;
use toolgate_mcp::gateway::INSTRUCTIONS;
use toolgate_mcp::gateway::OperateError;
use toolgate_mcp::gateway::Parts;
use toolgate_mcp::ports::Entropy;
use toolgate_mcp::ports::EntropyError;
use toolgate_mcp::ports::Spawn;
use toolgate_mcp::ports::Task;
use toolgate_mcp::ports::Timer;
use toolgate_mcp::ports::Unwatched;
use toolgate_mcp::store::Operator;
use toolgate_mcp::store::Role;
use toolgate_mcp::store::contract::Clocked;
use toolgate_mcp::store::contract::Faulty;
use toolgate_mcp::store::memory::MemoryStore;
use toolgate_mcp::upstream::Listing;
use toolgate_mcp::upstream::ToolCall;
use toolgate_mcp::upstream::Upstream;
use toolgate_mcp::upstream::UpstreamError;
use toolgate_mcp::wire::Face;
use toolgate_mcp::wire::HostRules;

pub(crate) const OWNER: &str = "an-owner-token-of-some-length";

#[derive(Debug)]
struct Hands(AtomicU64);

impl Spawn for Hands {
    fn spawn(&self, task: Task) {
        tokio::spawn(task);
    }
}

impl Timer for Hands {
    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }

    fn sleep(&self, time: Duration) -> Task {
        Box::pin(tokio::time::sleep(time))
    }
}

impl Entropy for Hands {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), EntropyError> {
        let n = self.0.fetch_add(1, Ordering::Relaxed).to_le_bytes();
        bytes
            .iter_mut()
            .zip(n.iter().cycle())
            .for_each(|(to, from)| *to = *from);
        Ok(())
    }
}

#[derive(Debug)]
pub(crate) struct Ready(pub(crate) AtomicBool);

impl Health for Ready {
    fn is_ready(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

#[derive(Debug)]
struct Demo;

#[async_trait]
impl Seed for Demo {
    async fn seed(&self, gate: &Gate, by: &OperatorName) -> Result<Value, OperateError> {
        let name = "seeded".parse()?;
        let made = gate.create_principal(&name, None, None, None, by).await?;
        let key = gate.create_key(&made.id, None, by).await?;
        Ok(json!({"principals": [{"id": made.id, "name": name, "key": key.key.reveal()}]}))
    }
}

/// A read, `look`, and a write, `note`; both echo their text.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    pub(crate) fails: AtomicBool,
    pub(crate) made: AtomicU64,
    hold: std::sync::Mutex<Option<Arc<tokio::sync::Semaphore>>>,
}

impl Desk {
    pub(crate) fn made(&self) -> u64 {
        self.made.load(Ordering::SeqCst)
    }

    /// Holds calls until permits are added.
    pub(crate) fn hold(&self) -> Arc<tokio::sync::Semaphore> {
        let gate = Arc::new(tokio::sync::Semaphore::new(0));
        *self.hold.lock().unwrap() = Some(Arc::clone(&gate));
        gate
    }
}

#[async_trait]
impl Upstream for Desk {
    fn source(&self) -> Source {
        Source {
            id: "desk".parse().unwrap(),
            provenance: Provenance::Builtin,
            trust: Trust::Vetted,
        }
    }

    async fn tools(&self) -> Result<Listing, UpstreamError> {
        let tool = |name: &str, mode| {
            json!({
                "name": name,
                "inputSchema": {
                    "type": "object",
                    "properties": {"text": {"type": "string"}},
                    "required": ["text"],
                },
                "annotations": classify::declare(mode, false, false, false),
            })
            .to_string()
        };
        let definitions = vec![tool("look", Mode::Observation), tool("note", Mode::Action)];
        Ok(Listing {
            definitions,
            truncated: false,
        })
    }

    async fn call(&self, call: ToolCall) -> Result<Value, UpstreamError> {
        self.made.fetch_add(1, Ordering::SeqCst);
        let hold = self.hold.lock().unwrap().clone();
        if let Some(hold) = hold {
            hold.acquire().await.unwrap().forget();
        }
        if self.fails.load(Ordering::SeqCst) {
            return Err(UpstreamError::not_made("told to fail"));
        }
        let text = call.arguments.get("text").cloned().unwrap_or_default();
        Ok(json!({"content": [{"type": "text", "text": text}]}))
    }
}

pub(crate) struct Host {
    pub(crate) app: App,
    pub(crate) clock: Clocked,
    pub(crate) store: Arc<Faulty<Box<MemoryStore>>>,
    pub(crate) desk: Arc<Desk>,
    pub(crate) ready: Arc<Ready>,
    pub(crate) viewer: String,
}

/// An agent, with its key.
pub(crate) struct Agent {
    pub(crate) id: String,
    pub(crate) key_id: String,
    pub(crate) key: String,
}

/// What came back.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: http::HeaderMap,
    pub(crate) body: Value,
    pub(crate) raw: Bytes,
}

impl Host {
    pub(crate) async fn new() -> Self {
        let clock = Clocked::default();
        let store = Arc::new(Faulty::new(Box::new(MemoryStore::new(clock.clone()))));
        let hands = Arc::new(Hands(AtomicU64::new(1)));
        let desk = Arc::new(Desk::default());
        let gate = Gate::new(Parts {
            ledger: store.clone(),
            directory: store.clone(),
            upstreams: vec![desk.clone()],
            spawn: hands.clone(),
            timer: hands.clone(),
            entropy: hands,
            watch: Arc::new(Unwatched),
            deadlines: Deadlines::default(),
            unstored_owners: 1,
        });
        assert_eq!(gate.refresh().await.offered, 2);
        let ready = Arc::new(Ready(AtomicBool::new(true)));
        let app = App {
            gate,
            face: Face::new("toolgate", "0.0.0").instructions(INSTRUCTIONS),
            hosts: HostRules::loopback(),
            owners: vec![Operator {
                name: "ann".parse().unwrap(),
                role: Role::Owner,
                token: OperatorToken::presented(OWNER).unwrap().hash(),
                created_at: Timestamp::default(),
            }],
            seed: None,
            health: ready.clone(),
            insecure: false,
        };
        let mut host = Self {
            app,
            clock,
            store,
            desk,
            ready,
            viewer: String::new(),
        };
        let made = host
            .post("/api/operators", &json!({"name": "vic", "role": "viewer"}))
            .await;
        host.viewer = made.body["token"].as_str().unwrap().to_owned();
        host
    }

    pub(crate) fn demo(mut self) -> Self {
        self.app.seed = Some(Arc::new(Demo));
        self
    }

    pub(crate) async fn send(&self, request: http::request::Builder, body: &[u8]) -> Answer {
        let mut request = request.body(Bytes::copy_from_slice(body)).unwrap();
        let headers = request.headers_mut();
        if !headers.contains_key("host") {
            headers.insert("host", "127.0.0.1:8787".parse().unwrap());
        }
        let response = handle(&self.app, request).await;
        let (parts, raw) = response.into_parts();
        let body = serde_json::from_slice(&raw).unwrap_or_default();
        Answer {
            status: parts.status.as_u16(),
            headers: parts.headers,
            body,
            raw,
        }
    }

    pub(crate) async fn api(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        self.api_as(OWNER, method, path, body).await
    }

    pub(crate) async fn api_as(
        &self,
        token: &str,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Answer {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", format!("Bearer {token}"));
        let mut bytes = Vec::new();
        if let Some(body) = body {
            request = request.header("content-type", "application/json");
            bytes = body.to_string().into_bytes();
        }
        self.send(request, &bytes).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.api("GET", path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.api("POST", path, Some(body)).await
    }

    pub(crate) async fn put(&self, path: &str, body: &Value) -> Answer {
        self.api("PUT", path, Some(body)).await
    }

    /// An agent under this policy.
    pub(crate) async fn agent(&self, name: &str, policy: &Value) -> Agent {
        let made = self
            .post("/api/principals", &json!({"name": name, "policy": policy}))
            .await;
        assert_eq!(made.status, 201, "{:?}", made.body);
        let id = made.body["id"].as_str().unwrap().to_owned();
        let key = self
            .post(&format!("/api/principals/{id}/keys"), &json!({}))
            .await;
        assert_eq!(key.status, 201);
        Agent {
            id,
            key_id: key.body["id"].as_str().unwrap().to_owned(),
            key: key.body["key"].as_str().unwrap().to_owned(),
        }
    }

    /// A JSON-RPC message of the 2025 revisions.
    pub(crate) async fn rpc(&self, key: &str, method: &str, params: &Value) -> Answer {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let request = Request::builder()
            .method("POST")
            .uri("/mcp")
            .header("authorization", format!("Bearer {key}"))
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        self.send(request, message.to_string().as_bytes()).await
    }

    pub(crate) async fn call(&self, agent: &Agent, tool: &str, text: &str) -> Answer {
        let params = json!({"name": tool, "arguments": {"text": text}});
        self.rpc(&agent.key, "tools/call", &params).await
    }

    /// A call's result.
    pub(crate) async fn result(&self, agent: &Agent, tool: &str, text: &str) -> Value {
        let answer = self.call(agent, tool, text).await;
        assert_eq!(answer.status, StatusCode::OK.as_u16(), "{:?}", answer.body);
        answer.body["result"].clone()
    }

    /// The gate's own word about a call.
    pub(crate) async fn outcome(&self, agent: &Agent, tool: &str, text: &str) -> Value {
        self.result(agent, tool, text).await["_meta"]["toolgate/outcome"].clone()
    }

    /// Asks for the write; the id of the request.
    pub(crate) async fn pending(&self, agent: &Agent, text: &str) -> String {
        let outcome = self.outcome(agent, "note", text).await;
        assert_eq!(outcome["status"], "pending_approval");
        outcome["id"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn decide(&self, id: &str, approved: bool) -> Answer {
        self.post(
            &format!("/api/approvals/{id}"),
            &json!({ "approved": approved }),
        )
        .await
    }

    /// The kinds of an agent's entries, newest first.
    pub(crate) async fn kinds(&self, agent: &Agent) -> Vec<String> {
        let page = self
            .get(&format!("/api/audit?principal={}&limit=500", agent.id))
            .await;
        page.body["entries"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| entry["kind"].as_str().unwrap().to_owned())
            .collect()
    }
}

/// Both tools, as they come.
pub(crate) fn both() -> Value {
    json!({"tools": {"look": {}, "note": {}}})
}
