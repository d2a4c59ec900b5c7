"""What every Python client must see; the client itself is handed in.

A client has `list()`, `call(name, args)`, `failure(error)`, `version` and `instructions` over an agent's
key. A call gives a `Result`, and what `failure` gives must not depend on the client's own words.
"""

import asyncio
import json
import os
import re
import sys
import traceback
import urllib.request
import uuid
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

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


@dataclass
class Result:
    """A tool's result, whatever the client calls its parts."""

    is_error: bool
    texts: list[str]
    structured: Any
    meta: dict | None
    whole: str

    @property
    def text(self):
        return "\n".join(self.texts)


def result_of(model):
    """The result of a client that gives models of pydantic."""
    wire = model.model_dump(mode="json", by_alias=True, exclude_none=True)
    return Result(
        is_error=wire.get("isError", False),
        texts=[block["text"] for block in wire["content"] if block["type"] == "text"],
        structured=wire.get("structuredContent"),
        meta=wire.get("_meta"),
        whole=json.dumps(wire, ensure_ascii=False),
    )


class Run:
    """Two connected agents and what one case leaves for the next."""

    def __init__(self, connect, support, ops):
        self.connect = connect
        self.support = support
        self.ops = ops
        self.body = f"Looked into it, reference {uuid.uuid4()}."
        self.tickets = []
        self.args = {}
        self.id = ""


async def a_wrong_key_is_refused(run):
    try:
        async with run.connect("tg_0000000000000000000000000000000000000000") as client:
            await client.list()
    except BaseException as error:
        assert isinstance(error, (Exception, BaseExceptionGroup)), error
        return
    raise AssertionError("a wrong key was accepted")


# spec: MT-03 MT-04
async def the_era_is_the_one_asked_for(run):
    assert MODE in ("auto", "legacy"), MODE
    modern = run.support.version >= "2026-07-28"
    assert modern == (MODE == "auto"), run.support.version
    assert run.support.instructions, "the server explains itself"


# spec: MT-01
async def each_agent_sees_only_its_view(run):
    seen = sorted(await run.support.list())
    assert seen == SUPPORT_VIEW, seen
    other = await run.ops.list()
    assert "flags_set" in other and "tickets_comment" not in other, other


async def a_call_returns_fenced_text_and_structure(run):
    result = await run.support.call("tickets_list", {})
    assert not result.is_error, result
    assert FENCE.fullmatch(result.text), result.text
    assert result.meta and "toolgate/trust" in result.meta, result.meta
    run.tickets = result.structured["tickets"]
    assert len(run.tickets) >= 3, run.tickets
    first = run.tickets[0]["id"]
    one = await run.support.call("tickets_get", {"id": first})
    assert FENCE.fullmatch(one.text), one.text
    assert one.structured["id"] == first
    assert isinstance(one.structured["body"], str)


async def seeded_secrets_never_arrive(run):
    for ticket in run.tickets:
        result = await run.support.call("tickets_get", {"id": ticket["id"]})
        text = result.whole
        assert not any(secret in text for secret in SECRETS), ticket["id"]


async def a_refusal_says_how_to_recover(run):
    for path in ["internal/notes.md", "docs/../internal/notes.md", "docs/%2e%2e/x"]:
        result = await run.support.call("files_read", {"path": path})
        assert result.is_error, path
        assert result.structured is None, result
        outcome = (result.meta or {})[OUTCOME]
        assert isinstance(outcome["code"], str), outcome
        assert outcome["retry"] in ("never", "after", "fixed"), outcome
        assert result.text, "a model reads the reason in the text"


# spec: MT-02
async def a_hidden_tool_looks_like_no_tool(run):
    hidden = await failure_of(run.support, "flags_set")
    absent = await failure_of(run.support, "flags_zzz")
    assert hidden[0] == -32602, hidden
    assert str(hidden).replace("flags_set", "NAME") == str(absent).replace("flags_zzz", "NAME")


# spec: DE-04
async def a_pending_call_is_a_valid_result(run):
    run.args = {"id": run.tickets[0]["id"], "body": run.body}
    result = await run.support.call("tickets_comment", run.args)
    assert not result.is_error, result
    pending = result.structured
    assert pending["status"] == "pending_approval", pending
    assert re.fullmatch(r"ap_[a-z2-7]+", pending["id"]), pending
    assert datetime.fromisoformat(pending["expiresAt"]) > datetime.now(timezone.utc), pending
    assert result.meta[OUTCOME] == pending, result.meta
    run.id = pending["id"]
    again = await run.support.call("tickets_comment", run.args)
    assert again.structured["id"] == run.id, "a repeated call asks only once"
    asked = await run.support.call("approval_outcome", {"id": run.id})
    assert asked.structured["status"] == "pending_approval", asked


async def another_agent_cannot_read_the_outcome(run):
    absent = "ap_" + "a" * (len(run.id) - 3)
    theirs = await run.ops.call("approval_outcome", {"id": run.id})
    none = await run.ops.call("approval_outcome", {"id": absent})
    assert theirs.is_error, theirs
    assert theirs.whole.replace(run.id, "ID") == none.whole.replace(absent, "ID")


async def an_approved_call_runs_once_and_is_handed_over(run):
    rows = (await api("GET", "/api/approvals?status=pending"))["approvals"]
    assert [row["tool"] for row in rows if row["id"] == run.id] == ["tickets_comment"], rows
    decided = await api("POST", f"/api/approvals/{run.id}", {"approved": True})
    assert decided["status"] == "applied", decided
    outcome = await run.support.call("approval_outcome", {"id": run.id})
    assert '<tool_output trust="untrusted"' in outcome.text, outcome
    again = await run.support.call("tickets_comment", run.args)
    assert again.structured["id"] == run.args["id"], again
    ticket = await run.support.call("tickets_get", {"id": run.args["id"]})
    written = json.dumps(ticket.structured["comments"]).count(run.body)
    assert written == 1, f"the comment was written {written} times"


async def a_declined_call_says_so(run):
    args = {"id": run.tickets[0]["id"], "reason": f"Duplicate {run.body}"}
    result = await run.support.call("tickets_close", args)
    decision = {"approved": False, "reason": "not yet"}
    decided = await api("POST", f"/api/approvals/{result.structured['id']}", decision)
    assert decided["status"] == "declined", decided
    again = await run.support.call("tickets_close", args)
    assert "declined" in json.dumps((again.meta or {})[OUTCOME]), again
    ticket = await run.support.call("tickets_get", {"id": args["id"]})
    assert ticket.structured["status"] != "closed", ticket


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
        result = await client.call(name, {"name": "beta_banner", "value": True})
    except Exception as error:
        return client.failure(error)
    raise AssertionError(f"{name} gave a result: {result}")


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


async def run_all(connect):
    failed = 0
    async with connect(SUPPORT_KEY) as support, connect(OPS_KEY) as ops:
        run = Run(connect, support, ops)
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


def judge(connect):
    """Runs the cases in order and ends the program; `connect(key)` makes a client."""
    sys.exit(asyncio.run(run_all(connect)))
