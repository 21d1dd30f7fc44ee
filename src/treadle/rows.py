"""One stored row as an application reads it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from treadle.engine.state import Deployed
from treadle.errors import InvalidInput
from treadle.model.facts import Cells, Row
from treadle.text import were_given


class StoredRow:
    """A committed row: `revision` and `fields` (key fields first), as Python values. Compares by value."""

    __slots__ = ("commit", "entity", "fields", "revision")

    def __init__(self, deployed: Deployed, entity: str, row: Row) -> None:
        members = deployed.plan.entities[entity].members
        self.entity = entity
        self.revision = row.revision
        self.commit = row.commit
        self.fields: dict[str, Any] = {
            field.name: deployed.codec.python(field.type)(cell)
            for field, cell in zip(members, row.cells, strict=True)
        }

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StoredRow):
            return NotImplemented
        return (self.entity, self.revision, self.fields) == (other.entity, other.revision, other.fields)

    def __hash__(self) -> int:
        return hash((self.entity, self.revision, self.commit))

    def __repr__(self) -> str:
        return f"<{self.entity} at revision {self.revision}>"


def read_key(deployed: Deployed, entity: str, key: Sequence[Any] | Any) -> Cells:
    """The key's cells, from values in declared order; a lone value stands for a key of one field."""
    plan = deployed.plan.entities[entity]
    fields = plan.members[: plan.key_count]
    values = tuple(key) if isinstance(key, tuple | list) else (key,)
    if len(values) != len(fields):
        names = ", ".join(field.name for field in fields)
        raise InvalidInput(f"the key of {entity} is ({names}); {were_given(len(values))}", path="key")
    read = deployed.codec.reader
    return tuple(
        read(field.type)(value, f"key.{field.name}") for field, value in zip(fields, values, strict=True)
    )
