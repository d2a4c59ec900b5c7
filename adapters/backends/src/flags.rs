//! Feature flags.

use std::sync::Arc;

use async_trait::async_trait;
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

/// The collection that holds flags.
pub(crate) const FLAGS: &str = "flags";
/// The most flags kept.
const MOST_FLAGS: usize = 10_000;

/// The tools `flags_list`, `flags_get` and `flags_set`.
#[derive(Debug)]
pub struct Flags {
    id: UpstreamId,
    records: Arc<dyn RecordStore>,
}

impl Flags {
    /// Flags over these records.
    ///
    /// # Errors
    /// Never in practice: the id is a constant.
    pub fn new(records: Arc<dyn RecordStore>) -> Result<Self, IdError> {
        Ok(Self {
            id: "flags".parse()?,
            records,
        })
    }
}

#[async_trait]
impl Upstream for Flags {
    fn source(&self) -> Source {
        source(self.id.clone())
    }

    async fn tools(&self) -> Result<Listing, UpstreamError> {
        let name = || text(64, "The flag's name");
        let value = json!({
            "type": ["string", "number", "boolean"],
            "maxLength": 1024,
            "description": "The flag's value",
        });
        let flag = json!({
            "type": "object",
            "properties": {"name": {"type": "string"}, "value": {}},
            "required": ["name", "value"],
        });
        let list = json!({
            "type": "object",
            "properties": {"flags": {"type": "array", "items": flag}},
            "required": ["flags"],
        });
        let definitions = vec![
            About::reads(
                "flags_list",
                "List flags",
                "Lists feature flags with their values.",
            )
            .definition(&object(&json!({}), &[]), &list),
            About::reads("flags_get", "Read a flag", "Reads one feature flag.")
                .definition(&object(&json!({ "name": name() }), &["name"]), &flag),
            About::writes(
                "flags_set",
                "Set a flag",
                "Sets a feature flag, for all.",
                true,
                true,
            )
            .definition(
                &object(&json!({"name": name(), "value": value}), &["name", "value"]),
                &flag,
            ),
        ];
        Ok(Listing {
            definitions,
            truncated: false,
        })
    }

    async fn call(&self, call: ToolCall) -> Result<Value, UpstreamError> {
        let name = argument(&call.arguments, "name");
        match call.tool.as_str() {
            "flags_list" => {
                let records = self
                    .records
                    .list(FLAGS, "")
                    .await
                    .map_err(|e| not_read(&e))?;
                let flags: Vec<Value> = records
                    .into_iter()
                    .map(|(name, value)| json!({"name": name, "value": value}))
                    .collect();
                Ok(done(&json!({ "flags": flags })))
            }
            "flags_get" => {
                let found = self
                    .records
                    .get(FLAGS, name)
                    .await
                    .map_err(|e| not_read(&e))?;
                Ok(match found {
                    Some(value) => done(&json!({"name": name, "value": value})),
                    None => failed("there is no such flag"),
                })
            }
            "flags_set" => {
                let value = call.arguments.get("value").cloned().unwrap_or_default();
                let known = self
                    .records
                    .list(FLAGS, "")
                    .await
                    .map_err(|e| not_read(&e))?;
                let is_new = known.iter().all(|(other, _)| other != name);
                if is_new && known.len() >= MOST_FLAGS {
                    return Ok(failed("there are as many flags as there may be"));
                }
                self.records
                    .put(FLAGS, name, &value)
                    .await
                    .map_err(|e| not_written(&e))?;
                Ok(done(&json!({"name": name, "value": value})))
            }
            _ => Err(no_such_tool()),
        }
    }
}
