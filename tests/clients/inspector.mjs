// The inspector's command line: each call is a process of its own.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { env, judge } from "./judge.mjs";

const mode = process.argv[2];
assert.ok(["modern", "legacy"].includes(mode), "the mode is modern or legacy");

const manifest = createRequire(import.meta.url).resolve("@modelcontextprotocol/inspector/package.json");
const program = join(dirname(manifest), "clients/launcher/build/index.js");
// What the person at this machine has told their own inspector must not count.
const home = mkdtempSync(join(tmpdir(), "toolgate-inspector-"));
process.on("exit", () => rmSync(home, { recursive: true, force: true }));

// spec: MT-03 MT-04
async function connect(key) {
  const run = (...args) => inspect(key, args);
  return {
    list: async () => (await run("--method", "tools/list")).tools,
    call: (name, args) => {
      const given = ["--tool-name", name, "--tool-args-json", JSON.stringify(args)];
      return run("--method", "tools/call", ...given);
    },
    failure: ({ code, message }) => ({ code, message }),
    // It looks a tool up in the list and never asks the gate for one that is not there.
    unknown: "tool_not_found",
    close: async () => {},
  };
}

// The result that one process prints, or the error that it prints instead.
async function inspect(key, args) {
  const common = ["--cli", new URL("/mcp", env.url).href, "--transport", "http", "--quiet"];
  common.push("--format", "json", "--protocol-era", mode, "--stored-auth-only");
  common.push("--header", `Authorization: Bearer ${key}`);
  const { stdout, stderr } = await new Promise((resolve) => {
    const options = { env: { ...process.env, HOME: home, USERPROFILE: home }, timeout: 30_000 };
    execFile(process.execPath, [program, ...common, ...args], options, (_, stdout, stderr) =>
      resolve({ stdout, stderr }),
    );
  });
  // A result with `isError` is printed too, and the exit code says so besides.
  if (stdout.trim() !== "") return JSON.parse(stdout).result;
  throw Object.assign(new Error(stderr), JSON.parse(stderr).error);
}

await judge(connect);
