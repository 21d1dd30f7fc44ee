"""`POST /update`: the SPARQL 1.1 Protocol's update operation."""

from __future__ import annotations

from typing import Final

from treadle.errors import Malformed
from treadle.graph.live.attempts import Text
from treadle.server.answers import Answer, json_answer
from treadle.server.call import Call
from treadle.server.graph import carrying, parameters
from treadle.server.graph.parameters import FORM, Values

MEDIA: Final = "application/sparql-update"


async def post(call: Call) -> Answer:
    """An update in the body, as itself or in a form."""
    media = parameters.media_of(call, (MEDIA, FORM))
    if media == MEDIA:
        return await direct(call)
    return await form(call, await parameters.of_form(call))


async def direct(call: Call) -> Answer:
    """An update that is the body; the dataset comes from the address."""
    return await answer(call, await parameters.text_of(call, MEDIA), parameters.of_address(call))


async def form(call: Call, values: Values) -> Answer:
    """An update that is a field of a form."""
    text = parameters.one(values, "update")
    if text is None:
        raise Malformed("the form has no update; send update=…")
    return await answer(call, text, values)


async def answer(call: Call, text: str, values: Values) -> Answer:
    """Run an update, its patterns over the dataset that the parameters name."""
    wanted = Text(
        text,
        parameters.base_of(call),
        parameters.iris(values, "using-graph-uri"),
        parameters.iris(values, "using-named-graph-uri"),
        via="update",
        request_id=call.trace,
    )
    done = await carrying.update(call, wanted)
    return json_answer(done.to_json())
