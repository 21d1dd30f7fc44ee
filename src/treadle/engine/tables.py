"""A contract's tables from one version to the next, inside the transaction that puts it into force."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from treadle.engine import state as states
from treadle.engine.state import Deployed
from treadle.errors import check
from treadle.model.contract import Contract
from treadle.model.types import Optional
from treadle.plan.schema import fixed_names
from treadle.ports.store import ReadTx, Table, WriteTx

ENTRIES: Final = 4_096


def named_anew(
    names: Mapping[str, str], tables: Mapping[str, Table], entities: Iterable[str]
) -> dict[str, str]:
    """The fixed names, with new ones for the indexes of these entities' tables, to be built anew."""
    found = dict(names)
    for entity in entities:
        table = tables[entity]
        count = int(table.prefix.rpartition(".")[2]) if table.prefix else 1
        found[f"{entity}:indexes"] = f"{table.name}.{count + 1}"
    return found


def grows(before: Table, after: Table) -> bool:
    """Whether a table with rows may simply be altered: optional columns are added, indexes go."""
    added = set(after.columns) - set(before.columns)
    kept = {before.shape(spec) for spec in before.indexes}
    return (
        before._replace(columns=(), indexes=()) == after._replace(columns=(), indexes=())
        and before.columns[: before.key_count] == after.columns[: after.key_count]
        and set(before.columns) <= set(after.columns)
        and all(isinstance(column.type, Optional) for column in added)
        and kept >= {after.shape(spec) for spec in after.indexes}
    )


def successor(tx: ReadTx, active: Deployed | None, wanted: Contract, anew: Iterable[str] = ()) -> Deployed:
    """What is to be deployed, with its tables' names. The tables of `anew` are built anew."""
    names = states.table_names(tx)
    return Deployed(wanted, named_anew(names, active.tables if active is not None else {}, anew))


def install(tx: WriteTx, active: Deployed | None, deployed: Deployed, built: Mapping[str, Table]) -> None:
    """Create, alter, replace and drop tables, and fix their names. `built` are the tables built anew."""
    before = active.tables if active is not None else {}
    for table in deployed.plan.tables:
        _bring(tx, before.get(table.entity), table, built.get(table.entity))
    for entity, table in before.items():
        if entity not in deployed.tables:
            check(not tx.scan(table, None, 1), "an entity with rows is not removed")
            tx.drop_table(table)
    if active is not None:
        _forget_uniques(tx, active.contract, deployed.contract)
    names = states.table_names(tx) | fixed_names(deployed.plan.tables)
    tx.put_setting(states.TABLE_NAMES, msgspec.json.encode(names, order="sorted"))


def _forget_uniques(tx: WriteTx, before: Contract, after: Contract) -> None:
    """Remove the entries of uniques that are declared no more."""
    kept = {(entity.name, unique.name) for entity in after.entities for unique in entity.uniques}
    for entity in before.entities:
        for unique in entity.uniques:
            if (entity.name, unique.name) not in kept:
                while tx.drop_uniques(entity.name, unique.name, ENTRIES):
                    pass


def _bring(tx: WriteTx, before: Table | None, after: Table, built: Table | None) -> None:
    if before is None:
        tx.create_table(after)
    elif built is not None:
        tx.replace_table(before, built, after)
    elif before == after:
        return
    elif grows(before, after):
        tx.alter_table(before, after)
    else:
        check(not tx.scan(before, None, 1), "a table with rows is not made anew")
        tx.drop_table(before)
        tx.create_table(after)
