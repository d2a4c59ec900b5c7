"""What the official Python client must see; `client.py auto` or `client.py legacy`."""

import asyncio
import contextlib
import json
import os
import re
import sys
import traceback
import urllib.request
import uuid
from datetime import datetime, timezone

from mcp import Client, MCPError
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

URL = os.environ["TOOLGATE_URL"]
TOKEN = os.environ["TOOLGATE_TOKEN"]
SUPPORT_KEY = os.environ["TOOLGATE_AGENT_KEY"]
OPS_KEY = os.environ["TOOLGATE_OPS_KEY"]
MODE = sys.argv[1]

OUTCOME = "toolgate/outcome"
FENCE = re.compile(
    r'(?:toolgate: [^\n]*\n)*<tool_output trust="untrusted" id="([0-9a-f]{32})">\n'
    r'.*\n</tool_output id="\1">\s*',
    re.DOTALL,
)
SUPPORT_VIEW = [
    "approval_outcome",
    "files_list",
    "files_read",
    "tickets_close",
    "tickets_comment",
    "tickets_get",
    "tickets_list",
]
SECRETS = ["AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI"]


@contextlib.asynccontextmanager
async def connect(key):
    headers = {"Authorization": f"Bearer {key}"}
    async with create_mcp_http_client(headers=headers) as http:
        transport = streamable_http_client(f"{URL}/mcp", http_client=http)
        async with Client(transport, mode=MODE) as client:
            yield client


class Run:
    """Two connected agents and what one case leaves for the next."""

    def __init__(self, support, ops):
        self.support = support
        self.ops = ops
        self.body = f"Looked into it, reference {uuid.uuid4()}."
        self.tickets = []
        self.args = {}
        self.id = ""


async def a_wrong_key_is_refused(_run):
    try:
        async with connect("tg_0000000000000000000000000000000000000000") as client:
            await client.list_tools()
    except BaseException as error:
        assert isinstance(error, (Exception, BaseExceptionGroup)), error
        return
    raise AssertionError("a wrong key was accepted")


# spec: MT-03 MT-04
async def the_era_is_the_one_asked_for(run):
    modern = run.support.protocol_version >= "2026-07-28"
    assert modern == (MODE == "auto"), run.support.protocol_version
    assert run.support.instructions, "the server explains itself"


# spec: MT-01
async def each_agent_sees_only_its_view(run):
    seen = sorted(tool.name for tool in (await run.support.list_tools()).tools)
    assert seen == SUPPORT_VIEW, seen
    other = [tool.name for tool in (await run.ops.list_tools()).tools]
    assert "flags_set" in other and "tickets_comment" not in other, other


async def a_call_returns_fenced_text_and_structure(run):
    result = await run.support.call_tool("tickets_list", {})
    assert not result.is_error, result
    assert FENCE.fullmatch(text_of(result)), text_of(result)
    assert result.meta and "toolgate/trust" in result.meta, result.meta
    run.tickets = result.structured_content["tickets"]
    assert len(run.tickets) >= 3, run.tickets
    first = run.tickets[0]["id"]
    one = await run.support.call_tool("tickets_get", {"id": first})
    assert FENCE.fullmatch(text_of(one)), text_of(one)
    assert one.structured_content["id"] == first
    assert isinstance(one.structured_content["body"], str)


async def seeded_secrets_never_arrive(run):
    for ticket in run.tickets:
        result = await run.support.call_tool("tickets_get", {"id": ticket["id"]})
        text = result.model_dump_json()
        assert not any(secret in text for secret in SECRETS), ticket["id"]


async def a_refusal_says_how_to_recover(run):
    for path in ["internal/notes.md", "docs/../internal/notes.md", "docs/%2e%2e/x"]:
        result = await run.support.call_tool("files_read", {"path": path})
        assert result.is_error, path
        assert result.structured_content is None, result
        outcome = (result.meta or {})[OUTCOME]
        assert isinstance(outcome["code"], str), outcome
        assert outcome["retry"] in ("never", "after", "fixed"), outcome
        assert text_of(result), "a model reads the reason in the text"


# spec: MT-02
async def a_hidden_tool_looks_like_no_tool(run):
    hidden = await failure_of(run.support, "flags_set")
    absent = await failure_of(run.support, "flags_zzz")
    assert hidden.code == -32602, hidden
    assert hidden.message.replace("flags_set", "NAME") == absent.message.replace("flags_zzz", "NAME")
    assert (hidden.code, hidden.data) == (absent.code, absent.data)


