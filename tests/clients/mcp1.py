"""The official Python client, version 1, which speaks the 2025 revisions; `mcp1.py legacy`."""

import contextlib

import httpx
from judge import MODE, URL, judge, result_of
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

assert MODE == "legacy", "this client knows one mode"


class One:
    def __init__(self, session, hello):
        self.session = session
        self.version = str(hello.protocolVersion)
        self.instructions = hello.instructions

    async def list(self):
        return [tool.name for tool in (await self.session.list_tools()).tools]

    async def call(self, name, args):
        return result_of(await self.session.call_tool(name, args))

    def failure(self, error):
        return (error.error.code, error.error.message, error.error.data)


# spec: MT-03
@contextlib.asynccontextmanager
async def connect(key):
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx.AsyncClient(headers=headers, trust_env=False) as http:
        async with streamable_http_client(f"{URL}/mcp", http_client=http) as (read, write, _):
            async with ClientSession(read, write) as session:
                yield One(session, await session.initialize())


judge(connect)
