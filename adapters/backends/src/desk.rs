//! A support desk: tickets with comments.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::lock::Mutex;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;
use toolgate_core::catalog::Source;
use toolgate_core::id::IdError;
use toolgate_core::id::UpstreamId;
use toolgate_mcp::upstream::Listing;
use toolgate_mcp::upstream::ToolCall;
use toolgate_mcp::upstream::Upstream;
use toolgate_mcp::upstream::UpstreamError;

use crate::RecordStore;
use crate::tool::About;
use crate::tool::argument;
use crate::tool::done;
use crate::tool::failed;
use crate::tool::no_such_tool;
use crate::tool::not_read;
use crate::tool::not_written;
use crate::tool::object;
use crate::tool::source;
use crate::tool::text;

/// The collection that holds tickets.
pub(crate) const TICKETS: &str = "tickets";

/// The tools `tickets_list`, `tickets_get`, `tickets_comment` and `tickets_close`.
#[derive(Debug)]
pub struct Desk {
    id: UpstreamId,
    records: Arc<dyn RecordStore>,
    /// Held from reading a ticket until it is written, so that no change undoes another.
    changing: Mutex<()>,
}

impl Desk {
    /// A desk over these records.
    ///
    /// # Errors
    /// Never in practice: the id is a constant.
    pub fn new(records: Arc<dyn RecordStore>) -> Result<Self, IdError> {
        Ok(Self {
            id: "desk".parse()?,
            records,
            changing: Mutex::new(()),
        })
    }

    async fn list(&self, arguments: &Map<String, Value>) -> Result<Value, UpstreamError> {
        let records = self
            .records
            .list(TICKETS, "")
            .await
            .map_err(|e| not_read(&e))?;
        let status = arguments.get("status").and_then(Value::as_str);
        let tickets: Vec<Value> = records
            .into_iter()
            .map(|(_, ticket)| ticket)
            .filter(|ticket| {
                status.is_none_or(|only| ticket.get("status").and_then(Value::as_str) == Some(only))
            })
            .map(|ticket| {
                let of = |name: &str| ticket.get(name).cloned().unwrap_or_default();
                json!({
                    "id": of("id"),
                    "subject": of("subject"),
                    "status": of("status"),
                    "customer": of("customer"),
                })
            })
            .collect();
        Ok(done(&json!({ "tickets": tickets })))
    }

    async fn ticket(&self, arguments: &Map<String, Value>) -> Result<Option<Value>, UpstreamError> {
        let id = argument(arguments, "id");
        self.records
            .get(TICKETS, id)
            .await
            .map_err(|e| not_read(&e))
    }

    /// Changes a ticket and answers with it.
    async fn change(
        &self,
        arguments: &Map<String, Value>,
        change: impl FnOnce(&mut Map<String, Value>) -> Result<(), &'static str> + Send,
    ) -> Result<Value, UpstreamError> {
        let _changing = self.changing.lock().await;
        let Some(Value::Object(mut ticket)) = self.ticket(arguments).await? else {
            return Ok(failed("there is no such ticket"));
        };
        if let Err(why) = change(&mut ticket) {
            return Ok(failed(why));
        }
        let ticket = Value::Object(ticket);
        let id = argument(arguments, "id");
        self.records
            .put(TICKETS, id, &ticket)
            .await
            .map_err(|e| not_written(&e))?;
        Ok(done(&ticket))
    }
}

/// The longest thread of comments on one ticket.
const MOST_COMMENTS: usize = 500;

fn comment(ticket: &mut Map<String, Value>, body: &str) -> Result<(), &'static str> {
    let comments = ticket.entry("comments").or_insert_with(|| json!([]));
    let Some(comments) = comments.as_array_mut() else {
        return Err("the ticket cannot take comments");
    };
    if comments.len() >= MOST_COMMENTS {
        return Err("the ticket has as many comments as it may have");
    }
    comments.push(json!({"author": "agent", "body": body}));
    Ok(())
}

#[async_trait]
impl Upstream for Desk {
    fn source(&self) -> Source {
        source(self.id.clone())
    }

    async fn tools(&self) -> Result<Listing, UpstreamError> {
        let id = || text(32, "The ticket's id, T-…");
        let word = || json!({"type": "string"});
        let ticket = json!({
            "id": word(), "subject": word(), "status": word(), "customer": word(),
            "body": word(),
            "comments": {"type": "array", "items": {
                "type": "object",
                "properties": {"author": word(), "body": word()},
                "required": ["author", "body"],
            }},
        });
        let whole = json!({
            "type": "object",
            "properties": ticket,
            "required": ["id", "subject", "status", "customer", "body", "comments"],
        });
        let brief = json!({
            "type": "object",
            "properties": {"id": word(), "subject": word(), "status": word(), "customer": word()},
            "required": ["id", "subject", "status", "customer"],
        });
        let list = json!({
            "type": "object",
            "properties": {"tickets": {"type": "array", "items": brief}},
            "required": ["tickets"],
        });
        let status = json!({
            "type": "string",
            "enum": ["open", "closed"],
            "description": "Only tickets in this status",
        });
        let definitions = vec![
            About::reads("tickets_list", "List tickets", "Lists support tickets.")
                .definition(&object(&json!({ "status": status }), &[]), &list),
            About::reads(
                "tickets_get",
                "Read a ticket",
                "Reads one ticket with its comments.",
            )
            .definition(&object(&json!({ "id": id() }), &["id"]), &whole),
            About::writes(
                "tickets_comment",
                "Comment on a ticket",
                "Adds a comment, which the customer sees.",
                false,
                false,
            )
            .definition(
                &object(
                    &json!({"id": id(), "body": text(10_000, "The comment")}),
                    &["id", "body"],
                ),
                &whole,
            ),
            About::writes(
                "tickets_close",
                "Close a ticket",
                "Closes a ticket, with the reason as a last comment.",
                true,
                true,
            )
            .definition(
                &object(
                    &json!({"id": id(), "reason": text(2_000, "Why it is closed")}),
                    &["id"],
                ),
                &whole,
            ),
        ];
        Ok(Listing {
            definitions,
            truncated: false,
        })
    }

    async fn call(&self, call: ToolCall) -> Result<Value, UpstreamError> {
        let arguments = &call.arguments;
        match call.tool.as_str() {
            "tickets_list" => self.list(arguments).await,
            "tickets_get" => Ok(match self.ticket(arguments).await? {
                Some(ticket) => done(&ticket),
                None => failed("there is no such ticket"),
            }),
            "tickets_comment" => {
                let body = argument(arguments, "body").to_owned();
                self.change(arguments, move |ticket| comment(ticket, &body))
                    .await
            }
            "tickets_close" => {
                let reason = argument(arguments, "reason").to_owned();
                self.change(arguments, move |ticket| {
                    let closed = ticket.get("status").and_then(Value::as_str) == Some("closed");
                    if !closed && !reason.is_empty() {
                        comment(ticket, &reason)?;
                    }
                    ticket.insert("status".to_owned(), "closed".into());
                    Ok(())
                })
                .await
            }
            _ => Err(no_such_tool()),
        }
    }
}