# spec: DE-04
async def a_pending_call_is_a_valid_result(run):
    run.args = {"id": run.tickets[0]["id"], "body": run.body}
    result = await run.support.call_tool("tickets_comment", run.args)
    assert not result.is_error, result
    pending = result.structured_content
    assert pending["status"] == "pending_approval", pending
    assert re.fullmatch(r"ap_[a-z2-7]+", pending["id"]), pending
    assert datetime.fromisoformat(pending["expiresAt"]) > datetime.now(timezone.utc), pending
    assert result.meta[OUTCOME] == pending, result.meta
    run.id = pending["id"]
    again = await run.support.call_tool("tickets_comment", run.args)
    assert again.structured_content["id"] == run.id, "a repeated call asks only once"
    asked = await run.support.call_tool("approval_outcome", {"id": run.id})
    assert asked.structured_content["status"] == "pending_approval", asked


async def another_agent_cannot_read_the_outcome(run):
    absent = "ap_" + "a" * (len(run.id) - 3)
    theirs = await run.ops.call_tool("approval_outcome", {"id": run.id})
    none = await run.ops.call_tool("approval_outcome", {"id": absent})
    assert theirs.is_error, theirs
    assert theirs.model_dump_json().replace(run.id, "ID") == none.model_dump_json().replace(absent, "ID")


async def an_approved_call_runs_once_and_is_handed_over(run):
    rows = (await api("GET", "/api/approvals?status=pending"))["approvals"]
    assert [row["tool"] for row in rows if row["id"] == run.id] == ["tickets_comment"], rows
    decided = await api("POST", f"/api/approvals/{run.id}", {"approved": True})
    assert decided["status"] == "applied", decided
    outcome = await run.support.call_tool("approval_outcome", {"id": run.id})
    assert '<tool_output trust="untrusted"' in text_of(outcome), outcome
    again = await run.support.call_tool("tickets_comment", run.args)
    assert again.structured_content["id"] == run.args["id"], again
    ticket = await run.support.call_tool("tickets_get", {"id": run.args["id"]})
    written = json.dumps(ticket.structured_content["comments"]).count(run.body)
    assert written == 1, f"the comment was written {written} times"


async def a_declined_call_says_so(run):
    args = {"id": run.tickets[0]["id"], "reason": f"Duplicate {run.body}"}
    result = await run.support.call_tool("tickets_close", args)
    decision = {"approved": False, "reason": "not yet"}
    decided = await api("POST", f"/api/approvals/{result.structured_content['id']}", decision)
    assert decided["status"] == "declined", decided
    again = await run.support.call_tool("tickets_close", args)
    assert "declined" in json.dumps((again.meta or {})[OUTCOME]), again
    ticket = await run.support.call_tool("tickets_get", {"id": args["id"]})
    assert ticket.structured_content["status"] != "closed", ticket


CASES = [
    a_wrong_key_is_refused,
    the_era_is_the_one_asked_for,
    each_agent_sees_only_its_view,
    a_call_returns_fenced_text_and_structure,
    seeded_secrets_never_arrive,
    a_refusal_says_how_to_recover,
    a_hidden_tool_looks_like_no_tool,
    a_pending_call_is_a_valid_result,
    another_agent_cannot_read_the_outcome,
    an_approved_call_runs_once_and_is_handed_over,
    a_declined_call_says_so,
]


async def failure_of(client, name):
    try:
        result = await client.call_tool(name, {"name": "beta_banner", "value": True})
    except MCPError as error:
        return error
    raise AssertionError(f"{name} gave a result: {result}")


def text_of(result):
    return "\n".join(block.text for block in result.content if block.type == "text")


async def api(method, path, body=None):
    """One call of the operator's API."""
    request = urllib.request.Request(
        URL + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"},
    )

    def send():
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=30) as response:
            return json.load(response)

    return await asyncio.to_thread(send)


async def main():
    failed = 0
    async with connect(SUPPORT_KEY) as support, connect(OPS_KEY) as ops:
        run = Run(support, ops)
        for case in CASES:
            try:
                await case(run)
                print(f"ok {case.__name__}")
            except Exception:
                failed += 1
                print(f"not ok {case.__name__}")
                traceback.print_exc(file=sys.stdout)
    print(f"clients: {len(CASES) - failed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(asyncio.run(main()))
