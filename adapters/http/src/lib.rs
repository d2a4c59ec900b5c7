//! toolgate's MCP endpoint and admin API as one function from an HTTP request to a response.
