"""What stands before every route: who may speak to the server at all, and what happens to an error.

A browser makes requests for pages of other sites, and can be led to a server on its own machine by a name
of the attacker's. So a server on loopback answers to its own names only, and no server to a page of an
origin that it was not told of.
"""

from __future__ import annotations

from contextlib import nullcontext
from time import perf_counter
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from treadle import limits
from treadle.errors import Denied, Internal, Malformed, OverCapacity, TreadleError
from treadle.server import logs
from treadle.server.answers import CLOSE, Answer, Headers, problem_answer
from treadle.server.call import Call, Gone
from treadle.server.options import Options
from treadle.server.sending import write
from treadle.server.service import Service
from treadle.server.tracing import TraceIds, parent_of

LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
ONCE: Final = frozenset(
    {b"host", b"authorization", b"content-type", b"content-length", b"content-encoding", b"idempotency-key",
     b"origin", b"traceparent", b"treadle-instance"}
)  # fmt: skip
"""Headers that mean something here, of which two would be two meanings."""
NEVER_READ: Final = frozenset({"too_large", "deadline", "over_capacity", "unsupported_media_type"})
"""Errors after which the rest of a body is not worth reading: the connection is closed."""
ALLOWED_METHODS: Final = b"GET, POST, PUT, DELETE"
ALLOWED_HEADERS: Final = (
    b"authorization, content-type, idempotency-key, prefer, traceparent, treadle-instance, "
    b"mcp-protocol-version, mcp-method, mcp-name, if-match, if-none-match"
)
PREFLIGHT_SECONDS: Final = b"600"


class Gate:
    """The application's outermost part, but for the one that catches what nobody expects."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service
        self._hosts = Hosts(service.options)
        self._ids = TraceIds(service.engine.ids.token)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._request(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        else:
            await send({"type": "websocket.close", "code": 1003})

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        service = self._service
        parent = parent_of(next((value for name, value in scope["headers"] if name == b"traceparent"), None))
        trace = parent.trace if parent is not None else self._ids.fresh()
        call = scope["treadle.call"] = Call(service, scope, receive, send, trace)
        started = perf_counter()
        service.in_flight += 1
        tracer = service.tracer
        try:
            with tracer.span(call, parent) if tracer is not None else nullcontext() as span:
                await self._answered(call, receive)
                if tracer is not None:
                    tracer.finish(span, call)
        finally:
            service.in_flight -= 1
            call.release()
            seconds = perf_counter() - started
            service.metrics.request(call.route, scope["method"], call.status, seconds)
            logs.request(call, seconds)

    async def _answered(self, call: Call, receive: Receive) -> None:
        """Let a request through to its route; an error becomes a problem document."""
        try:
            if self._admit(call):
                await self._app(call.scope, receive, call.send)
            else:
                await write(call, _preflight())
        except Gone:
            call.status = call.status or 499  # what others call it: the client closed the request
        except TreadleError as error:
            if call.status:
                raise
            self._service.metrics.problem(error)
            await write(call, problem_answer(error, call.trace.hex(), _headers(call, error)))

    def _admit(self, call: Call) -> bool:
        """Whether a request goes to its route; false for a preflight, which is answered here."""
        given = call.scope["headers"]
        if len(call.headers) < len(given):
            names = [name for name, _ in given if name in ONCE]
            if len(set(names)) < len(names):
                raise Malformed("a header that may stand once stands twice")
        self._hosts.check_host(call.headers.get(b"host"))
        origin = call.headers.get(b"origin")
        if origin is not None:
            self._hosts.check_origin(origin, call.headers.get(b"host"))
            call.cross_origin = ((b"access-control-allow-origin", origin), (b"vary", b"origin"))
        if self._service.in_flight > limits.HTTP_REQUESTS:
            raise OverCapacity("the server answers as many requests as it may; try again in a moment")
        return (
            origin is None
            or call.scope["method"] != "OPTIONS"
            or b"access-control-request-method" not in call.headers
        )

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            else:
                await self._service.close()
                await send({"type": "lifespan.shutdown.complete"})
                return


def _headers(call: Call, error: TreadleError) -> Headers:
    allow = error.details.get("allow")
    found: Headers = ((b"allow", allow),) if allow else ()
    if call.basic and error.code == "unauthenticated":
        found += ((b"www-authenticate", b'Basic realm="treadle", charset="UTF-8"'),)
    return found + CLOSE if error.code in NEVER_READ else found


def _preflight() -> Answer:
    return Answer(
        204,
        b"",
        "text/plain",
        (
            (b"access-control-allow-methods", ALLOWED_METHODS),
            (b"access-control-allow-headers", ALLOWED_HEADERS),
            (b"access-control-max-age", PREFLIGHT_SECONDS),
        ),
    )


class Hosts:
    """Which names the server answers to, and which pages may call it."""

    def __init__(self, options: Options) -> None:
        names = {name.lower() for name in options.hosts}
        self._any = not options.loopback and not names
        self._names = LOOPBACK_NAMES | names | {options.host.lower(), f"[{options.host.lower()}]"}
        self._origins = {origin.lower().rstrip("/").encode() for origin in options.origins}
        self._good: set[bytes] = set()

    def check_host(self, header: bytes | None) -> None:
        """Refuse a Host that is not one of the server's names."""
        if header in self._good:
            return
        if header is None:
            raise Malformed("the request names no host; send a Host header")
        name = host_name(header)
        if not name or not (self._any or name in self._names):
            raise Denied("the server does not answer to this Host; server.hosts lists further names")
        if len(self._good) < 64:
            self._good.add(header)

    def check_origin(self, origin: bytes, host: bytes | None) -> None:
        """Refuse a page of another origin, unless the server was told of it."""
        wanted = origin.lower()
        _, separator, place = wanted.partition(b"://")
        if wanted in self._origins or (separator and host is not None and place == host.lower()):
            return
        raise Denied("pages of this origin may not call the server; server.origins lists those that may")


def host_name(header: bytes) -> str:
    """The name in a Host header, without the port, in lower case; '' where it is none."""
    text = header.decode("latin-1").lower()
    name, bracket, rest = text.partition("]")
    if bracket:
        name += bracket
    else:
        name, colon, rest = text.partition(":")
        rest = colon + rest
    if rest and not (rest[0] == ":" and (rest[1:].isdecimal() or not rest[1:])):
        return ""
    return name if name.isascii() and not set(name) & set(" /@?#\\,") else ""


def internal(request: Request, error: Exception) -> Response:
    """The answer to an error of ours; its place goes to the log, its message nowhere."""
    logs.LOG.error("internal error", exc_info=error)
    call: Call | None = request.scope.get("treadle.call")
    trace = call.trace.hex() if call is not None else None
    answer = problem_answer(
        Internal("an unexpected error; please report it, with the trace id and the server's log"),
        trace,
        CLOSE,
    )
    return Response(answer.body, 500, {"connection": "close"}, answer.media)
