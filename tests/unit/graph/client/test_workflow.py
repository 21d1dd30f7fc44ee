"""The workflow client over a transport that loses requests and answers, in process and as HTTP."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import httpx2
import pytest

from tests.support.client_suite import WorkflowClientSuite
from tests.support.flaky import GuardedServer
from tests.support.guarded import IndexServer
from treadle.errors import Busy, ConfigError, Denied, Malformed, OverCapacity, Refused, SparqlError, TooLarge
from treadle.graph.client import Applied, NoAnswer, Pending, Transport, Unreachable, WorkflowClient
from treadle.graph.client.http import HttpTransport
from treadle.graph.terms import Quad


class TestInProcess(WorkflowClientSuite):
    """Straight into the server."""

    def reach(self, server: GuardedServer) -> Transport:
        return server


class TestOverTheIndex(WorkflowClientSuite):
    """Straight into the real index by the real update path."""

    def serve(self, quads: Iterable[Quad] = ()) -> GuardedServer:
        return IndexServer(quads)

    def reach(self, server: GuardedServer) -> Transport:
        return server


class TestOverHttp(WorkflowClientSuite):
    """Through the HTTP transport, with httpx2's mock in place of the network."""

    def reach(self, server: GuardedServer) -> Transport:
        return over_http(lambda request: answer(server, request))


def over_http(handler: Any) -> HttpTransport:
    client = httpx2.Client(transport=httpx2.MockTransport(handler), base_url="http://server/base/")
    return HttpTransport("unused", client=client)


def answer(server: GuardedServer, request: httpx2.Request) -> httpx2.Response:
    """What an HTTP server over the dataset answers, or how the connection ends."""
    try:
        return httpx2.Response(200, json=_route(server, request))
    except NotFound:
        return httpx2.Response(404)
    except Refused as refused:
        fields = ("reason", "entity", "field", "graph", "remedy")
        problem = {name: getattr(refused, name) for name in fields}
        return httpx2.Response(403, json={**problem, "detail": refused.message})
    except Denied as denied:
        return httpx2.Response(403, json={"detail": denied.message})
    except Unreachable as error:
        raise httpx2.ConnectError("refused", request=request) from error
    except NoAnswer as error:
        if len(server.updates) % 2:
            return httpx2.Response(502, text="bad gateway")
        raise httpx2.ReadError("reset", request=request) from error


def _route(server: GuardedServer, request: httpx2.Request) -> Mapping[str, Any] | None:
    path = request.url.path.removeprefix("/base")
    if path == "/workflow/capabilities" and server.offered is not None:
        return server.offered
    if path == "/query":
        assert request.headers["content-type"] == "application/sparql-query"
        assert request.headers["accept"] == "application/sparql-results+json"
        return server.query(request.content.decode())
    if path == "/update":
        assert request.headers["content-type"] == "application/sparql-update"
        return server.update(request.content.decode())._asdict()
    raise NotFound


class NotFound(Exception):
    """The route is not there."""


def responding(status: int, **body: Any) -> HttpTransport:
    return over_http(lambda request: httpx2.Response(status, **body))


@pytest.mark.parametrize(
    "status, body, error",
    [
        (400, {"json": {"detail": "line 1"}}, SparqlError),
        (401, {"json": {"title": "who?"}}, Denied),
        (403, {"json": {"detail": "no"}}, Denied),
        (403, {"json": {"detail": "no", "reason": "event_unsigned"}}, Refused),
        (404, {"text": "not found"}, Malformed),
        (413, {"json": []}, TooLarge),
        (429, {"text": "slow down"}, OverCapacity),
        (408, {"text": "too slow"}, Busy),
        (500, {"text": "oops"}, NoAnswer),
        (503, {"json": {"detail": "busy"}}, NoAnswer),
        (302, {"headers": {"location": "http://elsewhere/"}}, NoAnswer),
        (200, {"text": "<html>"}, NoAnswer),
        (200, {"json": [1]}, NoAnswer),
        (200, {"json": {"tx": 1}}, NoAnswer),
        (200, {"json": {"tx": 1, "asserted": "many", "retracted": 0}}, NoAnswer),
        (204, {}, NoAnswer),
    ],
)
def test_what_each_answer_to_an_update_means(
    status: int, body: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        responding(status, **body).update("INSERT DATA {}")


def test_an_update_that_changed_nothing() -> None:
    answered = responding(200, json={"tx": None, "asserted": 0, "retracted": 0, "graphs": []})
    assert answered.update("INSERT DATA {}") == Applied(None, 0, 0)


@pytest.mark.parametrize(
    "raised, error",
    [
        (httpx2.ConnectError, Unreachable),
        (httpx2.ConnectTimeout, Unreachable),
        (httpx2.PoolTimeout, Unreachable),
        (httpx2.UnsupportedProtocol, Unreachable),
        (httpx2.ReadTimeout, NoAnswer),
        (httpx2.WriteError, NoAnswer),
        (httpx2.WriteTimeout, NoAnswer),
        (httpx2.RemoteProtocolError, NoAnswer),
    ],
)
def test_what_each_silence_means(raised: type[Exception], error: type[Exception]) -> None:
    def handler(request: httpx2.Request) -> httpx2.Response:
        raise raised("no")

    for call in (over_http(handler).update, over_http(handler).query):
        with pytest.raises(error):
            call("x")
    with pytest.raises(error):
        over_http(handler).capabilities()


def test_a_missing_capability_route_is_not_a_failure() -> None:
    assert responding(404).capabilities() is None
    with pytest.raises(NoAnswer):
        responding(500).capabilities()


def test_the_token_is_sent_and_a_path_is_kept() -> None:
    transport = HttpTransport("http://127.0.0.1:1/base/", token="secret")
    client = transport._client
    assert client.headers["authorization"] == "Bearer secret"
    assert str(client.base_url) == "http://127.0.0.1:1/base/"
    with pytest.raises(Unreachable):
        transport.capabilities()
    transport.close()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"run": 1}', "nonsense"])
def test_no_pending_advance(text: str) -> None:
    with pytest.raises(ConfigError):
        Pending.from_json(text)


@pytest.mark.parametrize(
    "rows",
    [
        None,
        {"results": {}},
        {"results": {"bindings": [{"s": {"type": "uri", "value": "urn:x:s"}}]}},
        {"results": {"bindings": [{name: {"type": "triple", "value": "x"} for name in "spo"}]}},
        {"results": {"bindings": [{name: {"type": "literal", "value": "x"} for name in "spo"}]}},
        {"results": {"bindings": [{name: {"type": "uri", "value": 3} for name in "spo"}]}},
    ],
)
def test_an_unreadable_answer_is_unreachable(rows: Any) -> None:
    server = GuardedServer()
    server.query = lambda text: rows  # type: ignore[method-assign]
    with pytest.raises(Unreachable):
        WorkflowClient(server).status("urn:x:run")
