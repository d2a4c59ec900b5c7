// The first TypeScript SDK, which speaks the 2025 revisions.

import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { env, judge } from "./judge.mjs";

assert.equal(process.argv[2], "legacy", "this client knows one mode");

// spec: MT-03
async function connect(key) {
  const client = new Client({ name: "toolgate-judge", version: "1.0.0" });
  const transport = new StreamableHTTPClientTransport(new URL("/mcp", env.url), {
    requestInit: { headers: { authorization: `Bearer ${key}` } },
  });
  await client.connect(transport);
  assert.equal(client.getServerVersion()?.name, "toolgate");
  // The client checks results against the output schemas that a list has shown it.
  await client.listTools();
  return {
    list: async () => (await client.listTools()).tools,
    call: (name, args) => client.callTool({ name, arguments: args }),
    failure: ({ code, message, data }) => ({ code, message, data }),
    close: () => client.close(),
  };
}

await judge(connect);
