"""The protocol on standard input and output, for one principal of a database in this process."""

from __future__ import annotations

from typing import Any

import anyio
from mcp.server.stdio import stdio_server

from treadle.database import Acting
from treadle.engine.state import State
from treadle.server.mcp_protocol import protocol
from treadle.server.mcp_tools import Result, Tool, allowed_tools, chosen, result


def serve(acting: Acting) -> None:
    """Answer messages until the input ends."""
    anyio.run(_serve, acting)


async def _serve(acting: Acting) -> None:
    server = protocol(_Embedded(acting))
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


class _Embedded:
    """The tools of a principal; what blocks runs on a thread."""

    def __init__(self, acting: Acting) -> None:
        self._acting = acting
        self._kept: tuple[State | None, list[Tool]] = (None, [])

    async def tools(self) -> list[Tool]:
        return await anyio.to_thread.run_sync(self._tools)

    def _tools(self) -> list[Tool]:
        state = self._acting._database._engine.refresh()
        kept, tools = self._kept
        if kept is not state:
            tools = allowed_tools(state, self._acting.caller)
            self._kept = (state, tools)
        return tools

    async def call(self, name: str, arguments: dict[str, Any]) -> Result:
        return await anyio.to_thread.run_sync(self._call, name, arguments)

    def _call(self, name: str, arguments: dict[str, Any]) -> Result:
        state = self._acting._database._engine.refresh()
        tool = chosen(state, self._acting.caller, self._tools(), name)
        if tool.kind == "query":
            return result(self._acting.query(tool.target, arguments).to_json())
        return result(self._acting.run(tool.target, arguments).to_json())
