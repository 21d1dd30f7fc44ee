"""A `View` over plain dictionaries: what the engine's overlay is to a batch, in a few lines.

`apply` takes over what a verdict decided, so that one view can live through many commands. It keeps
unique entries and tombstones by the verdicts alone and answers a probe by looking at every row, so it
shares no reasoning with the plan that it is used to test.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from treadle.model.contract import Contract
from treadle.model.facts import Cells, Key, Range, Row, RowRef, UniqueRef, Verdict


class DictView:
    """Rows, tombstones and unique entries of one contract. `probes` counts what `probe` was asked."""

    def __init__(self, contract: Contract) -> None:
        self.entities = {entity.name: entity for entity in contract.entities}
        self.with_workflow = {workflow.entity for workflow in contract.workflows}
        self.rows: dict[RowRef, Row] = {}
        self.tombstones: dict[RowRef, int] = {}
        self.uniques: dict[UniqueRef, Key] = {}
        self.asked: list[tuple[str, object]] = []
        self.commits = 0

    def put(self, entity: str, cells: Cells, revision: int = 1) -> None:
        """Place a row without a command."""
        declared = self.entities[entity]
        key = cells[: len(declared.key)]
        self.rows[entity, key] = Row(revision, cells)
        names = [member.name for member in declared.members]
        for unique in declared.uniques:
            values = tuple(cells[names.index(field)] for field in unique.fields)
            self.uniques[entity, unique.name, values] = key

    def row(self, entity: str, key: Key) -> Row | None:
        self.asked.append(("row", (entity, key)))
        return self.rows.get((entity, key))

    def last_revision(self, entity: str, key: Key) -> int:
        return self.tombstones.get((entity, key), 0)

    def holder(self, unique: UniqueRef) -> Key | None:
        self.asked.append(("holder", unique))
        return self.uniques.get(unique)

    def probe(self, range_: Range) -> Sequence[Key]:
        self.asked.append(("probe", range_))
        declared = self.entities[range_.entity]
        names = [member.name for member in declared.members]
        index = next(each for each in declared.indexes if each.name == range_.index)
        found = []
        for (entity, key), row in self.rows.items():
            if entity != range_.entity:
                continue
            cells = dict(zip(names, row.cells, strict=True))
            entry = tuple(cells[field] for field in index.fields)
            present = all(cells[field] is not None for field in index.presence)
            if present and entry[: len(range_.values)] == range_.values:
                found.append((entry, key))
        return [key for _, key in sorted(found)][: range_.limit]

    def apply(self, verdict: Verdict) -> None:
        """Take over a verdict's changes."""
        self.commits += 1
        for change in verdict.changes:
            at = (change.entity, change.key)
            if change.cells is None:
                del self.rows[at]
                if change.entity in self.with_workflow:
                    self.tombstones[at] = change.revision
            else:
                self.rows[at] = Row(change.revision, change.cells, self.commits)
                self.tombstones.pop(at, None)
        for unique in verdict.released:
            del self.uniques[unique]
        self._take(verdict.taken)

    def _take(self, taken: Iterable[tuple[UniqueRef, Key]]) -> None:
        for unique, key in taken:
            if unique in self.uniques:
                raise ValueError(f"{unique} is taken twice")
            self.uniques[unique] = key
