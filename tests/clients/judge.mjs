// What every TypeScript client must see; the client itself is handed in.
//
// A client is { list(), call(name, args), failure(error), close() } over an agent's key, and `unknown`
// if it has a code of its own for a tool that is not listed.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

export const env = {
  url: need("TOOLGATE_URL"),
  token: need("TOOLGATE_TOKEN"),
  supportKey: need("TOOLGATE_AGENT_KEY"),
  opsKey: need("TOOLGATE_OPS_KEY"),
};

const OUTCOME = "toolgate/outcome";
const FENCE =
  /^(?:toolgate: [^\n]*\n)*<tool_output trust="untrusted" id="([0-9a-f]{32})">\n([\s\S]*)\n<\/tool_output id="\1">\s*$/;
const SUPPORT_VIEW = [
  "approval_outcome",
  "files_list",
  "files_read",
  "tickets_close",
  "tickets_comment",
  "tickets_get",
  "tickets_list",
];
// Published examples that the seeded tickets carry.
const SECRETS = ["AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI"];

function need(name) {
  const value = process.env[name];
  assert.ok(value, `${name} is not set`);
  return value;
}

// Each case gets { support, ops, connect, shared } and throws if the gate is wrong.
const CASES = [
  aWrongKeyIsRefused,
  eachAgentSeesOnlyItsView,
  aCallReturnsFencedTextAndStructure,
  seededSecretsNeverArrive,
  aRefusalSaysHowToRecover,
  aHiddenToolLooksLikeNoTool,
  aPendingCallIsAValidResult,
  anotherAgentCannotReadTheOutcome,
  anApprovedCallRunsOnceAndIsHandedOver,
  aDeclinedCallSaysSo,
];

