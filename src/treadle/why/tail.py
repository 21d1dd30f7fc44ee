"""What the log says of a row: the records that wrote it, and those at its end that asked for it in vain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

from treadle.access.presence import fires_in
from treadle.engine.core import Engine
from treadle.history import Entry, entries
from treadle.model import contract as c

RECENT: Final = 10
"""So many commands are told of."""
TAIL: Final = 512
"""So many records at the log's end are looked through for commands that wrote nothing."""
WRITES: Final = 32
"""So many records that wrote the row are looked through for the claim that holds it."""


class Asked(NamedTuple):
    """One row, asked about: its key's values, in Python and as canonical values."""

    entity: str
    key: Sequence[Any]
    canonical: list[Any]


class Tail(NamedTuple):
    """`writes` are records that wrote the row, newest first; `asked` those at the log's end that named it and
    wrote nothing; `claims` those that claimed any row of the entity; `fires` the newest of each schedule that
    runs a command about the entity. `whole` is true where the tail is the whole log."""

    writes: tuple[Entry, ...]
    asked: tuple[Entry, ...]
    claims: tuple[Entry, ...]
    fires: tuple[Entry, ...]
    whole: bool


def read(engine: Engine, asked: Asked, contract: c.Contract, head: int, floor: int) -> Tail:
    """What the log says, whose records are those after `floor` up to `head`."""
    found = entries(engine, 1, head, (asked.entity, asked.key), unmasked=True)
    writes = tuple(islice(found, WRITES))
    first = max(floor + 1, head - TAIL + 1)
    claiming = set(claimers(contract, asked.entity))
    named: list[Entry] = []
    claims: list[Entry] = []
    fires: dict[str, Entry] = {}
    about = {one.name for one in contract.commands if _about(one, asked.entity)}
    for entry in entries(engine, first, head, unmasked=True) if head else ():
        if entry.kind != "command":
            continue
        if entry.success and entry.name in claiming:
            claims.append(entry)
        fired = fires_in(entry.instance) if entry.name in about else None
        if fired is not None:
            fires[fired.schedule] = entry
        if not entry.rows and _names(contract, entry, asked):
            named.append(entry)
    return Tail(writes, tuple(reversed(named)), tuple(reversed(claims)), tuple(fires.values()), first == 1)


def _about(command: c.Command, entity: str) -> bool:
    """Whether a command creates or changes rows of an entity."""
    loop = command.loop.bindings if command.loop is not None else ()
    return any(one.entity == entity and one.kind != "read" for one in (*command.bindings, *loop))


def claimers(contract: c.Contract, entity: str) -> Iterator[str]:
    """Commands that claim rows of an entity."""
    for command in contract.commands:
        bindings = {one.name: one.entity for one in command.bindings}
        for effect in command.effects:
            if not isinstance(effect, c.LeaseEffect) or effect.op != "claim":
                continue
            if bindings.get(effect.binding) == entity:
                yield command.name


def _names(contract: c.Contract, entry: Entry, asked: Asked) -> bool:
    """Whether a command's input names the row, where its key is made of inputs alone."""
    bindings = next((one.bindings for one in contract.commands if one.name == entry.name), ())
    mine = [one for one in bindings if one.entity == asked.entity and one.kind != "read"]
    return any(_key(binding, entry.input) == asked.canonical for binding in mine)


def _key(binding: c.Binding, given: dict[str, Any]) -> list[Any] | None:
    key = []
    for part in binding.key:
        if not isinstance(part, c.Input) or part.name not in given:
            return None
        key.append(given[part.name])
    return key
