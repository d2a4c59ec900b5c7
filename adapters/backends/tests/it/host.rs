//! Calls without a gate.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use toolgate_backends::BackendError;
use toolgate_backends::Desk;
use toolgate_backends::Fetch;
use toolgate_backends::Fetched;
use toolgate_backends::Files;
use toolgate_backends::Flags;
use toolgate_backends::Web;
use toolgate_backends::memory::MemoryFiles;
use toolgate_backends::memory::MemoryRecords;
use toolgate_core::rules::AllowedHosts;
use toolgate_core::schema::Checker;
use toolgate_mcp::upstream::ToolCall;
use toolgate_mcp::upstream::Upstream;

/// Calls a tool; what it answers fits its own schemas.
pub(crate) async fn call(upstream: &dyn Upstream, tool: &str, arguments: Value) -> Value {
    call_with(upstream, tool, arguments, None).await
}

pub(crate) async fn call_with(
    upstream: &dyn Upstream,
    tool: &str,
    arguments: Value,
    hosts: Option<AllowedHosts>,
) -> Value {
    let definition = definitions(upstream)
        .await
        .into_iter()
        .find(|definition| definition["name"] == tool)
        .unwrap();
    assert_eq!(definition["annotations"].as_object().unwrap().len(), 4);
    assert!(
        Checker::new(&definition["inputSchema"])
            .unwrap()
            .is_valid(&arguments)
    );
    let mut call = ToolCall::new(
        "c1".parse().unwrap(),
        "p1".parse().unwrap(),
        tool.parse().unwrap(),
        arguments.as_object().unwrap().clone(),
    );
    call.hosts = hosts;
    let result = upstream.call(call).await.unwrap();
    if result["isError"] == true {
        assert_eq!(result.get("structuredContent"), None);
    } else {
        let output = Checker::new(&definition["outputSchema"]).unwrap();
        assert!(output.is_valid(&result["structuredContent"]), "{result}");
        let text = result["content"][0]["text"].as_str().unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(text).unwrap(),
            result["structuredContent"]
        );
    }
    result
}

/// What a source lists.
pub(crate) async fn definitions(upstream: &dyn Upstream) -> Vec<Value> {
    let listing = upstream.tools().await.unwrap();
    listing
        .definitions
        .iter()
        .map(|text| serde_json::from_str(text).unwrap())
        .collect()
}

/// All built-in sources, over stores in memory and a web that is empty.
pub(crate) fn sources() -> [Arc<dyn Upstream>; 4] {
    let records = Arc::new(MemoryRecords::default());
    [
        Arc::new(Desk::new(records.clone()).unwrap()),
        Arc::new(Flags::new(records).unwrap()),
        Arc::new(Files::new(Arc::new(MemoryFiles::default())).unwrap()),
        Arc::new(Web::new(Arc::new(Nowhere)).unwrap()),
    ]
}

#[derive(Debug)]
struct Nowhere;

#[async_trait]
impl Fetch for Nowhere {
    async fn get(&self, _: &str, _: &AllowedHosts, _: usize) -> Result<Fetched, BackendError> {
        Ok(Fetched::default())
    }
}
