//! What the `rmcp` client must see; `toolgate-rmcp-client auto` or `toolgate-rmcp-client legacy`.

use std::error::Error;

use rmcp::RoleClient;
use rmcp::model::CallToolRequestParams;
use rmcp::model::ErrorData;
use rmcp::model::ProtocolVersion;
use rmcp::service::ClientLifecycleMode;
use rmcp::service::ClientServiceExt;
use rmcp::service::RunningService;
use rmcp::service::ServiceError;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::Value;
use serde_json::json;

type Found<T> = Result<T, Box<dyn Error>>;

const OUTCOME: &str = "toolgate/outcome";
const OPENING: &str = "<tool_output trust=\"untrusted\" id=\"";
const SUPPORT_VIEW: [&str; 7] = [
    "approval_outcome",
    "files_list",
    "files_read",
    "tickets_close",
    "tickets_comment",
    "tickets_get",
    "tickets_list",
];
/// Published examples that the seeded tickets carry.
const SECRETS: [&str; 2] = ["AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI"];

/// Fails the case with what was seen.
macro_rules! hold {
    ($condition:expr, $($seen:tt)+) => {
        if !$condition {
            return Err(format!("`{}` does not hold: {}", stringify!($condition), format!($($seen)+)).into());
        }
    };
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Found<()> {
    let mode = std::env::args().nth(1).unwrap_or_default();
    if !["auto", "legacy"].contains(&mode.as_str()) {
        return Err("the mode is auto or legacy".into());
    }
    let mut run = Run {
        support: Agent::connect(&variable("TOOLGATE_AGENT_KEY")?, &mode).await?,
        ops: Agent::connect(&variable("TOOLGATE_OPS_KEY")?, &mode).await?,
        operator: Operator::new()?,
        mode,
        body: format!("Looked into it, reference {}.", std::process::id()),
        tickets: Vec::new(),
        pending: String::new(),
    };
    let mut judge = Judge::default();
    judge.note("a_wrong_key_is_refused", run.a_wrong_key_is_refused().await);
    judge.note(
        "the_era_is_the_one_asked_for",
        run.the_era_is_the_one_asked_for(),
    );
    judge.note(
        "each_agent_sees_only_its_view",
        run.each_agent_sees_only_its_view().await,
    );
    judge.note(
        "a_call_returns_fenced_text",
        run.a_call_returns_fenced_text().await,
    );
    judge.note(
        "seeded_secrets_never_arrive",
        run.seeded_secrets_never_arrive().await,
    );
    judge.note(
        "a_refusal_says_how_to_recover",
        run.a_refusal_says_how_to_recover().await,
    );
    judge.note(
        "a_hidden_tool_looks_like_no_tool",
        run.a_hidden_tool_looks_like_no_tool().await,
    );
    judge.note(
        "a_pending_call_is_a_valid_result",
        run.a_pending_call_is_a_valid_result().await,
    );
    judge.note(
        "another_agent_reads_no_outcome",
        run.another_agent_reads_no_outcome().await,
    );
    judge.note(
        "an_approved_call_runs_once",
        run.an_approved_call_runs_once().await,
    );
    judge.note(
        "a_declined_call_says_so",
        run.a_declined_call_says_so().await,
    );
    run.support.service.cancel().await?;
    run.ops.service.cancel().await?;
    judge.verdict()
}

/// The results of the cases, as they come.
#[derive(Debug, Default)]
struct Judge {
    passed: usize,
    failed: usize,
}

impl Judge {
    fn note(&mut self, name: &str, result: Found<()>) {
        match result {
            Ok(()) => {
                self.passed += 1;
                println!("ok {name}");
            }
            Err(error) => {
                self.failed += 1;
                println!("not ok {name}\n{error}");
            }
        }
    }

    fn verdict(self) -> Found<()> {
        println!("clients: {} passed, {} failed", self.passed, self.failed);
        match self.failed {
            0 => Ok(()),
            failed => Err(format!("{failed} cases failed").into()),
        }
    }
}

/// Two connected agents, an operator, and what one case leaves for the next.
struct Run {
    support: Agent,
    ops: Agent,
    operator: Operator,
    mode: String,
    body: String,
    tickets: Vec<String>,
    pending: String,
}

impl Run {
    async fn a_wrong_key_is_refused(&self) -> Found<()> {
        let key = "tg_0000000000000000000000000000000000000000";
        let refused = match Agent::connect(key, &self.mode).await {
            Ok(agent) => agent.service.list_all_tools().await.is_err(),
            Err(_) => true,
        };
        hold!(refused, "a wrong key was accepted");
        Ok(())
    }

    // spec: MT-03 MT-04
    fn the_era_is_the_one_asked_for(&self) -> Found<()> {
        let peer = self
            .support
            .service
            .peer_info()
            .ok_or("nothing is known of the gate")?;
        let version = peer.protocol_version.as_str();
        hold!(
            (version >= "2026-07-28") == (self.mode == "auto"),
            "{version}"
        );
        hold!(peer.instructions.is_some(), "the gate explains itself");
        let name = peer.server_info.as_ref().map(|server| server.name.as_str());
        hold!(name == Some("toolgate"), "{name:?}");
        Ok(())
    }

    // spec: MT-01
    async fn each_agent_sees_only_its_view(&self) -> Found<()> {
        let seen = self.support.list().await?;
        hold!(seen == SUPPORT_VIEW, "{seen:?}");
        let other = self.ops.list().await?;
        hold!(other.iter().any(|name| name == "flags_set"), "{other:?}");
        hold!(
            other.iter().all(|name| name != "tickets_comment"),
            "{other:?}"
        );
        Ok(())
    }

    async fn a_call_returns_fenced_text(&mut self) -> Found<()> {
        let list = self.support.call("tickets_list", json!({})).await?;
        hold!(list["isError"] != true, "{list}");
        hold!(is_fenced(&text_of(&list)), "{list}");
        hold!(list["_meta"]["toolgate/trust"] == "untrusted", "{list}");
        let tickets = list["structuredContent"]["tickets"].as_array();
        let ids = tickets
            .into_iter()
            .flatten()
            .filter_map(|ticket| ticket["id"].as_str());
        self.tickets = ids.map(str::to_owned).collect();
        hold!(self.tickets.len() >= 3, "{list}");
        let one = self
            .support
            .call("tickets_get", json!({"id": self.ticket()?}))
            .await?;
        hold!(is_fenced(&text_of(&one)), "{one}");
        hold!(one["structuredContent"]["id"] == self.ticket()?, "{one}");
        hold!(one["structuredContent"]["body"].is_string(), "{one}");
        Ok(())
    }

    async fn seeded_secrets_never_arrive(&self) -> Found<()> {
        for id in &self.tickets {
            let result = self.support.call("tickets_get", json!({"id": id})).await?;
            let text = result.to_string();
            hold!(
                !SECRETS.iter().any(|secret| text.contains(secret)),
                "ticket {id}"
            );
        }
        Ok(())
    }

    async fn a_refusal_says_how_to_recover(&self) -> Found<()> {
        for path in [
            "internal/notes.md",
            "docs/../internal/notes.md",
            "docs/%2e%2e/x",
        ] {
            let result = self
                .support
                .call("files_read", json!({"path": path}))
                .await?;
            hold!(result["isError"] == true, "{path}: {result}");
            hold!(result["structuredContent"].is_null(), "{result}");
            let outcome = &result["_meta"][OUTCOME];
            hold!(outcome["code"].is_string(), "{result}");
            let retry = outcome["retry"].as_str().unwrap_or_default();
            hold!(["never", "after", "fixed"].contains(&retry), "{outcome}");
            hold!(
                !text_of(&result).is_empty(),
                "a model reads the reason in the text"
            );
        }
        Ok(())
    }

    // spec: MT-02
    async fn a_hidden_tool_looks_like_no_tool(&self) -> Found<()> {
        let args = json!({"name": "beta_banner", "value": true});
        let hidden = self.support.failure("flags_set", args.clone()).await?;
        let absent = self.support.failure("flags_zzz", args).await?;
        hold!(hidden.code.0 == -32602, "{hidden:?}");
        let [hidden, absent] = [json!(hidden), json!(absent)];
        let same = hidden.to_string().replace("flags_set", "NAME")
            == absent.to_string().replace("flags_zzz", "NAME");
        hold!(same, "{hidden} {absent}");
        Ok(())
    }

    // spec: DE-04
    async fn a_pending_call_is_a_valid_result(&mut self) -> Found<()> {
        let result = self.comment().await?;
        hold!(result["isError"] != true, "{result}");
        let pending = &result["structuredContent"];
        hold!(pending["status"] == "pending_approval", "{result}");
        let id = pending["id"].as_str().unwrap_or_default();
        hold!(id.starts_with("ap_"), "{pending}");
        hold!(pending["expiresAt"].is_string(), "{pending}");
        hold!(&result["_meta"][OUTCOME] == pending, "{result}");
        self.pending = id.to_owned();
        let again = self.comment().await?;
        hold!(
            again["structuredContent"]["id"] == id,
            "a repeated call asks only once: {again}"
        );
        let asked = self.outcome().await?;
        hold!(
            asked["structuredContent"]["status"] == "pending_approval",
            "{asked}"
        );
        Ok(())
    }

    async fn another_agent_reads_no_outcome(&self) -> Found<()> {
        let absent = format!("ap_{}", "a".repeat(self.pending.len().saturating_sub(3)));
        let theirs = self
            .ops
            .call("approval_outcome", json!({"id": self.pending}))
            .await?;
        let none = self
            .ops
            .call("approval_outcome", json!({"id": absent}))
            .await?;
        hold!(theirs["isError"] == true, "{theirs}");
        let same = theirs.to_string().replace(&self.pending, "ID")
            == none.to_string().replace(&absent, "ID");
        hold!(same, "{theirs} {none}");
        Ok(())
    }

    async fn an_approved_call_runs_once(&self) -> Found<()> {
        let open = self.operator.get("/api/approvals?status=pending").await?;
        let rows = open["approvals"].as_array().ok_or("no list of approvals")?;
        let row = rows.iter().find(|row| row["id"] == self.pending.as_str());
        hold!(
            row.is_some_and(|row| row["tool"] == "tickets_comment"),
            "{open}"
        );
        let decided = self
            .operator
            .decide(&self.pending, &json!({"approved": true}))
            .await?;
        hold!(decided["status"] == "applied", "{decided}");
        let outcome = self.outcome().await?;
        hold!(text_of(&outcome).contains(OPENING), "{outcome}");
        let again = self.comment().await?;
        hold!(
            again["structuredContent"]["id"] == self.ticket()?,
            "{again}"
        );
        let ticket = self
            .support
            .call("tickets_get", json!({"id": self.ticket()?}))
            .await?;
        let comments = ticket["structuredContent"]["comments"].to_string();
        let written = comments.matches(&self.body).count();
        hold!(written == 1, "the comment was written {written} times");
        Ok(())
    }

    async fn a_declined_call_says_so(&self) -> Found<()> {
        let reason = format!("Duplicate {}", self.body);
        let args = json!({"id": self.ticket()?, "reason": reason});
        let result = self.support.call("tickets_close", args.clone()).await?;
        let id = result["structuredContent"]["id"]
            .as_str()
            .ok_or("no id")?
            .to_owned();
        let decision = json!({"approved": false, "reason": "not yet"});
        let decided = self.operator.decide(&id, &decision).await?;
        hold!(decided["status"] == "declined", "{decided}");
        let again = self.support.call("tickets_close", args).await?;
        hold!(
            again["_meta"][OUTCOME].to_string().contains("declined"),
            "{again}"
        );
        let ticket = self
            .support
            .call("tickets_get", json!({"id": self.ticket()?}))
            .await?;
        hold!(
            ticket["structuredContent"]["status"] != "closed",
            "{ticket}"
        );
        Ok(())
    }

    /// The ticket that is worked on.
    fn ticket(&self) -> Found<&str> {
        let first = self.tickets.first();
        first
            .map(String::as_str)
            .ok_or_else(|| "there is no ticket".into())
    }

    async fn comment(&self) -> Found<Value> {
        let args = json!({"id": self.ticket()?, "body": self.body});
        self.support.call("tickets_comment", args).await
    }

    async fn outcome(&self) -> Found<Value> {
        self.support
            .call("approval_outcome", json!({"id": self.pending}))
            .await
    }
}

/// One agent's connection.
struct Agent {
    service: RunningService<RoleClient, ()>,
}

impl Agent {
    async fn connect(key: &str, mode: &str) -> Found<Self> {
        let url = format!("{}/mcp", variable("TOOLGATE_URL")?);
        let config = StreamableHttpClientTransportConfig::with_uri(url).auth_header(key);
        let transport = StreamableHttpClientTransport::with_client(http_client()?, config);
        let lifecycle = if mode == "legacy" {
            ClientLifecycleMode::Initialize
        } else {
            ClientLifecycleMode::Auto {
                preferred_versions: vec![ProtocolVersion::V_2026_07_28],
                legacy_version: None,
            }
        };
        let service = ().serve_with_lifecycle(transport, lifecycle).await?;
        Ok(Self { service })
    }

    async fn list(&self) -> Found<Vec<String>> {
        let tools = self.service.list_all_tools().await?;
        let mut names: Vec<String> = tools.iter().map(|tool| tool.name.to_string()).collect();
        names.sort();
        Ok(names)
    }

    /// A result as it would be on the wire.
    async fn call(&self, name: &'static str, args: Value) -> Found<Value> {
        Ok(serde_json::to_value(self.try_call(name, args).await??)?)
    }

    /// The error that a call must come to.
    async fn failure(&self, name: &'static str, args: Value) -> Found<ErrorData> {
        match self.try_call(name, args).await? {
            Err(ServiceError::McpError(error)) => Ok(error),
            other => Err(format!("{name} came to {other:?}").into()),
        }
    }

    async fn try_call(
        &self,
        name: &'static str,
        args: Value,
    ) -> Found<Result<rmcp::model::CallToolResult, ServiceError>> {
        let args = args.as_object().cloned().ok_or("arguments are an object")?;
        let params = CallToolRequestParams::new(name).with_arguments(args);
        Ok(self.service.call_tool(params).await)
    }
}

/// The operator's API.
struct Operator {
    client: reqwest::Client,
    url: String,
    token: String,
}

impl Operator {
    fn new() -> Found<Self> {
        Ok(Self {
            client: http_client()?,
            url: variable("TOOLGATE_URL")?,
            token: variable("TOOLGATE_TOKEN")?,
        })
    }

    async fn get(&self, path: &str) -> Found<Value> {
        let request = self.client.get(format!("{}{path}", self.url));
        let answer = request.bearer_auth(&self.token).send().await?;
        Ok(answer.error_for_status()?.json().await?)
    }

    async fn decide(&self, id: &str, decision: &Value) -> Found<Value> {
        let request = self.client.post(format!("{}/api/approvals/{id}", self.url));
        let request = request.bearer_auth(&self.token).json(decision);
        Ok(request.send().await?.error_for_status()?.json().await?)
    }
}

/// A client that no proxy of this machine comes between.
fn http_client() -> Found<reqwest::Client> {
    Ok(reqwest::Client::builder().no_proxy().build()?)
}

/// Whether the text is one fence with its notes before it, and the closing tag bears the same id.
fn is_fenced(text: &str) -> bool {
    let mut rest = text;
    while let Some((note, after)) = rest.split_once('\n') {
        if !note.starts_with("toolgate: ") {
            break;
        }
        rest = after;
    }
    let parts = rest
        .strip_prefix(OPENING)
        .and_then(|rest| rest.split_once("\">\n"));
    parts.is_some_and(|(id, rest)| {
        let hexadecimal = id.bytes().all(|byte| byte.is_ascii_hexdigit());
        let closing = format!("\n</tool_output id=\"{id}\">");
        id.len() == 32 && hexadecimal && rest.trim_end().ends_with(&closing)
    })
}

fn text_of(result: &Value) -> String {
    let blocks = result["content"].as_array().into_iter().flatten();
    let texts = blocks.filter_map(|block| block["text"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}

fn variable(name: &str) -> Found<String> {
    std::env::var(name).map_err(|error| format!("{name}: {error}").into())
}
