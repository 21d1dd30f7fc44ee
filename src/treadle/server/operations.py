"""`/health`, `/version`, `/ready`, `/metrics`: for those who run the server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, Final

from treadle.engine.state import State
from treadle.errors import Busy
from treadle.server import metrics, openapi
from treadle.server.answers import Answer, json_answer
from treadle.server.call import Call
from treadle.server.endpoint import OPEN, Endpoint, Operation
from treadle.version import __version__

READY_SECONDS: Final = 5


async def health(call: Call) -> Answer:
    """The process is there and its loop turns."""
    return json_answer({"status": "ok", "version": __version__})


async def version(call: Call) -> Answer:
    """What answers here, and its version."""
    return json_answer({"name": "treadle", "version": __version__})


async def ready(call: Call) -> Answer:
    """The store answers, and the server takes requests. What is wrong comes as a problem document."""
    service = call.service
    if service.draining:
        raise Busy("the server is stopping and takes no new work")
    try:
        async with asyncio.timeout(READY_SECONDS):
            return json_answer(await service.thread(_ready, call))
    except TimeoutError:
        raise Busy("the store did not answer in time") from None


def _ready(call: Call) -> dict[str, Any]:
    engine = call.service.engine
    deployed = engine.refresh().deployed
    with engine.store.read() as tx:
        head = tx.head()
    ahead = (engine.clock.now() - head.time) / 1e6 if head.number else 0.0
    engine.check_clock()
    return {
        "status": "ready",
        "contract": None if deployed is None else deployed.version,
        "clock": {"floor_seconds": round(-ahead, 3)},
    }


async def scrape(call: Call) -> Answer:
    """Metrics in Prometheus' text form; on loopback for everyone, else for the `audit` permission."""
    service = call.service
    if not service.options.loopback:
        await call.establish()

        def allowed(state: State) -> None:
            state.roles.check_permission(call.caller, "audit")

        await call.read(allowed)
    return Answer(200, await service.thread(service.metrics.render), metrics.CONTENT_TYPE)


def describe_health(about: openapi.Described) -> Iterator[Operation]:
    """The process."""
    schema = {"type": "object", "properties": {"status": {"const": "ok"}}, "required": ["status", "version"]}
    answer = openapi.json_response("It is there.", schema)
    yield "/health", openapi.operation("health", "Is the process there?", "operations", answer)


def describe_version(about: openapi.Described) -> Iterator[Operation]:
    """The program."""
    names = ("name", "version")
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": names}
    answer = openapi.json_response("Name and version.", schema)
    yield "/version", openapi.operation("version", "Which version answers?", "operations", answer)


def describe_ready(about: openapi.Described) -> Iterator[Operation]:
    """The store."""
    schema = {"type": "object", "properties": {"status": {"const": "ready"}}, "required": ["status", "clock"]}
    answer = openapi.json_response("It takes requests.", schema)
    yield "/ready", openapi.operation("ready", "Does the store answer?", "operations", answer)


def describe_metrics(about: openapi.Described) -> Iterator[Operation]:
    """The metrics."""
    answer = openapi.json_response("Prometheus' text form.", {"type": "string"}, "text/plain")
    yield "/metrics", openapi.operation("metrics", "What there is to measure.", "operations", answer)


ENDPOINTS = (
    Endpoint("GET", "/health", health, "The process is there.", OPEN, describe=describe_health),
    Endpoint("GET", "/version", version, "Name and version.", OPEN, describe=describe_version),
    Endpoint("GET", "/ready", ready, "The store answers.", OPEN, describe=describe_ready),
    Endpoint("GET", "/metrics", scrape, "Metrics.", OPEN, produces="", describe=describe_metrics),
)
