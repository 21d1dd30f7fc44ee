"""Traces: what a traceparent says, fresh ids, and spans where OpenTelemetry is set up."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from opentelemetry import trace

from treadle.access.caller import Caller
from treadle.server import tracing
from treadle.server.tracing import TraceIds, parent_of

TRACE, SPAN = "ab" * 16, "cd" * 8


@pytest.mark.parametrize(
    "header",
    [
        None,
        b"",
        b"x",
        b"0" * 10**6,
        f"00-{TRACE}-{SPAN}".encode(),
        f"ff-{TRACE}-{SPAN}-01".encode(),
        f"00-{'0' * 32}-{SPAN}-01".encode(),
        f"00-{TRACE}-{'0' * 16}-01".encode(),
        f"00-{TRACE.upper()}-{SPAN}-01".encode(),
        f"00-{TRACE}-{SPAN}-01-x".encode(),
    ],
)
def test_what_is_no_parent(header: bytes | None) -> None:
    assert parent_of(header) is None


def test_a_parent() -> None:
    found = parent_of(f"00-{TRACE}-{SPAN}-01".encode())
    assert found == (bytes.fromhex(TRACE), bytes.fromhex(SPAN), 1)
    later = parent_of(f"01-{TRACE}-{SPAN}-00-more".encode())  # a later version may say more
    assert later is not None and later.flags == 0


def test_fresh_ids_are_drawn_for_many_at_once() -> None:
    drawn: list[int] = []

    def draw(size: int) -> bytes:
        drawn.append(size)
        return bytes(range(256)) * (size // 256)

    ids = TraceIds(draw)
    found = [ids.fresh() for _ in range(257)]
    assert all(len(one) == 16 for one in found) and found[0] == bytes(range(16))
    assert drawn == [4096, 4096]


class Provider(trace.TracerProvider):
    """A provider of traces that keeps what it is told."""

    def __init__(self) -> None:
        self.spans: list[dict[str, Any]] = []

    def get_tracer(self, *arguments: Any, **named: Any) -> Any:
        return self

    @contextmanager
    def start_as_current_span(self, name: str, *, context: Any, kind: Any) -> Iterator[Any]:
        span = Span(name)
        parent = trace.get_current_span(context).get_span_context() if context is not None else None
        self.spans.append({"span": span, "parent": parent, "kind": kind})
        yield span


class Span(trace.NonRecordingSpan):
    def __init__(self, name: str) -> None:
        super().__init__(trace.INVALID_SPAN_CONTEXT)
        self.name, self.attributes, self.status = name, dict[str, Any](), None

    def update_name(self, name: str) -> None:
        self.name = name

    def set_attribute(self, key: str, value: Any) -> None:
        self.attributes[key] = value

    def set_status(self, status: Any, description: str | None = None) -> None:
        self.status = status


class Asked:
    """What a span is told of."""

    scope = {"method": "POST"}
    route, status, caller = "/v1/commands/{name}", 503, Caller("printers")


def test_without_a_provider_there_is_no_tracer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: trace.ProxyTracerProvider())
    assert tracing.tracer() is None


def test_a_span_has_names_and_numbers_and_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    provider = Provider()
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    tracer = tracing.tracer()
    assert tracer is not None
    asked: Any = Asked()
    with tracer.span(asked, parent_of(f"00-{TRACE}-{SPAN}-01".encode())) as span:
        tracer.finish(span, asked)
    with tracer.span(asked, None):
        pass
    first, second = provider.spans
    assert f"{first['parent'].trace_id:032x}" == TRACE and f"{first['parent'].span_id:016x}" == SPAN
    assert second["parent"] is None and first["kind"] == trace.SpanKind.SERVER
    assert first["span"].name == "POST /v1/commands/{name}"
    assert first["span"].attributes == {
        "http.request.method": "POST",
        "http.route": "/v1/commands/{name}",
        "http.response.status_code": 503,
        "treadle.principal": "printers",
    }
    assert first["span"].status == trace.StatusCode.ERROR
