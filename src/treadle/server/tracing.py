"""Traces: the trace id of a request (W3C Trace Context), and a span where OpenTelemetry is set up."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Final, NamedTuple, Protocol

from treadle.access.caller import Caller

_PARENT: Final = re.compile(rb"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
LONGEST: Final = 512


class Parent(NamedTuple):
    """The span that a request belongs to: trace id (16 bytes), span id (8 bytes), flags."""

    trace: bytes
    span: bytes
    flags: int


def parent_of(header: bytes | None) -> Parent | None:
    """What a traceparent header says; None where there is none or it cannot be read."""
    if header is None or len(header) > LONGEST:
        return None
    found = _PARENT.fullmatch(header)
    if found is None or found[1] == b"ff" or (found[1] == b"00" and found[5]):
        return None
    trace, span = (bytes.fromhex(found[place].decode()) for place in (2, 3))
    return Parent(trace, span, int(found[4], 16)) if any(trace) and any(span) else None


class TraceIds:
    """Fresh trace ids. Random bytes are drawn for many at once: each draw is a call of the system's."""

    def __init__(self, draw: Callable[[int], bytes]) -> None:
        self._draw = draw
        self._left = b""
        self._place = 0

    def fresh(self) -> bytes:
        """16 random bytes."""
        if self._place == len(self._left):
            self._left, self._place = self._draw(4096), 0
        self._place += 16
        return self._left[self._place - 16 : self._place]


class Traced(Protocol):
    """What a span is told of a request: see `treadle.server.call.Call`."""

    scope: Any
    route: str
    status: int
    caller: Caller


class Tracer(Protocol):
    """Makes a span for each request."""

    def span(self, call: Traced, parent: Parent | None) -> AbstractContextManager[Any]:
        """A span around a request; `finish` closes what is said of it."""

    def finish(self, span: Any, call: Traced) -> None:
        """Say what came of the request."""


class _OpenTelemetry:
    """Spans by OpenTelemetry's API. They hold names and numbers, never a value of a request."""

    def __init__(self, trace: Any) -> None:
        self._trace = trace
        self._tracer = trace.get_tracer("treadle.server")

    def span(self, call: Traced, parent: Parent | None) -> AbstractContextManager[Any]:
        context = None
        if parent is not None:
            remote = self._trace.SpanContext(
                int.from_bytes(parent.trace, "big"),
                int.from_bytes(parent.span, "big"),
                is_remote=True,
                trace_flags=self._trace.TraceFlags(parent.flags),
            )
            context = self._trace.set_span_in_context(self._trace.NonRecordingSpan(remote))
        span: AbstractContextManager[Any] = self._tracer.start_as_current_span(
            call.scope["method"], context=context, kind=self._trace.SpanKind.SERVER
        )
        return span

    def finish(self, span: Any, call: Traced) -> None:
        span.update_name(f"{call.scope['method']} {call.route}".strip())
        span.set_attribute("http.request.method", call.scope["method"])
        span.set_attribute("http.route", call.route)
        span.set_attribute("http.response.status_code", call.status)
        span.set_attribute("treadle.principal", call.caller.principal)
        if call.status >= 500:
            span.set_status(self._trace.StatusCode.ERROR)


def tracer() -> Tracer | None:
    """The tracer, where the extra `otel` is installed and the process has set up a provider of traces."""
    try:
        from opentelemetry import trace
    except ImportError:
        return None
    provider = trace.get_tracer_provider()
    if isinstance(provider, trace.ProxyTracerProvider | trace.NoOpTracerProvider):
        return None
    return _OpenTelemetry(trace)
