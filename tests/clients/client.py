"""The official Python client, version 2; `client.py auto` or `client.py legacy`."""

import contextlib

from judge import MODE, URL, judge, result_of
from mcp import Client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client


class Two:
    def __init__(self, client):
        self.client = client
        self.version = client.protocol_version
        self.instructions = client.instructions

    async def list(self):
        return [tool.name for tool in (await self.client.list_tools()).tools]

    async def call(self, name, args):
        return result_of(await self.client.call_tool(name, args))

    def failure(self, error):
        return (error.code, error.message, error.data)


# spec: MT-03 MT-04
@contextlib.asynccontextmanager
async def connect(key):
    headers = {"Authorization": f"Bearer {key}"}
    async with create_mcp_http_client(headers=headers) as http:
        transport = streamable_http_client(f"{URL}/mcp", http_client=http)
        async with Client(transport, mode=MODE) as client:
            yield Two(client)


judge(connect)
