"""One connection: uvicorn's protocol with bounds on what a client may make it wait for.

A head (request line and headers) must come whole within `idle_seconds` and within 64 KiB; an answer that
the client does not take for as long ends the connection; beyond `max_connections` a connection is answered
with 503 and closed. Bodies are bounded where they are read.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from treadle import limits
from treadle.server import problems
from treadle.server.options import Options

OPTIONS: Final = "treadle_options"
"""The attribute of uvicorn's configuration that carries the options."""


class Protocol(HttpToolsProtocol):
    """A connection of a client.

    While a head or a body is incomplete, a timer looks whether anything came since it last looked. A request
    that comes whole, as nearly all do, costs no timer.
    """

    def __init__(self, config: Any, *arguments: Any, **named: Any) -> None:
        super().__init__(config, *arguments, **named)
        self._options: Options = getattr(config, OPTIONS)
        self._head_bytes = 0
        self._in_head = True
        self._progress = False
        self._read_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None

    # The connection.

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > self._options.max_connections:
            self._refuse(
                503, "over_capacity", "too many connections; try again in a moment", b"retry-after: 1\r\n"
            )
        else:
            self._look_later()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop(self._read_timer)
        self._stop(self._write_timer)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > limits.HTTP_HEAD_BYTES and not self._head_ends(data):
                self._refuse(431, "malformed", "the request's head is larger than 64 KiB")
                return
        self._progress = True
        super().data_received(data)
        if self._read_timer is None and self._incomplete:
            self._look_later()

    @property
    def _incomplete(self) -> bool:
        """Whether a request has begun to come and is not whole."""
        return not self._in_head or self._head_bytes > 0

    def _head_ends(self, data: bytes) -> bool:
        """Whether the head ends within its bound in the bytes that came; a body may have come along."""
        allowed = limits.HTTP_HEAD_BYTES - (self._head_bytes - len(data))
        return b"\r\n\r\n" in data[: max(0, allowed) + 4]

    # The parser's calls.

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        if len(self.headers) == limits.HTTP_HEADERS + 1:
            self._refuse(431, "malformed", f"more than {limits.HTTP_HEADERS} headers")

    def on_headers_complete(self) -> None:
        self._in_head = False
        if not self.transport.is_closing():
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if not self.transport.is_closing():
            super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_head = True
        self._head_bytes = 0
        if not self.transport.is_closing():
            super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, "malformed", "this is not HTTP/1.1 as everyone reads it")

    # Time.

    def _look_later(self) -> None:
        self._progress = False
        self._read_timer = self.loop.call_later(self._options.idle_seconds, self._look)

    def _look(self) -> None:
        """Send a client away that has begun a request and sent nothing since the last look."""
        self._read_timer = None
        if self.transport.is_closing():
            return
        if self._late():
            self._refuse(408, "deadline", "the request did not come in time; nothing was done")
        elif self.cycle is None and not self._incomplete:
            self.transport.close()  # connected, and never a byte
        elif self._incomplete:
            self._look_later()

    def _late(self) -> bool:
        """A head must be whole by the first look. A body may go on as long as it goes on, unless its request
        is answered already."""
        if self._in_head:
            return self._head_bytes > 0
        return self._answered or not (self._progress or self.flow.read_paused)

    @property
    def _answered(self) -> bool:
        """Whether the request that is being read has its whole answer."""
        cycle: Any = self.cycle  # None before the first request
        return cycle is not None and cycle.response_complete

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._write_timer is None:
            self._write_timer = self.loop.call_later(self._options.idle_seconds, self._unread)

    def _unread(self) -> None:
        """The client takes no answers: end the connection, and what is being answered on it."""
        self._disconnect()
        self.transport.abort()

    def _disconnect(self) -> None:
        """Tell the request at work, before the transport does, that nobody listens any more."""
        cycle: Any = self.cycle  # None before the first request
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True
            cycle.message_event.set()
            self.flow.resume_writing()

    def resume_writing(self) -> None:
        self._stop(self._write_timer)
        self._write_timer = None
        super().resume_writing()

    @staticmethod
    def _stop(timer: asyncio.TimerHandle | None) -> None:
        if timer is not None:
            timer.cancel()

    # What never becomes a request.

    def _refuse(self, status: int, code: str, detail: str, more: bytes = b"") -> None:
        """Answer with a problem document, without a request, and close."""
        if self.transport.is_closing():
            return
        body = problems.bare(status, code, detail)
        cycle: Any = self.cycle  # None before the first request
        if cycle is None or not cycle.response_started or (self._in_head and cycle.response_complete):
            self.transport.write(
                b"HTTP/1.1 %d %b\r\ncontent-type: application/problem+json\r\ncontent-length: %d\r\n%b"
                b"connection: close\r\n\r\n%b"
                % (status, HTTPStatus(status).phrase.encode(), len(body), more, body)
            )
        self._disconnect()
        self.transport.close()
