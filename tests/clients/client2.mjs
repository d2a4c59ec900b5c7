// The second TypeScript client, which speaks both eras.

import assert from "node:assert/strict";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { env, judge } from "./judge.mjs";

const mode = process.argv[2];
assert.ok(["auto", "legacy"].includes(mode), "the mode is auto or legacy");

// spec: MT-03 MT-04
async function connect(key) {
  const client = new Client(
    { name: "toolgate-judge", version: "1.0.0" },
    { versionNegotiation: { mode } },
  );
  const transport = new StreamableHTTPClientTransport(new URL("/mcp", env.url), {
    requestInit: { headers: { authorization: `Bearer ${key}` } },
  });
  await client.connect(transport);
  assert.equal(client.getProtocolEra(), mode === "auto" ? "modern" : "legacy");
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
