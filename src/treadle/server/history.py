"""`GET /v1/log` and `/v1/log/{n}`: what happened, who did it, what it wrote.

For callers with the `audit` permission who are bound to no tenant: the log is the whole database's. Secret
fields, lease owners and fencing tokens are masked unless the caller also has `admin`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import msgspec

from treadle import limits
from treadle.access.caller import Caller
from treadle.engine import retained
from treadle.engine.state import State
from treadle.errors import Denied, InvalidInput, UnknownName
from treadle.history import Entry, entries
from treadle.model.values import parse_word
from treadle.server import openapi
from treadle.server.answers import Answer
from treadle.server.call import Call
from treadle.server.endpoint import Endpoint, Operation
from treadle.text import nearest, were_given

PARAMETERS: Final = {
    "from": "The first record, 1 without it.",
    "to": "The last record.",
    "limit": f"At most this many records, {limits.LOG_PAGE} without it.",
    "of": "An entity: only what wrote one of its rows, newest first.",
    "key": "With `of`: the row's key, one parameter for each of its fields.",
    "kind": "Only records of this kind, such as update or refusal; may be repeated.",
    "about": "Only records that changed statements about this subject of the graph, an IRI.",
}
SCANNED: Final = 20_000
"""Records that one page looks at, at most; `next` says where to go on."""
LONGEST: Final = 18
"""Digits of a record's number: what is longer may not fit a store's integers, and no log is so long."""

KIND: Final = r"^[a-z][a-z_-]{0,39}$"
SUBJECT: Final = r"^[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|^`\\]*$"


async def log(call: Call) -> Answer:
    """A page of the log; `next` is what to give as `from` for the page after it, or null, `pruned` the last
    record that is gone."""
    given = call.query(PARAMETERS)
    first, last = _number(given, "from", 1), _number(given, "to", None)
    limit = _number(given, "limit", limits.LOG_PAGE) or 1
    kinds, about = _kinds(given), _about(given)
    of, key = given.get("of", []), given.get("key", [])
    if bool(of) != bool(key) or len(of) > 1:
        raise InvalidInput("name a row by of=ENTITY and key=… for each of its key's fields", path="query")

    def read(state: State) -> bytes:
        caller = call.caller
        check_whole(caller)
        row = (of[0], _key(state, of[0], key)) if of else None
        unmasked = state.roles.permits(caller, "admin")
        found = entries(call.service.engine, first or 1, last, row, unmasked=unmasked)
        page = _page(found, Wanted(kinds, about), min(limit, limits.LOG_PAGE), follows=row is None)
        return b'{%b,"pruned":%d}' % (page, _pruned(call))

    return Answer(200, await call.read(read, "audit"))


async def record(call: Call) -> Answer:
    """One record by its number."""
    text = call.params["number"]
    if not text.isdecimal() or not text.isascii() or len(text) > LONGEST:
        raise UnknownName("records are named by their numbers, from 1 on")
    number = int(text)

    def read(state: State) -> bytes:
        check_whole(call.caller)
        unmasked = state.roles.permits(call.caller, "admin")
        for entry in entries(call.service.engine, number, number, unmasked=unmasked) if number else ():
            return msgspec.json.encode(entry.to_json())
        pruned = _pruned(call)
        if 0 < number <= pruned:
            raise UnknownName(f"records up to {pruned} were pruned from the log; a backup has them")
        raise UnknownName("the log has no record of this number")

    return Answer(200, await call.read(read, "audit"))


def check_whole(caller: Caller) -> None:
    """Raise `Denied` for a caller that is bound to a tenant: what it asks for is the whole database's."""
    if caller.tenant:
        raise Denied("the caller is bound to one tenant, and this shows the whole database")


class Wanted(NamedTuple):
    """Which records a page shows: of these kinds (none: all), about this subject of the graph (None: any)."""

    kinds: frozenset[str]
    about: str | None

    def fits(self, entry: Entry) -> bool:
        if self.kinds and entry.kind not in self.kinds:
            return False
        return self.about is None or (entry.graph is not None and entry.graph.about(self.about))


