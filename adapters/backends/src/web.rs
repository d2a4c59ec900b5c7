//! Pages of the web: fetched once, from the hosts that a policy lists.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use serde_json::json;
use sha2::Digest as _;
use sha2::Sha256;
use toolgate_core::catalog::Source;
use toolgate_core::classify::Mode;
use toolgate_core::id::IdError;
use toolgate_core::id::UpstreamId;
use toolgate_mcp::upstream::Listing;
use toolgate_mcp::upstream::ToolCall;
use toolgate_mcp::upstream::Upstream;
use toolgate_mcp::upstream::UpstreamError;

use crate::BackendError;
use crate::Fetch;
use crate::Fetched;
use crate::tool::About;
use crate::tool::argument;
use crate::tool::done;
use crate::tool::failed;
use crate::tool::no_such_tool;
use crate::tool::object;
use crate::tool::page;
use crate::tool::source;
use crate::tool::text;

/// The bytes of a body that are read.
const MOST_BODY: usize = 1 << 20;
/// The characters of a body that one call answers with.
const PAGE: usize = 32 * 1024;

/// The tool `web_fetch`.
#[derive(Debug)]
pub struct Web {
    id: UpstreamId,
    fetch: Arc<dyn Fetch>,
}

impl Web {
    /// The web through this way out.
    ///
    /// # Errors
    /// Never in practice: the id is a constant.
    pub fn new(fetch: Arc<dyn Fetch>) -> Result<Self, IdError> {
        Ok(Self {
            id: "web".parse()?,
            fetch,
        })
    }
}

/// The media types whose bodies are text.
fn is_text(content_type: &str) -> bool {
    let essence = content_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    essence.starts_with("text/")
        || essence.ends_with("+json")
        || essence.ends_with("+xml")
        || [
            "application/json",
            "application/xml",
            "application/javascript",
        ]
        .contains(&essence.as_str())
}

fn shown(url: &str, fetched: Fetched, call: &ToolCall) -> Value {
    if let Some(location) = &fetched.location
        && (300..400).contains(&fetched.status)
    {
        return failed(&format!(
            "the server answers with status {} and points elsewhere, where nobody went: {}",
            fetched.status,
            location.chars().take(512).collect::<String>(),
        ));
    }
    let content_type = fetched.content_type.unwrap_or_default();
    if !is_text(&content_type) {
        return failed("the answer is not text");
    }
    let total = fetched.body.len();
    let digest = data_encoding::HEXLOWER.encode(&Sha256::digest(&fetched.body));
    let body = String::from_utf8_lossy(&fetched.body);
    let (text, more) = page(call, &body, PAGE);
    done(&json!({
        "url": url,
        "status": fetched.status,
        "contentType": content_type,
        "text": text,
        "totalBytes": total,
        "truncated": more || fetched.truncated,
        "sha256": digest,
    }))
}

#[async_trait]
impl Upstream for Web {
    fn source(&self) -> Source {
        source(self.id.clone())
    }

    async fn tools(&self) -> Result<Listing, UpstreamError> {
        let about = About {
            name: "web_fetch",
            title: "Fetch a page",
            description: "Fetches a text over HTTPS from a host that the policy lists. No \
                          redirect is followed. A long text comes in pages.",
            mode: Mode::Observation,
            destructive: false,
            idempotent: true,
            open_world: true,
        };
        let input = object(
            &json!({
                "url": text(2_048, "An https address"),
                "offset": {
                    "type": "integer",
                    "minimum": 0,
                    "description": "Characters of the text as it is shown to skip, to read on",
                },
            }),
            &["url"],
        );
        let word = || json!({"type": "string"});
        let output = json!({
            "type": "object",
            "properties": {
                "url": word(), "status": {"type": "integer"}, "contentType": word(),
                "text": word(), "totalBytes": {"type": "integer"},
                "truncated": {"type": "boolean"}, "sha256": word(),
            },
            "required": [
                "url", "status", "contentType", "text", "totalBytes", "truncated", "sha256",
            ],
        });
        Ok(Listing {
            definitions: vec![about.definition(&input, &output)],
            truncated: false,
        })
    }

    async fn call(&self, call: ToolCall) -> Result<Value, UpstreamError> {
        if call.tool.as_str() != "web_fetch" {
            return Err(no_such_tool());
        }
        let Some(hosts) = &call.hosts else {
            return Ok(failed(
                "the policy lists no host for this tool, so nothing is fetched",
            ));
        };
        let url = argument(&call.arguments, "url");
        let Ok(address) = hosts.allows(url) else {
            return Ok(failed(
                "the policy does not list that host, so nothing was fetched",
            ));
        };
        match self.fetch.get(address.as_str(), hosts, MOST_BODY).await {
            Ok(fetched) => Ok(shown(address.as_str(), fetched, &call)),
            Err(BackendError::Refused(why)) => Ok(failed(why)),
            Err(BackendError::TooLarge) => Ok(failed("the answer is larger than what is read")),
            Err(BackendError::Unavailable(_)) => {
                Ok(failed("nothing came back: the host does not answer"))
            }
        }
    }
}
