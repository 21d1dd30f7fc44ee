"""`GET|POST /query`: the SPARQL 1.1 Protocol's query operation."""

from __future__ import annotations

from typing import Final

from treadle.errors import Malformed
from treadle.graph.query import Query
from treadle.server.answers import Answer
from treadle.server.call import Call
from treadle.server.graph import description, parameters
from treadle.server.graph.carrying import core_of
from treadle.server.graph.negotiation import GRAPHS, RESULTS, VARY, chosen
from treadle.server.graph.parameters import FORM, Values

MEDIA: Final = "application/sparql-query"


async def get(call: Call) -> Answer:
    """A query in the address; without one, what the service says of itself."""
    values = parameters.of_address(call)
    text = parameters.one(values, "query")
    if text is None:
        dataset(values)
        return await description.describe(call)
    return await answer(call, text, values)


async def post(call: Call) -> Answer:
    """A query in the body, as itself or in a form."""
    media = parameters.media_of(call, (MEDIA, FORM))
    if media == MEDIA:
        return await direct(call)
    return await form(call, await parameters.of_form(call))


async def direct(call: Call) -> Answer:
    """A query that is the body; the dataset comes from the address."""
    return await answer(call, await parameters.text_of(call, MEDIA), parameters.of_address(call))


async def form(call: Call, values: Values) -> Answer:
    """A query that is a field of a form."""
    text = parameters.one(values, "query")
    if text is None:
        raise Malformed("the form has no query; send query=…")
    return await answer(call, text, values)


def dataset(values: Values) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The default and the named graphs that the parameters name."""
    return parameters.iris(values, "default-graph-uri"), parameters.iris(values, "named-graph-uri")


async def answer(call: Call, text: str, values: Values) -> Answer:
    """Ask a query, over the dataset that the parameters name, in the form that the client accepts."""
    core, service = await core_of(call), call.service
    base, (default, named) = parameters.base_of(call), dataset(values)

    def ask() -> tuple[str, bytes]:
        try:
            now = core.engine.clock.now()
            query = Query.read(text, now=now, base=base, default_graphs=default, named_graphs=named)
        except ValueError as error:
            raise Malformed(str(error)) from None
        offer = chosen(call, RESULTS if query.form in ("select", "ask") else GRAPHS)
        body = core.read(
            call.caller,
            lambda index, stopped: query.serialized(index, offer.format, stopped=stopped),
            service.options.request_seconds,
        )
        return offer.header, body

    media, body = await service.query_thread(ask)
    return Answer(200, body, media, VARY)
