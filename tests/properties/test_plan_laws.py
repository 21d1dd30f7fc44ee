"""What holds after any commands at all, checked from the rows alone.

Unique entries are exactly those of the rows, references lead somewhere, a revision grows by one at each
change and is never used twice for one key, and nothing but a success changes anything.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.effort import effort
from tests.support.machine import Machine
from tests.unit.plan import test_bindings, test_decisions, test_deletes, test_loops, test_uniques
from treadle.model import contract as c
from treadle.model import types as t
from treadle.model.facts import Cells, RowRef, Verdict

SOURCES = {
    each.__name__.rpartition(".")[2]: each.SOURCE
    for each in (test_bindings, test_decisions, test_deletes, test_loops, test_uniques)
}

# Few values, so that commands meet each other's rows.
SMALL: dict[type, list[Any]] = {
    t.U64: [0, 0, 0, 1, 2, 3],
    t.I64: [-1, 0, 1],
    t.Uuid: [b"a" * 16, b"b" * 16],
    t.String: ["a", "b"],
    t.Bool: [False, True],
}


def cell_of(draw: st.DrawFn, kind: t.Type, entities: dict[str, c.Entity]) -> Any:
    if isinstance(kind, t.Optional):
        return draw(st.sampled_from([None, cell_of(draw, kind.item, entities)]))
    if isinstance(kind, t.List):
        count = draw(st.integers(kind.minimum, min(kind.maximum, 3)))
        return tuple(cell_of(draw, kind.item, entities) for _ in range(count))
    if isinstance(kind, t.Record):
        return tuple(cell_of(draw, member.type, entities) for member in entities[kind.entity].members)
    return draw(st.sampled_from(SMALL[type(kind)]))


@st.composite
def calls(draw: st.DrawFn, machine: Machine) -> list[tuple[str, Cells, Cells]]:
    """Command names, inputs and service values."""
    made = []
    for _ in range(draw(st.integers(1, 25))):
        plan = machine.plan.commands[draw(st.sampled_from(sorted(machine.plan.commands)))]
        entities = machine.view.entities
        input = tuple(
            "k" if field.name == plan.declaration.idempotency_key else cell_of(draw, field.type, entities)
            for field in plan.inputs
        )
        services = tuple(b"7" * 16 if each.kind == "uuid_v7" else machine.time for each in plan.services)
        made.append((plan.name, input, services))
    return made


def populate(machine: Machine) -> None:
    """Rows in partition 0 that most commands can do something with."""
    entities = machine.plan.entities
    if "Shelf" in entities:
        for shelf in range(4):
            machine.put("Shelf", 0, shelf, "label")
            machine.put("Book", 0, shelf, shelf, f"title {shelf}")
            for loan in range(shelf):
                machine.put("Loan", 0, shelf + 3 * loan, shelf, 10 * shelf + loan)
    if "Total" in entities:
        machine.put("Total", 0, 0, 0)
        machine.put("Crate", 0, 1, 600, 0)
    if "Seat" in entities:
        for seat in range(3):
            machine.put("Seat", 0, seat, "Free", b"a" * 16, machine.time + 9, 1)
        machine.put("Hall", 0, 0, 0, 2)


def check_uniques(machine: Machine) -> None:
    entries = {}
    for (name, key), row in machine.view.rows.items():
        entity = machine.plan.entities[name]
        for unique in entity.declaration.uniques:
            entry = (name, unique.name, tuple(row.cells[entity.positions[field]] for field in unique.fields))
            assert entry not in entries, "two rows hold one entry"
            entries[entry] = key
    assert entries == machine.view.uniques


def check_references(machine: Machine) -> None:
    for (name, _), row in machine.view.rows.items():
        entity = machine.plan.entities[name]
        for reference in entity.declaration.references:
            source = dict(zip(reference.target_fields, reference.fields, strict=True))
            target = machine.plan.entities[reference.target]
            fields = [source[member.name] for member in target.declaration.key]
            key = tuple(row.cells[entity.positions[field]] for field in fields)
            assert (reference.target, key) in machine.view.rows, "a reference to nothing"


def check_revisions(machine: Machine, verdict: Verdict, highest: dict[RowRef, int]) -> None:
    for change in verdict.changes:
        ref = (change.entity, change.key)
        if change.cells is None:
            assert change.before is not None
            assert change.revision == change.before.revision
        elif change.before is not None:
            assert change.revision == change.before.revision + 1
        elif machine.plan.entities[change.entity].tombstones:
            assert change.revision == highest.get(ref, 0) + 1
        else:
            assert change.revision == 1
        highest[ref] = max(highest.get(ref, 0), change.revision)
        assert change.cells is None or change.cells[: len(change.key)] == change.key


@pytest.mark.parametrize("name", sorted(SOURCES))
@settings(max_examples=effort(60), deadline=None)
@given(data=st.data())
def test_rows_entries_references_and_revisions_agree(name: str, data: st.DataObject) -> None:
    machine = Machine(SOURCES[name])
    highest: dict[RowRef, int] = {}
    populate(machine)
    for command, input, services in data.draw(calls(machine)):
        machine.time += 1
        names = [field.name for field in machine.plan.commands[command].inputs]
        verdict = machine.run(command, services=services, **dict(zip(names, input, strict=True)))
        check_revisions(machine, verdict, highest)
        check_uniques(machine)
        check_references(machine)
