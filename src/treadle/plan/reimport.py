"""Reimport: restoring exported rows, a chunk at a time, as they were.

Only the operator's import runs it. State, lease fields, fence and attempts are kept exactly, so the next
claim is strictly above; the revision is one more than the greater of the exported one and the deleted
key's last one, so nothing that was observed before matches. All or nothing for a chunk. Refused before
anything is decided: a lease with only one of owner and expiry, and a reference to a row that is neither
there nor in the chunk.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from treadle import limits
from treadle.errors import InvalidInput, TooLarge, check
from treadle.model import contract as c
from treadle.model.facts import Access, Cells, Key, RevisionFact, RowChange, RowRef, Sealed, Verdict, View
from treadle.plan.entities import EntityPlan
from treadle.plan.expressions import Function, misplaced
from treadle.plan.frame import CHANGES, FIRST, OWNERS, RELEASED, SEALED, TAKEN, VIEW, Frame, Step
from treadle.plan.invariants import check_invariants, shared_step
from treadle.plan.positions import picker
from treadle.plan.uniques import check_uniques
from treadle.plan.verdicts import (
    DUPLICATE,
    EXHAUSTED,
    TOO_LARGE,
    OutcomePlan,
    failure,
    outcome_plans,
    payload,
    success,
)
from treadle.plan.writes import Write, unwritten


class Problem(NamedTuple):
    """Why a record cannot be imported: its place in the chunk, a stable code, and the field or constraint."""

    record: int
    code: str
    where: str


class _Reference(NamedTuple):
    name: str
    target: str
    key_of: Function


class ReimportPlan:
    """The program that restores rows of `entity`. `input` is its one list input."""

    def __init__(self, reimport: c.Reimport, entities: Mapping[str, EntityPlan]) -> None:
        self.declaration = reimport
        self.name = reimport.name
        self.input = reimport.input
        self.entity = entities[reimport.entity]
        self.outcomes: Mapping[str, OutcomePlan] = outcome_plans(reimport.outcomes)
        declared = {outcome.name: outcome for outcome in reimport.outcomes}
        self._present = failure(reimport.failure, declared, _leaf)
        self._success = payload(reimport.success, declared, _leaf)
        self._references = tuple(_references(self.entity, entities))
        members = self.entity.members
        self._row_bound = self.entity.sizes.record_bound(members)
        self._any_measure = self.entity.sizes.record_measure(members)
        self._measure = self.entity.sizes.row_measure(self.entity.name)
        self._write = Write(reimport.input.name, self.entity, True, unwritten, {}, {})
        self._checks = tuple(_checks(self.entity))

    def access(self, records: Sequence[Cells]) -> Access:
        """What a chunk may touch: its rows, their references' targets, the root of their aggregate."""
        entity = self.entity
        rows: list[RowRef] = [(entity.name, entity.key_of(record)) for record in records]
        for reference in self._references:
            rows.extend((reference.target, reference.key_of(record)) for record in records)
        aggregate = entity.aggregate
        if aggregate is not None and aggregate.invariants and aggregate.root != entity.name:
            rows.extend((aggregate.root, record[: aggregate.root_key_count]) for record in records)
        uniques = [
            (entity.name, unique.name, unique.values_of(record))
            for unique in entity.uniques
            for record in records
        ]
        return Access(rows, uniques, False)

    def evaluate(self, records: Sequence[Cells], revisions: Sequence[int], view: View) -> Verdict:
        """Decide a chunk. `revisions` are the exported ones, one a record.

        Answers the reimport's failure outcome where a row is present, and the terminal failures of any
        command. Raises `InvalidInput`, with the record's path, for what cannot be a row of this database, and
        `TooLarge` for a chunk over a command's limit.
        """
        check(len(records) == len(revisions), "one exported revision a record")
        self._check_size(records)
        for problem in self._refusals(records, view):
            raise InvalidInput(
                _REFUSED[problem.code], path=f"{self.input.name}[{problem.record}].{problem.where}"
            )
        frame: Frame = [None] * FIRST
        changes: list[RowChange] = []
        seen: set[Key] = set()
        for record, exported in zip(records, revisions, strict=True):
            verdict = self._restore(record, exported, view, seen, changes)
            if verdict is not None:
                return verdict
        frame[VIEW], frame[SEALED], frame[CHANGES] = view, _OPERATOR, changes
        frame[OWNERS] = [(self._write, frame)] * len(changes)
        frame[RELEASED] = frame[TAKEN] = ()
        for step in self._checks:
            verdict = step(frame)
            if verdict is not None:
                return verdict
        facts = [RevisionFact(self._write.name, number, each.revision) for number, each in enumerate(changes)]
        return success(
            self.declaration.success.name,
            self._success(frame),
            tuple(changes),
            frame[RELEASED],
            frame[TAKEN],
            (),
            tuple(facts) if self.entity.workflow is not None else (),
        )

    def _check_size(self, records: Sequence[Cells]) -> None:
        """Input and rows together are every record twice."""
        if 2 * len(records) * self._row_bound > limits.COMMAND_BYTES:
            size = 2 * sum(map(self._any_measure, records))
            if size > limits.COMMAND_BYTES:
                raise TooLarge(
                    f"input and rows have {size} bytes, over {limits.COMMAND_BYTES}; send fewer records"
                )

    def _restore(
        self, record: Cells, exported: int, view: View, seen: set[Key], changes: list[RowChange]
    ) -> Verdict | None:
        key = self.entity.key_of(record)
        if key in seen:
            return DUPLICATE
        seen.add(key)
        if view.row(self.entity.name, key) is not None:
            return self._present([])
        if self._too_large(record):
            return TOO_LARGE
        revision = self._revision(key, exported, view)
        if revision is None:
            return EXHAUSTED
        changes.append(RowChange(self.entity.name, key, None, revision, record))
        return None

    def _revision(self, key: Key, exported: int, view: View) -> int | None:
        last = view.last_revision(self.entity.name, key) if self.entity.tombstones else 0
        highest = max(exported, last)
        return highest + 1 if highest < limits.U64_MAX else None

    def _too_large(self, record: Cells) -> bool:
        return self._measure is not None and self._measure(record) > limits.ROW_BYTES

    def problems(self, records: Sequence[Cells], revisions: Sequence[int], view: View) -> list[Problem]:
        """Everything that keeps these records from being imported, looked at one by one, in order.

        For the list that an operator sees before anything is written; invariants that several rows share
        are checked by `evaluate` only.
        """
        found = list(self._refusals(records, view))
        seen: set[Key] = set()
        held: set[tuple[str, Cells]] = set()
        for number, (record, exported) in enumerate(zip(records, revisions, strict=True)):
            found.extend(
                Problem(number, *each) for each in self._own_problems(record, exported, view, seen, held)
            )
        return sorted(found)

    def _own_problems(
        self, record: Cells, exported: int, view: View, seen: set[Key], held: set[tuple[str, Cells]]
    ) -> Iterator[tuple[str, str]]:
        entity, key = self.entity, self.entity.key_of(record)
        if key in seen:
            yield "duplicate_target", entity.name
        elif view.row(entity.name, key) is not None:
            yield "present", entity.name
        seen.add(key)
        if self._too_large(record):
            yield "row_too_large", entity.name
        if self._revision(key, exported, view) is None:
            yield "revision_exhausted", entity.name
        for unique in entity.uniques:
            values = unique.values_of(record)
            if (unique.name, values) in held or view.holder((entity.name, unique.name, values)) is not None:
                yield "unique_conflict", unique.name
            held.add((unique.name, values))
        for invariant in entity.invariants:
            if not invariant.holds(record):
                yield "invariant_violated", invariant.name

    def _refusals(self, records: Sequence[Cells], view: View) -> Iterator[Problem]:
        """What is refused before anything is decided."""
        own = {self.entity.key_of(record) for record in records}
        lease = self.entity.lease
        for number, record in enumerate(records):
            if lease is not None and (record[lease.owner] is None) != (record[lease.expires_at] is None):
                yield Problem(number, "half_lease", self.entity.members[lease.owner].name)
            for reference in self._references:
                target = reference.key_of(record)
                inside = reference.target == self.entity.name and target in own
                if not inside and view.row(reference.target, target) is None:
                    yield Problem(number, "missing_reference", reference.name)


_OPERATOR: Final = Sealed(0)  # row policies are for applications

_REFUSED: Final[Mapping[str, str]] = {
    "half_lease": "a lease has both an owner and an expiry, or neither; correct the record",
    "missing_reference": "the row that this reference names is not there; import it first",
}


def _leaf(expr: c.Expr) -> Function:
    """Payloads of a reimport hold constants only."""
    raise misplaced(expr)


def _references(entity: EntityPlan, entities: Mapping[str, EntityPlan]) -> Iterator[_Reference]:
    for reference in entity.declaration.references:
        sources = dict(zip(reference.target_fields, reference.fields, strict=True))
        target = entities[reference.target]
        key = [sources[member.name] for member in target.members[: target.key_count]]
        yield _Reference(reference.name, reference.target, picker(entity.at(key)))


def _checks(entity: EntityPlan) -> Iterator[Step]:
    if entity.uniques:
        yield check_uniques
    if entity.invariants:
        yield check_invariants
    if entity.aggregate is not None and entity.aggregate.invariants:
        yield shared_step(entity.aggregate, (), ())
