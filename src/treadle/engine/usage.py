"""What in a database depends on what a successor would take away: rows, receipts, events, tokens.

Looking takes a walk over rows and log, so it is done twice: all of it in a snapshot while others write, and
in the deployment itself only what was written since (`Looked`). Rows that a record wrote are looked at as
they are now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from treadle.access import tokens
from treadle.engine import state as states
from treadle.engine.acts import scan
from treadle.engine.state import Deployed
from treadle.model import contract as c
from treadle.model import record
from treadle.model import types as t
from treadle.model.facts import Cell, Cells, Key, Row
from treadle.model.record import LogRecord
from treadle.plan import clauses
from treadle.plan.evolution import Change, Use
from treadle.ports.store import ReadTx, Table

MOST: Final = 3
"""So many are named of what depends on one change."""

Holds = Callable[[Cell], bool]


class Looked(NamedTuple):
    """How far somebody looked already: nothing stored up to record `number` depended on any change from
    the contract `identity`."""

    identity: str
    number: int


def settle(
    tx: ReadTx, deployed: Deployed, changes: Iterable[Change], now: int, looked: Looked | None = None
) -> list[Change]:
    """The changes, once everything in the database that depends on them was looked for.

    `now` is the time at which tokens must be valid to count. Without `looked` the whole database is read.
    """
    found = list(changes)
    since = looked.number if looked is not None and looked.identity == deployed.identity else 0
    eye = _Eye(tx, deployed, {change.use for change in found if change.use is not None}, since)
    eye.look(now)
    return [change if change.use is None else change.settled(eye.found(change.use)) for change in found]


class _Eye:
    """Looks for all uses at once."""

    def __init__(self, tx: ReadTx, deployed: Deployed, uses: set[Use], since: int) -> None:
        self._tx = tx
        self._deployed = deployed
        self._since = since
        self._uses = {kind: [use for use in uses if use.kind == kind] for kind in _KINDS}
        self._found: dict[Use, dict[str, None]] = {use: {} for use in uses}
        self._contracts: dict[bytes, Deployed] = {deployed.identity_bytes: deployed}
        self._holders: dict[tuple[str, Use], Holds | None] = {}

    def found(self, use: Use) -> Sequence[str]:
        """Some of what depends on it, with `…` where there is more."""
        listed = list(self._found[use])
        return [*listed[:MOST], *(["…"] if len(listed) > MOST else [])]

    def _note(self, use: Use, what: str) -> None:
        if len(self._found[use]) <= MOST:
            self._found[use].setdefault(what)

    def _open(self, *kinds: str) -> list[Use]:
        """The uses of these kinds of which not enough was found yet."""
        return [use for kind in kinds for use in self._uses[kind] if len(self._found[use]) <= MOST]

    def look(self, now: int) -> None:
        for use in self._uses["rows"]:
            self._whole_rows(use)
        if self._since == 0 and self._open("variants", "edges"):
            for table in self._deployed.tables.values():
                self._rows(table, scan(self._tx, table))
        for use in self._uses["events"]:
            event = self._tx.events(use.names[0], None, (0, 0), MOST + 1)
            for one in event:
                self._note(use, f"event {one.number}:{one.ordinal}")
        if self._uses["facts"]:
            self._tokens(now)
        if self._open("receipts", "variants", "edges"):
            self._log()

    # Rows.

    def _whole_rows(self, use: Use) -> None:
        for name in use.names:
            table = self._deployed.tables.get(name)
            for row in self._tx.scan(table, None, MOST + 1) if table is not None else ():
                self._note(use, self._row_name(name, row.cells[: table.key_count] if table else ()))

    def _row_name(self, entity: str, key: Key) -> str:
        fields = self._deployed.plan.entities[entity].members
        shown = (
            self._deployed.codec.format_cell(field.type, cell)
            for field, cell in zip(fields, key, strict=False)
        )
        return f"{entity}({', '.join(shown)})"

    def _rows(self, table: Table, rows: Iterable[Row]) -> None:
        tests = [
            (use, test) for use in self._open("variants", "edges") if (test := self._row_test(table, use))
        ]
        if not tests:
            return
        for row in rows:
            for use, test in tests:
                if test(row.cells):
                    self._note(use, self._row_name(table.entity, row.cells[: table.key_count]))

    def _row_test(self, table: Table, use: Use) -> Callable[[Cells], bool] | None:
        """What tells whether a row depends on a use; None where no row of the table can."""
        if use.kind == "edges":
            workflow = self._workflow(use)
            if workflow.entity != table.entity:
                return None
            place = [column.field for column in table.columns].index(workflow.state)
            return lambda cells: cells[place] in use.values
        holders = [
            (place, test)
            for place, column in enumerate(table.columns)
            if (test := self._test(self._deployed, column.type, use)) is not None
        ]
        return (lambda cells: any(test(cells[place]) for place, test in holders)) if holders else None

    def _workflow(self, use: Use) -> c.Workflow:
        return next(one for one in self._deployed.contract.workflows if one.name == use.names[0])

    # Values.

    def _test(self, deployed: Deployed, kind: t.Type, use: Use) -> Holds | None:
        """What tells whether a cell of a type holds a variant; None where no such cell can."""
        match kind:
            case t.Enum():
                return use.values.__contains__ if kind.name == use.names[0] else None
            case t.Optional():
                return self._test(deployed, kind.item, use)
            case t.List():
                item = self._test(deployed, kind.item, use)
                return None if item is None else lambda cells: any(map(item, cells or ()))
            case t.Record():
                return self._any(deployed, deployed.plan.entities[kind.entity].members, use)
            case _:
                return None

    def _any(self, deployed: Deployed, fields: Sequence[c.Field], use: Use) -> Holds | None:
        tests = [(place, self._test(deployed, field.type, use)) for place, field in enumerate(fields)]
        known = [(place, test) for place, test in tests if test is not None]
        if not known:
            return None
        return lambda cells: cells is not None and any(test(cells[place]) for place, test in known)

    # Tokens.

    def _tokens(self, now: int) -> None:
        for data in self._tx.settings(tokens.PREFIX).values():
            token = tokens.decode(data)
            for use in self._uses["facts"]:
                if use.names[0] in token.facts and token.valid(now):
                    self._note(use, f"token {token.id}")

    # The log.

    def _log(self) -> None:
        """Receipts that are stored, and, of what was written since, rows."""
        for entry in self._tx.log(self._since + 1, self._tx.head().number):
            stored = record.decode(entry.data)
            if stored.kind in ("command", "reimport"):
                self._record(stored)
            if self._since and stored.changes:
                self._changed(stored)

    def _changed(self, stored: LogRecord) -> None:
        """The rows that a record wrote, as they are now."""
        keys: dict[str, list[Key]] = {}
        for change in stored.changes:
            if change.entity in self._deployed.tables:
                key = self._deployed.codec.key_decoder(change.entity)(change.key)
                keys.setdefault(change.entity, []).append(key)
        for entity, listed in keys.items():
            table = self._deployed.tables[entity]
            self._rows(table, (row for row in self._tx.rows(table, listed) if row is not None))

    def _record(self, stored: LogRecord) -> None:
        receipt = stored.identity is not None and self._tx.receipts([stored.identity]) == [stored.number]
        name = f"record {stored.number}"
        for use in self._open("receipts"):
            if receipt and use.names[0] == stored.name and (not use.values or stored.outcome in use.values):
                self._note(use, name)
        for use in self._open("variants"):
            if (receipt and self._says(stored, use)) or self._emits(stored, use):
                self._note(use, name)
        for use in self._open("edges"):
            if receipt and stored.success and self._took(stored, use):
                self._note(use, name)

    def _contract(self, stored: LogRecord) -> Deployed:
        identity = stored.contract or b""
        known = self._contracts.get(identity)
        if known is None:
            known = Deployed(states.load_contract(self._tx, identity.hex()), {})
            self._contracts[identity] = known
        return known

    def _says(self, stored: LogRecord, use: Use) -> bool:
        """Whether a record's input or outcome holds a variant."""
        deployed = self._contract(stored)
        command = _declaration(deployed.contract, stored.name)
        inputs = command.inputs if isinstance(command, c.Command) else (command.input,)
        test = self._any(deployed, inputs, use)
        codec = deployed.codec
        if test is not None and test(codec.input_reader(stored.name).decode(stored.input or b"")):
            return True
        if stored.outcome is None or stored.fields is None:
            return False
        outcome = next(one for one in command.outcomes if one.name == stored.outcome)
        test = self._any(deployed, outcome.fields, use)
        return test is not None and test(codec.outcome_decoder(stored.name, stored.outcome)(stored.fields))

    def _emits(self, stored: LogRecord, use: Use) -> bool:
        """Whether an event of a record holds a variant; events stay when receipts are pruned."""
        if not stored.events:
            return False
        deployed = self._contract(stored)
        declared = {event.name: event for event in deployed.contract.events}
        for event in stored.events:
            test = self._any(deployed, declared[event.name].fields, use)
            if test is not None and test(deployed.codec.event_decoder(event.name)(event.fields)):
                return True
        return False

    def _took(self, stored: LogRecord, use: Use) -> bool:
        """Whether a command moved a row along an edge: it performs the transition, and a row went there."""
        deployed = self._contract(stored)
        command = _declaration(deployed.contract, stored.name)
        if not isinstance(command, c.Command) or not _performs(command, use):
            return False
        workflow = self._workflow(use)
        return any(
            self._state(deployed, workflow, change.image) == use.destination
            and self._came_from(workflow, change, use.values)
            for change in stored.changes
            if change.entity == workflow.entity and change.image is not None
        )

    def _state(self, deployed: Deployed, workflow: c.Workflow, image: bytes | None) -> Cell:
        if image is None:
            return None
        place = deployed.plan.entities[workflow.entity].positions[workflow.state]
        return deployed.codec.row_decoder(workflow.entity)(image)[place]

    def _came_from(self, workflow: c.Workflow, change: record.RowImage, states_: Sequence[str]) -> bool:
        """Whether a row was in one of these states before a record wrote it.

        The record that wrote it before says so; where that was dropped nobody can, so it counts.
        """
        if not change.before:
            return False
        for entry in self._tx.log(change.before, change.before):
            earlier = record.decode(entry.data)
            for one in earlier.changes:
                if (one.entity, one.key) == (change.entity, change.key):
                    return self._state(self._contract(earlier), workflow, one.image) in states_
        return True


_KINDS: Final = ("rows", "variants", "edges", "receipts", "events", "facts")


def _declaration(contract: c.Contract, name: str) -> c.Command | c.Reimport:
    listed: Iterator[c.Command | c.Reimport] = (
        one for group in (contract.commands, contract.reimports) for one in group if one.name == name
    )
    return next(listed)


def _performs(command: c.Command, use: Use) -> bool:
    effects = [*clauses.own_effects(command), *clauses.loop_effects(command)]
    return any(
        isinstance(effect, c.TransitionEffect)
        and (effect.workflow, effect.transition) == (use.names[0], use.transition)
        for effect in effects
    )
