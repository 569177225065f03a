"""The official Python SDK as a client of either era: client.py ERA TOKEN URL…; like visit.mjs, in its own words."""
import asyncio
import json
import sys
import traceback

import httpx2
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult


def text_of(result):
    return " ".join(getattr(part, "text", "") for part in result.content)


async def code_of(awaited):
    try:
        await awaited
    except MCPError as error:
        return error.code
    return None


async def visit(mode, token, url, out):
    async def answer(_context, params):
        out["asked"].append(params.message)
        return ElicitResult(action="accept", content={"colour": "red"})

    async def counted(progress, _total, _message):
        out["progress"].append(int(progress))

    async with httpx2.AsyncClient(headers={"Authorization": "Bearer " + token}, timeout=60) as web:
        async with Client(streamable_http_client(url, http_client=web), mode=mode, elicitation_callback=answer) as client:
            out["version"] = client.protocol_version
            out["tools"] = [tool.name for tool in (await client.list_tools()).tools]
            total = await client.call_tool("add", {"a": 2, "b": 3})
            out["sum"], out["ours"] = total.structured_content, "dev.sallyport/call" in (total.meta or {})
            failed = await client.call_tool("fail", {})
            out["failed"] = [failed.is_error, text_of(failed)]
            out["refused"] = (await client.call_tool("add", {"a": "two", "b": 3})).is_error
            out["unknown"] = await code_of(client.call_tool("nothing", {}))
            await client.call_tool("count", {"to": 3}, progress_callback=counted)
            try:
                painted = await client.call_tool("paint", {"what": "door"})
                out["painted"] = [painted.is_error or False, text_of(painted)]
            except MCPError as error:
                out["painted"] = [True, str(error)]
            out["read"] = (await client.read_resource("note://one")).contents[0].text
            out["missing"] = await code_of(client.read_resource("note://two"))


era, token, *urls = sys.argv[1:]
for url in urls:
    found = {"asked": [], "progress": []}
    try:
        asyncio.run(visit("legacy" if era == "legacy" else "auto", token, url, found))
    except BaseException:
        found["broke"] = traceback.format_exc()
    print(json.dumps(found), flush=True)
