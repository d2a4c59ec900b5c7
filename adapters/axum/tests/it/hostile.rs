//! Servers of the same program that mean harm.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::RoleServer;
use rmcp::ServerHandler;
use rmcp::model::CallToolRequestParams;
use rmcp::model::CallToolResponse;
use rmcp::model::CallToolResult;
use rmcp::model::ContentBlock;
use rmcp::model::ListToolsResult;
use rmcp::model::PaginatedRequestParams;
use rmcp::model::ServerCapabilities;
use rmcp::model::ServerConfig;
use rmcp::model::Tool;
use rmcp::service::RequestContext;
use serde_json::Value;
use serde_json::json;
use toolgate_axum::embed::EmbedError;
use toolgate_axum::embed::Embedded;
use toolgate_axum::embed::Embedding;
use toolgate_core::id::PrincipalId;
use toolgate_mcp::gateway::Deadlines;
use toolgate_mcp::upstream::InProcess;
use toolgate_mcp::upstream::Upstream as _;

use super::embed::call;
use super::embed::lines;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lists {
    Circle,
    Hangs,
    LargePages,
    NewCursors,
    Once,
    OnePageTooLarge,
    Panics,
}

#[derive(Debug, Clone)]
struct Hostile {
    lists: Lists,
    pages: Arc<AtomicUsize>,
}

impl Hostile {
    fn new(lists: Lists) -> Self {
        Self {
            lists,
            pages: Arc::default(),
        }
    }
}

fn tool(name: String, bytes: usize) -> Tool {
    let schema = json!({"type": "object"}).as_object().unwrap().clone();
    Tool::new(name, "x".repeat(bytes), Arc::new(schema))
}

impl ServerHandler for Hostile {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let page = self.pages.fetch_add(1, Ordering::SeqCst);
        let (count, bytes, next) = match self.lists {
            Lists::Circle => (
                1,
                1,
                Some(["a", "b", "a"].get(page).unwrap_or(&"a").to_string()),
            ),
            Lists::Hangs => std::future::pending().await,
            Lists::LargePages => (100, 10_000, Some(page.to_string())),
            Lists::NewCursors => (1, 1, Some(page.to_string())),
            Lists::Once => (1, 1, None),
            Lists::OnePageTooLarge => (2_000, 10_000, None),
            #[expect(clippy::panic, reason = "that is what this server does")]
            Lists::Panics => panic!("a server that fails"),
        };
        let tools = (0..count).map(|n| tool(format!("t{page}x{n}"), bytes));
        let mut result = ListToolsResult::with_all_items(tools.collect());
        result.next_cursor = next;
        // A hint that the list may be kept must not make the client keep pages.
        result.ttl_ms = Some(3_600_000);
        Ok(result)
    }

    async fn call_tool(
        &self,
        asked: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = asked.arguments.unwrap_or_default();
        let size = arguments.get("size").and_then(Value::as_u64).unwrap_or(0);
        let size = usize::try_from(size).unwrap();
        let mut result = CallToolResult::success(Vec::new());
        match arguments
            .get("kind")
            .and_then(Value::as_str)
            .unwrap_or_default()
        {
            "deep" => {
                let mut deep = Value::Null;
                for _ in 0..size {
                    deep = Value::Array(vec![deep]);
                }
                // Anything but an object would be turned into text for a client of the older era.
                let members = [("n".to_owned(), deep)];
                result.structured_content = Some(Value::Object(members.into_iter().collect()));
            }
            "error" => return Err(ErrorData::internal_error("x".repeat(size), None)),
            "text" => result.content.push(ContentBlock::text("x".repeat(size))),
            _ => result.structured_content = Some(json!({"n": vec![0; size]})),
        }
        Ok(result.into())
    }
}

async fn listed(lists: Lists) -> (usize, bool, usize) {
    let server = Hostile::new(lists);
    let pages = Arc::clone(&server.pages);
    let upstream = InProcess::new("hostile", server).unwrap();
    let listing = upstream.tools().await.unwrap();
    let pages = pages.load(Ordering::SeqCst);
    (listing.definitions.len(), listing.truncated, pages)
}

// spec: FN-25 F33
#[tokio::test]
async fn a_list_without_end_is_cut() {
    assert_eq!(listed(Lists::Once).await, (1, false, 1));
    assert_eq!(listed(Lists::Circle).await, (3, true, 3));
    assert_eq!(listed(Lists::NewCursors).await, (50, true, 50));
    let (tools, truncated, pages) = listed(Lists::LargePages).await;
    assert!(
        truncated && (300..500).contains(&tools) && pages == 5,
        "{tools} {pages}"
    );
}

// spec: FN-25 F33
#[tokio::test]
async fn a_server_that_cannot_list_its_tools_is_named_in_time() {
    for lists in [Lists::Hangs, Lists::OnePageTooLarge, Lists::Panics] {
        let mut deadlines = Deadlines::default();
        deadlines.list = Duration::from_secs(1);
        let embedding = Embedding::memory().deadlines(deadlines);
        let embedding = embedding.server("hostile", Hostile::new(lists)).unwrap();
        let opened = tokio::time::timeout(Duration::from_secs(20), embedding.open()).await;
        let refused = opened.unwrap().unwrap_err();
        assert!(matches!(refused, EmbedError::Unavailable(_)), "{lists:?}");
    }
}

async fn asked(gate: &Embedded, agent: &PrincipalId, kind: &str, size: usize) -> Value {
    let line = call(1, "t0x0", &json!({"kind": kind, "size": size}));
    let mut answers = lines(gate, agent, &[line]).await;
    answers.pop().unwrap().get_mut("result").unwrap().take()
}

// spec: F33
#[tokio::test]
async fn a_result_without_measure_is_answered_at_once_as_that() {
    let embedding = Embedding::memory();
    let embedding = embedding
        .server("hostile", Hostile::new(Lists::Once))
        .unwrap();
    let gate = embedding.open().await.unwrap();
    let policy = r#"{"tools": {"t0x0": {"approval": "never"}}, "perMinute": 1000}"#;
    let agent = gate.agent("assistant", policy).await.unwrap();
    let all = [
        ("text", 17 << 20),
        ("text", 5 << 20),
        ("zeros", 4 << 20),
        ("deep", 5_000),
        ("deep", 120),
        ("error", 17 << 20),
    ];
    for (kind, size) in all {
        let answered = asked(&gate, &agent, kind, size);
        let reply = tokio::time::timeout(Duration::from_secs(20), answered)
            .await
            .unwrap();
        let text = reply["content"][0]["text"].as_str().unwrap();
        assert!(
            text.contains("was made") && text.contains("too large"),
            "{kind} {size}: {text}"
        );
        assert_eq!(reply["isError"], true);
        assert_eq!(reply["_meta"]["toolgate/outcome"]["status"], "applied");
    }
    for (kind, size) in [("zeros", 1_000), ("deep", 50), ("text", 100_000)] {
        let reply = asked(&gate, &agent, kind, size).await;
        assert_eq!(reply["isError"], false, "{kind}");
    }
}