// Runs the cases in order; `connect(key)` makes a client.
export async function judge(connect) {
  let failed = 0;
  const support = await connect(env.supportKey);
  const ops = await connect(env.opsKey);
  const shared = { body: `Looked into it, reference ${randomUUID()}.` };
  for (const run of CASES) {
    try {
      await run({ support, ops, connect, shared });
      console.log(`ok ${run.name}`);
    } catch (error) {
      failed += 1;
      console.log(`not ok ${run.name}\n${error?.stack ?? error}`);
    }
  }
  await support.close();
  await ops.close();
  console.log(`clients: ${CASES.length - failed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}

async function aWrongKeyIsRefused({ connect }) {
  await assert.rejects(async () => {
    const client = await connect("tg_0000000000000000000000000000000000000000");
    await client.list();
  });
}

// spec: MT-01
async function eachAgentSeesOnlyItsView({ support, ops }) {
  const seen = (await support.list()).map((tool) => tool.name);
  assert.deepEqual(seen.toSorted(), SUPPORT_VIEW);
  const other = (await ops.list()).map((tool) => tool.name);
  assert.ok(other.includes("flags_set"), "ops-bot sees flags_set");
  assert.ok(!other.includes("tickets_comment"), "ops-bot does not see tickets_comment");
}

async function aCallReturnsFencedTextAndStructure({ support, shared }) {
  const list = await support.call("tickets_list", {});
  assert.ok(!list.isError, JSON.stringify(list.content));
  assert.match(textOf(list), FENCE);
  assert.ok(list._meta?.["toolgate/trust"] !== undefined, "structured content is marked");
  const { tickets } = list.structuredContent;
  assert.ok(tickets.length >= 3, "the desk is seeded");
  shared.tickets = tickets;
  const one = await support.call("tickets_get", { id: tickets[0].id });
  assert.match(textOf(one), FENCE);
  assert.equal(one.structuredContent.id, tickets[0].id);
  assert.equal(typeof one.structuredContent.body, "string");
}

async function seededSecretsNeverArrive({ support, shared }) {
  const all = shared.tickets.map(({ id }) => support.call("tickets_get", { id }));
  for (const [index, result] of (await Promise.all(all)).entries()) {
    const text = JSON.stringify(result);
    for (const secret of SECRETS) {
      assert.ok(!text.includes(secret), `a secret of ticket ${shared.tickets[index].id} arrived`);
    }
  }
}

async function aRefusalSaysHowToRecover({ support }) {
  const paths = ["internal/notes.md", "docs/../internal/notes.md", "docs/%2e%2e/x"];
  const all = paths.map((path) => support.call("files_read", { path }));
  for (const [index, result] of (await Promise.all(all)).entries()) {
    const path = paths[index];
    assert.equal(result.isError, true, path);
    assert.equal(result.structuredContent, undefined, "a refusal has no structured content");
    const outcome = result._meta?.[OUTCOME];
    assert.equal(typeof outcome?.code, "string", JSON.stringify(result));
    assert.ok(["never", "after", "fixed"].includes(outcome.retry), JSON.stringify(outcome));
    assert.ok(textOf(result).length > 0, "a model reads the reason in the text");
  }
}

// spec: MT-02
async function aHiddenToolLooksLikeNoTool({ support }) {
  const hidden = await failureOf(support, "flags_set", { name: "beta_banner", value: true });
  const absent = await failureOf(support, "flags_zzz", { name: "beta_banner", value: true });
  assert.equal(hidden.code, support.unknown ?? -32602);
  assert.deepEqual(
    { ...hidden, message: hidden.message.replaceAll("flags_set", "NAME") },
    { ...absent, message: absent.message.replaceAll("flags_zzz", "NAME") },
  );
}

// spec: DE-04
async function aPendingCallIsAValidResult({ support, shared }) {
  const args = { id: shared.tickets[0].id, body: shared.body };
  const result = await support.call("tickets_comment", args);
  assert.ok(!result.isError, JSON.stringify(result));
  assertPending(result);
  shared.args = args;
  shared.id = result.structuredContent.id;
  const again = await support.call("tickets_comment", args);
  assert.equal(again.structuredContent.id, shared.id, "a repeated call asks only once");
  const asked = await support.call("approval_outcome", { id: shared.id });
  assert.equal(asked.structuredContent.status, "pending_approval");
}

async function anotherAgentCannotReadTheOutcome({ ops, shared }) {
  const absent = "ap_" + "a".repeat(shared.id.length - 3);
  const [theirs, none] = [
    await ops.call("approval_outcome", { id: shared.id }),
    await ops.call("approval_outcome", { id: absent }),
  ];
  assert.equal(theirs.isError, true);
  assert.equal(
    JSON.stringify(theirs).replaceAll(shared.id, "ID"),
    JSON.stringify(none).replaceAll(absent, "ID"),
  );
}

async function anApprovedCallRunsOnceAndIsHandedOver({ support, shared }) {
  const open = await api("GET", "/api/approvals?status=pending");
  const row = open.approvals.find((approval) => approval.id === shared.id);
  assert.equal(row?.tool, "tickets_comment");
  const decided = await api("POST", `/api/approvals/${shared.id}`, { approved: true });
  assert.equal(decided.status, "applied");
  const outcome = await support.call("approval_outcome", { id: shared.id });
  assert.match(textOf(outcome), /<tool_output trust="untrusted"/);
  const again = await support.call("tickets_comment", shared.args);
  assert.equal(again.structuredContent.id, shared.args.id);
  const ticket = await support.call("tickets_get", { id: shared.args.id });
  const written = JSON.stringify(ticket.structuredContent.comments).split(shared.body).length - 1;
  assert.equal(written, 1, "the comment was written once");
}

async function aDeclinedCallSaysSo({ support, shared }) {
  const args = { id: shared.tickets[0].id, reason: `Duplicate ${shared.body}` };
  const { id } = (await support.call("tickets_close", args)).structuredContent;
  const decided = await api("POST", `/api/approvals/${id}`, { approved: false, reason: "not yet" });
  assert.equal(decided.status, "declined");
  const again = await support.call("tickets_close", args);
  assert.match(JSON.stringify(again._meta?.[OUTCOME]), /declined/);
  const ticket = await support.call("tickets_get", { id: args.id });
  assert.notEqual(ticket.structuredContent.status, "closed");
}

function assertPending(result) {
  const { status, id, expiresAt } = result.structuredContent;
  assert.equal(status, "pending_approval");
  assert.match(id, /^ap_[a-z2-7]+$/);
  assert.ok(Date.parse(expiresAt) > Date.now(), "it expires in the future");
  assert.deepEqual(result._meta?.[OUTCOME], result.structuredContent);
}

async function failureOf(client, name, args) {
  let result;
  try {
    result = await client.call(name, args);
  } catch (error) {
    return client.failure(error);
  }
  assert.fail(`${name} gave a result: ${JSON.stringify(result)}`);
}

function textOf(result) {
  return result.content.filter((block) => block.type === "text").map((block) => block.text).join("\n");
}

// One call of the operator's API.
async function api(method, path, body) {
  const response = await fetch(env.url + path, {
    method,
    headers: { authorization: `Bearer ${env.token}`, "content-type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await response.text();
  assert.equal(response.status, 200, `${method} ${path}: ${response.status} ${text}`);
  return JSON.parse(text);
}
