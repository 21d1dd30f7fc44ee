"""`POST /knot`, `GET /graphs`, `GET /workflow/capabilities`: what stands beside the standard protocols."""

from __future__ import annotations

from typing import Any, Final

from treadle.errors import InvalidInput
from treadle.graph import enrollment
from treadle.graph.live import exporting
from treadle.graph.live.attempts import Load
from treadle.graph.load import Loaded
from treadle.graph.terms import IRI
from treadle.server.answers import Answer, json_answer
from treadle.server.call import INSTANCE, Call
from treadle.server.graph import carrying, parameters
from treadle.server.graph.carrying import core_of
from treadle.text import nearest

MEMBERS: Final = ("turtle", "graph", "actor")


async def knot(call: Call) -> Answer:
    """Add Turtle to a graph; `actor` says who wrote it, for the log."""
    body = await call.json()
    for name in body:
        if name not in MEMBERS:
            raise InvalidInput(f"there is no member {name[:64]!r}{nearest(name, MEMBERS)}", path="body")
    turtle = _text(body, "turtle")
    if turtle is None:
        raise InvalidInput("must be the Turtle text to add", path="turtle")
    graph, actor = _graph(body), _text(body, "actor")
    if actor is not None:
        if not actor.isprintable() or len(actor) > INSTANCE:
            raise InvalidInput(f"must be at most {INSTANCE} printable characters", path="actor")
        call.caller = call.caller._replace(instance=actor)
    core, base = await core_of(call), parameters.base_of(call)

    def read() -> Loaded:
        return Loaded.read(turtle, "turtle", labels=core.labels(), graph=graph, base=base)

    loaded = await call.service.query_thread(read)
    load = Load(core.site, call.caller, loaded, via="knot", request_id=call.trace)
    done = await carrying.settle(call, load)
    return json_answer({"conforms": True, "tx_id": done.tx, "count": done.asserted})


def _text(body: dict[str, Any], name: str) -> str | None:
    value = body.get(name)
    if value is None or isinstance(value, str):
        return value
    raise InvalidInput("must be text", path=name)


def _graph(body: dict[str, Any]) -> IRI | None:
    name = _text(body, "graph")
    try:
        return None if name is None else IRI(name)
    except ValueError as error:
        raise InvalidInput(str(error), path="graph") from None


async def graphs(call: Call) -> Answer:
    """Every graph and its number of statements, the default graph (null) first."""
    core = await core_of(call)

    def read() -> list[dict[str, Any]]:
        seconds = call.service.options.request_seconds
        found = core.read(call.caller, lambda index, stopped: exporting.listed(index), seconds)
        return [one._asdict() for one in found]

    return json_answer({"graphs": await call.service.query_thread(read)})


async def capabilities(call: Call) -> Answer:
    """Whether workflow processing is enforced, and which signatures are taken; nothing else."""
    core = await core_of(call)

    def read() -> dict[str, Any]:
        with core.engine.store.read() as tx:
            return enrollment.capabilities(core.live.rules(tx).stored)

    return json_answer(await call.service.thread(read))
