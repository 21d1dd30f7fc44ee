"""Requests that are likely to mean something: they name rows that exist, and what these rows hold."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from treadle.model import types as t
from treadle.model.contract import Command, Contract
from treadle.simulation.flows import WHOLE, Bound, Classes, Feed, Flows, Slot, flows
from treadle.simulation.values import Values

TRUE_EVIDENCE: Final = 0.88
"""How often a request shows what the row really holds; otherwise it is stale, or somebody else's."""
KEPT: Final = 48
"""Values that are remembered of fields that share them."""
STRANGE: Final = 0.1
"""How often a request knows nothing of what exists."""
OWNERS: Final = 4
"""Clients that hold leases."""


class Row(NamedTuple):
    """A row as it was last written."""

    key: tuple[Any, ...]
    revision: int
    fields: Mapping[str, Any]


class Rows:
    """The rows that there are, and the last revision of those that were deleted."""

    def __init__(self) -> None:
        self.now: dict[str, dict[tuple[Any, ...], Row]] = {}
        self.gone: dict[tuple[str, tuple[Any, ...]], int] = {}

    def of(self, entity: str) -> dict[tuple[Any, ...], Row]:
        """The rows of an entity by their keys."""
        return self.now.setdefault(entity, {})


Drawn = dict[Slot, Any]


