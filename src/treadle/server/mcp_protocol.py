"""The protocol: a server of the official SDK that lists tools and calls them, for one caller.

Errors of a call are results that the caller can read and correct: problem documents with code and recovery.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

import msgspec
from mcp import types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from treadle.errors import InvalidInput, TreadleError
from treadle.server import problems
from treadle.server.mcp_tools import Result, Tool
from treadle.version import __version__

PAGE: Final = 200
"""Tools in one answer to `tools/list`."""

INSTRUCTIONS: Final = (
    "Each tool is a command or a named query of one workflow contract. A command answers one of its declared "
    "outcomes, failures too; it is recorded, and nothing else changes data. An error says in `recovery` what "
    "to do: after `outcome_unknown`, call again with the same idempotency key."
)


class Backend(Protocol):
    """The tools of one caller, and how they are called."""

    async def tools(self) -> list[Tool]:
        """What the caller may use now."""

    async def call(self, name: str, arguments: dict[str, Any]) -> Result:
        """Call a tool; raises the error of the command or query."""


def protocol(backend: Backend) -> Server[Any]:
    """A server that offers a caller's tools."""

    async def list_tools(context: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        try:
            tools = await backend.tools()
            start = _place(params.cursor if params is not None else None, len(tools))
        except TreadleError as error:
            raise MCPError(types.INVALID_PARAMS, error.message, problems.problem(error)) from error
        more = str(start + PAGE) if start + PAGE < len(tools) else None
        return types.ListToolsResult(
            tools=[_tool(tool) for tool in tools[start : start + PAGE]], next_cursor=more
        )

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            answer = await backend.call(params.name, params.arguments or {})
        except TreadleError as error:
            problem = problems.problem(error)
            text = msgspec.json.encode(problem).decode()
            return types.CallToolResult(
                content=[types.TextContent(type="text", text=text)], structured_content=problem, is_error=True
            )
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=answer.text)], structured_content=answer.value
        )

    return Server(
        "treadle",
        version=__version__,
        title="Treadle",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _place(cursor: str | None, count: int) -> int:
    """Where a page of tools begins; raises `InvalidInput` for a cursor that is none."""
    if cursor is None:
        return 0
    if not cursor.isascii() or not cursor.isdecimal() or len(cursor) > 9 or int(cursor) > count:
        raise InvalidInput("list the tools anew; this cursor is none of theirs", path="cursor")
    return int(cursor)


def _tool(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.target,
        description=tool.description,
        input_schema=tool.input,
        output_schema=tool.output,
        annotations=types.ToolAnnotations(
            title=tool.target,
            read_only_hint=tool.read_only,
            destructive_hint=tool.destructive,
            idempotent_hint=tool.idempotent,
            open_world_hint=False,
        ),
    )
