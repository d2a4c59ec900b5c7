//! The gate before MCP tools: policy, limits, approvals, filter, fence and audit around every call.