class Drawer:
    """Draws requests of one contract."""

    def __init__(self, dice: random.Random, contract: Contract, values: Values, rows: Rows) -> None:
        self._dice = dice
        self._values = values
        self._rows = rows
        self._flows = {command.name: flows(contract, command) for command in contract.commands}
        self._classes = Classes(contract, self._flows)
        self._pools: dict[tuple[str, str], list[Any]] = {}
        self._owners: dict[tuple[str, str], list[Any]] = {}
        self._keys = {one.name: [field.name for field in one.key] for one in contract.entities}
        self._fields = {
            one.name: {field.name: field.type for field in one.members} for one in contract.entities
        }
        self._shared = self._shared_classes()
        self._unique = {
            self._classes.of(entity.name, field)
            for entity in contract.entities
            for unique in entity.uniques
            for field in unique.fields
        }
        self._keys_made = 0
        self._strange = False

    def _shared_classes(self) -> set[tuple[str, str]]:
        """The classes of fields that several entities have: a new row takes such a value from what exists."""
        found: dict[tuple[str, str], set[str]] = {}
        for entity, fields in self._fields.items():
            for field in fields:
                found.setdefault(self._classes.of(entity, field), set()).add(entity)
        return {place for place, entities in found.items() if len(entities) > 1}

    def learn(self, entity: str, row: Row) -> None:
        """Remember the values of a row that was written."""
        for field in self._fields[entity]:
            value = dict(zip(self._keys[entity], row.key, strict=True)).get(field, row.fields.get(field))
            pool = self._pools.setdefault(self._classes.of(entity, field), [])
            if value is not None and value not in pool[-KEPT:]:
                pool.append(value)

    def draw(self, command: Command) -> dict[str, Any]:
        """The input of a request."""
        known = self._flows[command.name]
        self._strange = self._dice.random() < STRANGE
        kinds = {Slot(field.name): field.type for field in command.inputs}
        chosen = self._targets(known, known.bound, {})
        loop = command.loop
        body = {
            field.name: self._value(Slot(field.name), field.type, known, chosen)
            for field in command.inputs
            if loop is None or field.name != loop.input
        }
        if loop is not None:
            kind = kinds[Slot(loop.input)]
            body[loop.input] = self._elements(loop.element, kind, known, chosen)
        if command.idempotency_key is not None:
            self._keys_made += 1
            body[command.idempotency_key] = f"simulated-{self._keys_made}"
        return body

    def _elements(self, element: str, kind: t.Type, known: Flows, outer: Drawn) -> list[Any]:
        wanted = t.required(kind)
        if not isinstance(wanted, t.List):
            return []
        found = []
        for _ in range(self._values.length(wanted)):
            chosen = self._targets(known, known.looped, dict(outer))
            if isinstance(wanted.item, t.Record):
                members = self._fields[wanted.item.entity].items()
                found.append(
                    {name: self._value(Slot(element, name), of, known, chosen) for name, of in members}
                )
            else:
                found.append(self._value(Slot(element, WHOLE), wanted.item, known, chosen))
        return found

    # Which rows a request is about.

    def _targets(self, known: Flows, bound: Iterable[Bound], chosen: Drawn) -> Drawn:
        """Keys of rows, for the slots that decide them; and the rows, under their bindings' names."""
        for each in bound:
            row = self._target(each, known.owner_of(each.name), chosen)
            if row is None:
                continue
            chosen[Slot(f"row {each.name}")] = row
            for slot, value in zip(each.key, row.key, strict=True):
                if slot is not None:
                    chosen.setdefault(slot, value)
        return chosen

    def _target(self, each: Bound, owner: str | None, chosen: Drawn) -> Row | None:
        wanted = 0.12 if each.kind == "create" else 0.6 if each.kind == "observe" else 0.92
        if self._dice.random() >= (0.5 if self._strange else wanted):
            return None
        rows = [
            row
            for row in list(self._rows.of(each.entity).values())[-KEPT:]
            if all(
                slot is None or chosen.get(slot, part) == part
                for slot, part in zip(each.key, row.key, strict=True)
            )
        ]
        held = [row for row in rows if owner is not None and row.fields.get(owner) is not None]
        if held and self._dice.random() < 0.8:
            rows = held
        # Those that were written last, mostly: what nobody comes back to goes nowhere.
        return rows[-1 - min(len(rows) - 1, int(self._dice.expovariate(0.25)))] if rows else None

    # What else it says.

    def _value(self, slot: Slot, kind: t.Type, known: Flows, chosen: Drawn) -> Any:
        if slot in chosen:
            return chosen[slot]
        for feed in known.feeds.get(slot, ()):
            row = chosen.get(Slot(f"row {feed.binding}"))
            found = self._evidence(feed, row, kind)
            if found is not None:
                chosen[slot] = found
                return found
        value = self._values.draw(kind)
        chosen[slot] = value
        return value

    def _evidence(self, feed: Feed, row: Row | None, kind: t.Type) -> Any:
        """A value that suits what it is used for; None where any will do."""
        true = self._dice.random() < TRUE_EVIDENCE
        match feed.use:
            case "revision":
                known = row.revision if row is not None else 1
                return known if true else max(1, known + self._dice.choice((-1, 1)))
            case "duration":
                return self._duration(*feed.bounds, true)
            case "token":
                known = row.fields.get(feed.field, 0) if row is not None else 0
                return known if true else known + 1
            case "owner":
                held = row.fields.get(feed.field) if row is not None else None
                return held if held is not None and true else self._owner(feed, kind)
        if row is not None and feed.use == "field" and self._dice.random() < 0.5:
            return row.fields.get(feed.field)
        return self._pooled(feed)

    def _pooled(self, feed: Feed) -> Any:
        place = self._classes.of(feed.entity, feed.field)
        pool = self._pools.get(place, ())[-KEPT:]
        often = 0.3 if place in self._unique else 0.1
        if place in self._shared and not self._strange:
            often = 0.8
        return self._dice.choice(pool) if pool and self._dice.random() < often else None

    def _duration(self, least: int, most: int, good: bool) -> int:
        if good:
            return self._dice.choice((least, least, self._dice.randint(least, most), most))
        return self._dice.choice((0, max(0, least - 1), most + 1))

    def _owner(self, feed: Feed, kind: t.Type) -> Any:
        owners = self._owners.setdefault((feed.entity, feed.field), [])
        if len(owners) < OWNERS:
            owners.append(self._values.draw(t.required(kind)))
        return self._dice.choice(owners)
