"""`/v1/streams`: consumers pull, settle and give back events; tails follow them as Server-Sent Events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec

from treadle.engine.job import Job
from treadle.errors import InvalidInput, Malformed, OverCapacity, TreadleError
from treadle.model.json_text import scan_json
from treadle.server import problems
from treadle.server import streams_described as described
from treadle.server.answers import Answer, json_answer
from treadle.server.call import Call, Gone, preferences
from treadle.server.commands import APPLIED
from treadle.server.endpoint import Endpoint
from treadle.streams import Consumer, Streams, Tail
from treadle.streams.events import contracts_of
from treadle.streams.jobs import Pulled
from treadle.text import nearest

HEARTBEAT: Final = 15.0
"""Seconds after which a silent tail says that it is there, so that nothing between takes it for dead."""
TAILS: Final = 1_000
"""Tails at once; each costs a look at the database now and then."""
REPLAY: Final = ("partition", "ids", "dry_run")


# Consumers.


async def pull(call: Call) -> Answer:
    """The next events for a consumer; waits for the first one where `wait` says so."""
    body = await _body(call, ("partition", "limit", "lease", "wait", "strict", "start", "contracts"))
    consumer = _consumer(call, body)
    flag(body, "contracts")
    wanted = consumer.wanted(body.get("limit", 64), body.get("lease", 60), body.get("strict", False))
    loop = asyncio.get_running_loop()
    until = loop.time() + consumer.waiting(body.get("wait", 0))
    for pause in consumer.pauses():
        if await call.service.query_thread(lambda: consumer.ready(wanted)):
            pulled = await _run(call, consumer.pull_job(wanted))
            if pulled.given:
                return await _deliveries(call, consumer, pulled, flag(body, "contracts"))
        left = until - loop.time()
        if left <= 0 or call.service.draining:
            break
        await asyncio.sleep(min(pause, left))
    return json_answer({"deliveries": [], "history": call.service.engine.state.history})


async def _deliveries(call: Call, consumer: Consumer, pulled: Pulled, contracts: bool) -> Answer:
    strings = preferences(call.headers.get(b"prefer", b"")).get("integers") == "string"

    def shown() -> bytes:
        deliveries = consumer.deliveries(pulled)
        found = [one.to_json(integers_as_strings=strings) for one in deliveries]
        if contracts:
            with call.service.engine.store.read() as tx:
                emitted = contracts_of(tx, [one.commit for one in deliveries])
            for one, body in zip(deliveries, found, strict=True):
                body["contract"] = emitted[one.commit].hex() if one.commit in emitted else None
        return msgspec.json.encode({"deliveries": found, "history": pulled.history})

    return Answer(200, await call.service.thread(shown), headers=APPLIED if strings else ())


def flag(body: Mapping[str, Any], name: str) -> bool:
    """A member that is true or false; false where it is absent."""
    value = body.get(name, False)
    if not isinstance(value, bool):
        raise InvalidInput("write true or false", path=name)
    return value


async def ack(call: Call) -> Answer:
    """Settle deliveries for good."""
    body = await _body(call, ("tokens", "partition"))
    return await _settled(call, _consumer(call, body).ack_job(*_tokens(body)))


async def nack(call: Call) -> Answer:
    """Give deliveries back."""
    body = await _body(call, ("tokens", "partition", "delay", "reason", "failed"))
    job = _consumer(call, body).nack_job(
        *_tokens(body),
        delay=body.get("delay", 0),
        reason=body.get("reason", ""),
        failed=body.get("failed", True),
    )
    return await _settled(call, job)


async def extend(call: Call) -> Answer:
    """Hold deliveries for longer."""
    body = await _body(call, ("tokens", "partition", "lease"))
    job = _consumer(call, body).extend_job(*_tokens(body), lease=body.get("lease", 60))
    return await _settled(call, job)


async def _settled(call: Call, job: Job) -> Answer:
    return json_answer({"answers": await _run(call, job)})


async def _run(call: Call, job: Job) -> Any:
    answer = (await call.service.submit([job]))[0]
    if isinstance(answer, BaseException):
        raise answer
    return answer


def _consumer(call: Call, body: Mapping[str, Any]) -> Consumer:
    return Consumer(
        call.service.engine,
        call.caller,
        call.params["event"],
        call.params["consumer"],
        body.get("partition"),
        body.get("start", "oldest"),
    )


async def _body(call: Call, known: Sequence[str]) -> dict[str, Any]:
    body = await call.json()
    for name in body:
        if name not in known:
            raise InvalidInput(f"there is no member {name[:64]!r}{nearest(name, known)}", path="body")
    return body


def _tokens(body: Mapping[str, Any]) -> list[str]:
    tokens = body.get("tokens")
    if not isinstance(tokens, list) or not tokens or not all(isinstance(one, str) for one in tokens):
        raise InvalidInput("must be a list of delivery tokens, at least one", path="tokens")
    return tokens


# Operators.


async def consumers(call: Call) -> Answer:
    """The consumers of the streams that the caller may consume."""
    found = await call.service.thread(Streams(call.service.engine, call.caller).consumers)
    shown = [one._asdict() | {"partition": _plain(one.partition)} for one in found]
    return json_answer({"consumers": shown})


def _plain(values: Any) -> Any:
    if values is None:
        return None
    return [one if isinstance(one, str | int | bool) else str(one) for one in values]


async def dead_letters(call: Call) -> Answer:
    """Events that a consumer gave up, those after `after`."""
    given = call.query(("partition", "after", "limit"))
    limit = _number(given, "limit", 64)
    streams = Streams(call.service.engine, call.caller)

    def read() -> bytes:
        found = streams.dead_letters(
            call.params["event"],
            call.params["consumer"],
            partition=_partition(given),
            after=given.get("after", [None])[0],
            limit=limit,
        )
        return msgspec.json.encode({"dead_letters": [one.to_json() for one in found]})

    return Answer(200, await call.service.thread(read))


async def replay(call: Call) -> Answer:
    """Give dead letters to their consumer again."""
    return await _about_letters(call, "replay")


async def drop(call: Call) -> Answer:
    """Give dead letters up for good."""
    return await _about_letters(call, "drop")


async def _about_letters(call: Call, act: str) -> Answer:
    body = await _body(call, REPLAY)
    ids, dry_run = body.get("ids"), flag(body, "dry_run")
    if ids is not None and not (isinstance(ids, list) and all(isinstance(one, str) for one in ids)):
        raise InvalidInput("must be a list of events' ids, or null for all", path="ids")
    do = getattr(Streams(call.service.engine, call.caller), act)
    event, consumer, partition = call.params["event"], call.params["consumer"], body.get("partition")

    def run() -> list[str]:
        done: list[str] = do(event, consumer, ids, partition=partition, dry_run=dry_run)
        return done

    return json_answer({"events": await call.service.thread(run), "dry_run": dry_run})


# Tails.


async def tail(call: Call) -> Answer:
    """Events as they come, from a place on, for as long as the client listens."""
    given = call.query(("partition", "after", "start"))
    after = call.header(b"last-event-id") or given.get("after", [None])[0]
    start = given.get("start", ["oldest"])[0]
    place: str | int = int(start) if start.isascii() and start.isdigit() and len(start) < 20 else start
    partition = _partition(given)

    def begin() -> Tail:
        engine = call.service.engine
        return Tail(engine, call.caller, call.params["event"], partition, after=after or None, start=place)

    reader = await call.service.thread(begin)
    return Answer(200, _lines(call, reader), described.EVENTS, ((b"x-accel-buffering", b"no"),))


class _Count:
    """How many tails there are."""

    now = 0


async def _lines(call: Call, reader: Tail) -> AsyncIterator[bytes]:
    """Server-Sent Events, each with its cursor as id, until the client is gone or the server stops."""
    if _Count.now >= TAILS:
        yield _problem(OverCapacity("as many clients follow streams here as may; try again later"))
        return
    _Count.now += 1
    gone = asyncio.ensure_future(_gone(call))
    try:
        yield b"retry: 1000\n\n"
        async for part in _events(call, reader, gone):
            yield part
    finally:
        _Count.now -= 1
        gone.cancel()
        with suppress(asyncio.CancelledError):
            await gone


async def _events(call: Call, reader: Tail, gone: asyncio.Future[None]) -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    pauses, said = Consumer.pauses(), loop.time()
    while not gone.done() and not call.service.draining:
        try:
            found = await call.service.query_thread(reader.read)
        except TreadleError as error:
            yield _problem(error)
            return
        if found:
            yield b"".join(_event(one.name, one.cursor, one.to_json()) for one in found)
            pauses, said = Consumer.pauses(), loop.time()
            continue
        if loop.time() - said > HEARTBEAT:
            yield b": still here\n\n"
            said = loop.time()
        await asyncio.wait([gone], timeout=next(pauses))


async def _gone(call: Call) -> None:
    """Ends when the client goes away."""
    with suppress(Gone):
        while True:
            await call.receive()


def _event(name: str, cursor: str, value: Any) -> bytes:
    return b"id: %s\nevent: %s\ndata: %s\n\n" % (cursor.encode(), name.encode(), msgspec.json.encode(value))


def _problem(error: TreadleError) -> bytes:
    """The end of a tail, and why: a problem document as the event `problem`, which has no id."""
    return b"event: problem\ndata: %s\n\n" % problems.encoded(error)


def _partition(given: Mapping[str, list[str]]) -> Any:
    """The partition in an address: JSON, such as {"shop_id": "…"} or ["…"]."""
    if "partition" not in given:
        return None
    value = scan_json(given["partition"][0].encode())
    if not isinstance(value, dict | list):
        raise Malformed('write the partition as JSON, such as partition={"shop_id": "…"}')
    return value


def _number(given: Mapping[str, list[str]], name: str, default: int) -> int:
    value = given.get(name, [str(default)])[0]
    if not (value.isascii() and value.isdigit() and len(value) < 10):
        raise InvalidInput("write a whole number", path=name)
    return int(value)


_ONE: Final = described.PREFIX
_TAIL: Final = "/v1/streams/{event}/tail"

ENDPOINTS = (
    Endpoint("POST", f"{_ONE}:pull", pull, "Pull events.", writes=True, describe=described.pull),
    Endpoint("POST", f"{_ONE}:ack", ack, "Settle deliveries.", writes=True, describe=described.ack),
    Endpoint("POST", f"{_ONE}:nack", nack, "Give deliveries back.", writes=True, describe=described.nack),
    Endpoint("POST", f"{_ONE}:extend", extend, "Hold deliveries.", writes=True, describe=described.extend),
    Endpoint("POST", f"{_ONE}:replay", replay, "Replay letters.", writes=True, describe=described.replay),
    Endpoint("POST", f"{_ONE}:drop", drop, "Drop dead letters.", writes=True, describe=described.drop),
    Endpoint("GET", "/v1/streams", consumers, "The consumers.", describe=described.consumers),
    Endpoint("GET", f"{_ONE}/dead-letters", dead_letters, "Dead letters.", describe=described.dead_letters),
    Endpoint("GET", _TAIL, tail, "Follow events.", produces=described.EVENTS, describe=described.tail),
)
