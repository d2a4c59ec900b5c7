"""The client of `fastmcp`; `fast.py auto` or `fast.py legacy`."""

import contextlib

from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport
from judge import MODE, URL, judge, result_of


class Fast:
    def __init__(self, client):
        self.client = client
        self.version = client.protocol_version
        self.instructions = client.instructions

    async def list(self):
        return [tool.name for tool in await self.client.list_tools()]

    async def call(self, name, args):
        return result_of(await self.client.call_tool_mcp(name, args))

    def failure(self, error):
        return (error.code, error.message, error.data)


# spec: MT-03 MT-04
@contextlib.asynccontextmanager
async def connect(key):
    headers = {"Authorization": f"Bearer {key}"}
    async with Client(StreamableHttpTransport(f"{URL}/mcp", headers=headers), mode=MODE) as client:
        yield Fast(client)


judge(connect)
