"""The official Python SDK as a server over stdio; it serves whichever era it is spoken to in."""
from typing import Annotated

from mcp.server.mcpserver import Context, Elicit, MCPServer, Resolve
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel

server = MCPServer("python")


class Sum(BaseModel):
    sum: float


class Colour(BaseModel):
    colour: str


def which(what: str) -> Elicit[Colour]:
    return Elicit("Which colour for %s?" % what, Colour)


@server.tool()
def add(a: float, b: float) -> Sum:
    return Sum(sum=a + b)


@server.tool()
def fail() -> str:
    raise ToolError("broken on purpose")


@server.tool()
async def count(to: int, context: Context) -> str:
    for step in range(1, to + 1):
        await context.report_progress(step, to)
    return "counted"


@server.tool()
def paint(what: str, chosen: Annotated[Colour, Resolve(which)]) -> str:
    return "%s is %s" % (what, chosen.colour)


@server.resource("note://one")
def note() -> str:
    return "hello"


server.run("stdio")
