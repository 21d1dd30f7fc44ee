"""The tables of a contract: one for each entity, with a column for each of its fields.

A table is named as its entity and a column as its field, where that name is at most 60 bytes long, differs
from the others even after case folding, and begins with none of the prefixes that stores keep for
themselves. Else it is made to: a reserved beginning gets a leading underscore, and what is too long or
taken gets a suffix `_2`, `_3` … Names once given are fixed at deployment and handed back in as `names`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from treadle.model import contract as c
from treadle.ports.store import Column, IndexSpec, Table

NAME_BYTES: Final = 60
RESERVED: Final = ("sqlite_", "pg_", "treadle_")


def tables(contract: c.Contract, names: Mapping[str, str] | None = None) -> tuple[Table, ...]:
    """The tables of a contract, in the order of its entities.

    `names` maps `Entity` to a table's and `Entity.field` to a column's name that an earlier deployment
    fixed, and `Entity:indexes` to what the names of its indexes begin with where the table was built anew;
    those stay, and new ones keep clear of them, those of entities that are gone included.
    """
    fixed = names or {}
    workflows = {workflow.entity for workflow in contract.workflows}
    given = assign_names(
        [entity.name for entity in contract.entities],
        {key: name for key, name in fixed.items() if "." not in key and ":" not in key},
    )
    return tuple(
        _table(entity, given[entity.name], entity.name in workflows, fixed) for entity in contract.entities
    )


def fixed_names(tables: Iterable[Table]) -> dict[str, str]:
    """What to keep of these tables' names, in the form that `tables` takes: all tables, and those columns
    and prefixes of indexes that are not named as usual."""
    names: dict[str, str] = {}
    for table in tables:
        names[table.entity] = table.name
        if table.prefix:
            names[f"{table.entity}:indexes"] = table.prefix
        names.update(
            (f"{table.entity}.{each.field}", each.name) for each in table.columns if each.name != each.field
        )
    return names


def _table(entity: c.Entity, name: str, tombstones: bool, fixed: Mapping[str, str]) -> Table:
    prefix = entity.name + "."
    own = {key.removeprefix(prefix): column for key, column in fixed.items() if key.startswith(prefix)}
    columns = assign_names([member.name for member in entity.members], own)
    positions = {member.name: position for position, member in enumerate(entity.members)}
    return Table(
        entity=entity.name,
        name=name,
        columns=tuple(Column(member.name, columns[member.name], member.type) for member in entity.members),
        key_count=len(entity.key),
        tombstones=tombstones,
        indexes=tuple(
            IndexSpec(
                index.name,
                tuple(positions[field] for field in index.fields),
                tuple(positions[field] for field in index.presence),
            )
            for index in entity.indexes
        ),
        prefix=fixed.get(f"{entity.name}:indexes", ""),
    )


def assign_names(wanted: Iterable[str], fixed: Mapping[str, str]) -> dict[str, str]:
    """A usable, distinct name for each wanted one.

    In the order given: a successor appends, so what came earlier keeps its name without having it fixed.
    """
    asked = list(wanted)
    given = {name: fixed[name] for name in asked if name in fixed}
    taken = {name.casefold() for name in fixed.values()}
    for name in asked:
        if name not in given:
            given[name] = _free(name, taken)
            taken.add(given[name].casefold())
    return given


def _free(name: str, taken: set[str]) -> str:
    base = f"_{name}" if name.casefold().startswith(RESERVED) else name
    if len(base.encode()) <= NAME_BYTES and base.casefold() not in taken:
        return base
    number = 2
    while True:
        suffix = f"_{number}"
        candidate = base[: NAME_BYTES - len(suffix)] + suffix
        if candidate.casefold() not in taken:
            return candidate
        number += 1
