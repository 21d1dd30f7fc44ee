"""C025 (and C002, C004, C046) for uniques: they begin with the partition and hold no optional."""

from __future__ import annotations

from treadle.model import types as t
from treadle.riff import syntax as s
from treadle.riff.checks.indexes import keyed
from treadle.riff.names import listed_once
from treadle.riff.symbols import EntitySymbol, Unit, own_fields


def uniques(unit: Unit) -> None:
    for entity in unit.entities.values():
        for unique in entity.uniques.values():
            listed_once(unit.report, unique.fields, f"unique {unique.name.text}")
            found = keyed(unit, entity, unique.fields, f"unique {unique.name.text}")
            for name, member in zip(unique.fields, found, strict=False):
                if isinstance(member.type, t.Optional):
                    message = (
                        f"a unique cannot hold the optional field `{name.text}`: make the field required"
                    )
                    unit.report.add("C025", name.at, message)
            _partition(unit, entity, unique)


def _partition(unit: Unit, entity: EntitySymbol, unique: s.Unique) -> None:
    partition = entity.partition()
    if partition is None:
        return
    wanted = own_fields(partition)
    given = [name.text for name in unique.fields][: len(wanted)]
    if set(given) != set(wanted):
        message = f"a unique begins with the partition's fields; write ({', '.join(wanted)}, …)"
        unit.report.add("C025", unique.fields[0].at, message)