def _page(found: Iterator[Entry], wanted: Wanted, limit: int, *, follows: bool) -> bytes:
    """Records up to the bounds of a page, as JSON members; at least one, however large it is."""
    parts: list[bytes] = []
    size, after = 0, None
    for looked_at, entry in enumerate(found):
        if len(parts) >= limit or size >= limits.LOG_PAGE_BYTES or looked_at >= SCANNED:
            after = entry.number if follows else None
            break
        if wanted.fits(entry):
            parts.append(msgspec.json.encode(entry.to_json()))
            size += len(parts[-1])
    return b'"records":[%b],"next":%b' % (b",".join(parts), msgspec.json.encode(after))


def _pruned(call: Call) -> int:
    """The last record that is gone from the log's beginning, 0 for none."""
    with call.service.engine.store.read() as tx:
        return retained.floor(tx)


def _number(given: dict[str, list[str]], name: str, default: int | None) -> int | None:
    values = given.get(name)
    if not values:
        return default
    text = values[-1]
    if not text.isdecimal() or not text.isascii() or len(text) > LONGEST or not int(text):
        raise InvalidInput("must be a whole number from 1 on", path=name)
    return int(text)


def _kinds(given: dict[str, list[str]]) -> frozenset[str]:
    kinds = given.get("kind", [])
    for one in kinds:
        if not re.fullmatch(KIND, one):
            raise InvalidInput("write the kind of a record, such as command or refusal", path="kind")
    return frozenset(kinds)


def _about(given: dict[str, list[str]]) -> str | None:
    values = given.get("about")
    if not values:
        return None
    if not re.fullmatch(SUBJECT, values[-1]):
        raise InvalidInput("write an absolute IRI, such as http://example.org/run/1", path="about")
    return values[-1]


def _key(state: State, entity: str, words: list[str]) -> tuple[Any, ...]:
    """A row's key from words. Raises `UnknownName` and `InvalidInput`."""
    contract = state.require().contract
    found = {one.name: one for one in contract.entities}
    if entity not in found:
        raise UnknownName(f"no such entity in contract {contract.name}{nearest(entity, found)}")
    fields = found[entity].key
    if len(words) != len(fields):
        names = ", ".join(field.name for field in fields)
        raise InvalidInput(f"the key of {entity} is ({names}); {were_given(len(words))}", path="key")
    return tuple(parse_word(field.type, word) for field, word in zip(fields, words, strict=True))


RECORD: Final = {
    "type": "object",
    "properties": {
        "number": {"type": "integer", "minimum": 1},
        "time": {"type": "string", "format": "date-time"},
        "kind": {"type": "string"},
        "name": {"type": "string"},
        "principal": {"type": "string"},
        "hash": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
    },
    "required": ["number", "time", "kind", "name", "principal", "hash"],
}
_NUMBER: Final[dict[str, Any]] = {"type": "integer", "minimum": 1, "maximum": 10**LONGEST - 1}


def describe_log(described: openapi.Described) -> Iterator[Operation]:
    """The log, page by page."""
    schemas: dict[str, dict[str, Any]] = {
        "of": {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
        "key": {"type": "array", "items": {"type": "string"}},
        "kind": {"type": "array", "items": {"type": "string", "pattern": KIND}},
        "about": {"type": "string", "pattern": SUBJECT},
    }
    parameters = [
        openapi.parameter(name, "query", schemas.get(name, _NUMBER), text)
        for name, text in PARAMETERS.items()
    ]
    schema = {
        "type": "object",
        "properties": {
            "records": {"type": "array", "items": RECORD},
            "next": {"type": ["integer", "null"]},
            "pruned": {
                "type": "integer",
                "minimum": 0,
                "description": "Records up to this number were pruned from the log; 0 where all are there.",
            },
        },
        "required": ["records", "next", "pruned"],
    }
    answer = openapi.json_response("A page of records.", schema)
    summary = "What happened, oldest first; of one row, newest first."
    yield "/v1/log", openapi.operation("log", summary, "log", answer, parameters=parameters, also=(404,))


def describe_record(described: openapi.Described) -> Iterator[Operation]:
    """One record."""
    parameters = [openapi.parameter("number", "path", _NUMBER, "The record's number.", required=True)]
    answer = openapi.json_response("The record.", RECORD)
    operation = openapi.operation(
        "logRecord", "One record.", "log", answer, parameters=parameters, also=(404,)
    )
    yield "/v1/log/{number}", operation


ENDPOINTS = (
    Endpoint("GET", "/v1/log", log, "What happened.", "audit", describe=describe_log),
    Endpoint("GET", "/v1/log/{number}", record, "One record of the log.", "audit", describe=describe_record),
)
