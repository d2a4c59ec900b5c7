//! Calls without a gate.

use serde_json::Value;
use toolgate_core::rules::HostRules;
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
    hosts: Option<HostRules>,
) -> Value {
    let listing = upstream.tools().await.unwrap();
    let definition: Value = listing
        .definitions
        .iter()
        .map(|text| serde_json::from_str::<Value>(text).unwrap())
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
