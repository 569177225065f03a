"""Drives the official Python SDK as client.mjs drives the TypeScript one: routes come in as lines, answers go out so."""
import asyncio
import contextlib
import json
import sys
import traceback

from mcp import ClientSession, McpError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client


def plain(model):
    return model.model_dump(mode="json", by_alias=True, exclude_unset=True)


def transport_of(route):
    if "url" not in route:
        return stdio_client(StdioServerParameters(command=route["command"], args=route["args"], env=route["env"]))
    headers = {"Authorization": "Bearer " + route["token"]} if "token" in route else {}
    return streamablehttp_client(route["url"], headers=headers)


async def call(session, prefix, one):
    notes = []

    async def noted(progress, total, _message):
        notes.append([progress, total])

    try:
        result = await session.call_tool(prefix + one["tool"], one["arguments"],
                                         progress_callback=noted if one.get("progress") else None)
        return {"result": plain(result), "progress": notes}
    except McpError as error:
        return {"error": plain(error.error)}


async def run(route, done):
    async with contextlib.AsyncExitStack() as stack:
        streams = await stack.enter_async_context(transport_of(route))
        session = await stack.enter_async_context(ClientSession(streams[0], streams[1]))
        await session.initialize()
        tools, cursor = [], None
        while True:
            page = await session.list_tools(cursor=cursor)
            tools += [plain(tool) for tool in page.tools]
            cursor = page.nextCursor
            if cursor is None:
                break
        await session.send_ping()
        done.update(tools=tools, answers=[await call(session, route["prefix"], one) for one in route["calls"]])


for line in sys.stdin:
    answer = {}
    try:
        asyncio.run(run(json.loads(line), answer))
    except BaseException:
        # The SDK raises if a message arrives while it closes; by then everything was answered.
        if not answer:
            answer = {"broke": traceback.format_exc()}
    print(json.dumps(answer), flush=True)
