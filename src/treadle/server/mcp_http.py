"""The protocol for one HTTP request: the official SDK reads it and answers, on behalf of its caller."""

from __future__ import annotations

from typing import Any

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import Message

from treadle import queries
from treadle.engine.request import Request
from treadle.engine.state import State
from treadle.server.answers import COMMON
from treadle.server.call import LARGE, Call, Gone
from treadle.server.mcp_protocol import protocol
from treadle.server.mcp_tools import Result, Tool, allowed_tools, chosen, result


async def answer(call: Call, body: bytes) -> None:
    """Let the SDK answer a message; without a session, and with one JSON document."""
    manager = StreamableHTTPSessionManager(
        protocol(_Caller(call)), json_response=True, stateless=True, max_request_body_size=len(body) + 1
    )
    async with manager.run():
        wire = _Wire(call, body)
        await manager.handle_request(call.scope, wire.receive, wire.send)


class _Wire:
    """The request's body, which was read already; and its answer, with the headers that every one has."""

    def __init__(self, call: Call, body: bytes) -> None:
        self._call = call
        self._body: bytes | None = body

    async def receive(self) -> Message:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        try:
            await self._call.receive()
        except Gone:
            pass
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._call.status = message["status"]
            extra = [(b"trace-id", self._call.trace.hex().encode()), *COMMON, *self._call.cross_origin]
            names = {name for name, _ in extra}
            kept = [(name, value) for name, value in message.get("headers", ()) if name.lower() not in names]
            message = {**message, "headers": [*kept, *extra]}
        await self._call.send(message)


class _Caller:
    """The tools of the request's caller."""

    def __init__(self, call: Call) -> None:
        self._call = call

    async def tools(self) -> list[Tool]:
        return await self._call.read(self._tools)

    def _tools(self, state: State) -> list[Tool]:
        caller = self._call.caller
        key = ("mcp", state.generation, caller.role)
        return self._call.service.keep(key, lambda: allowed_tools(state, caller))

    async def call(self, name: str, arguments: dict[str, Any]) -> Result:
        call = self._call
        tool = await call.read(lambda state: chosen(state, call.caller, self._tools(state), name))
        if tool.kind == "query":
            asked = queries.Call(
                tool.target, arguments, call.caller, timeout=call.service.options.request_seconds
            )
            return await call.service.query_thread(
                lambda: result(queries.run(call.service.engine, asked).to_json())
            )
        request = Request(tool.target, arguments, call.caller, request_id=call.trace)
        return result((await call.service.run(request, large=call.held >= LARGE)).to_json())
