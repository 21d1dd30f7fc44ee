"""Deletes: removal comes after all other effects, and its policy is asked of the result.

`restrict` refuses while an index of another entity has an entry for the key; `cascade` takes the listed
relationships' rows along, at most the stated number of each. What the command itself did counts: a row
that it deletes is no obstacle, one that it makes is; a row that it writes cannot at the same time go
with a cascade (the terminal failure `duplicate_target`). A row that policy hides ends the command
denied: a principal cannot remove, or be told of, what it does not see.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from treadle.model import contract as c
from treadle.model.facts import Cells, Key, Range, RowChange, Verdict
from treadle.plan.entities import EntityPlan
from treadle.plan.expressions import Leaf
from treadle.plan.frame import CHANGES, OWNERS, SEALED, VIEW, Bound, Failure, Frame, Step
from treadle.plan.policies import denied
from treadle.plan.positions import picker
from treadle.plan.verdicts import DUPLICATE, failure
from treadle.plan.writes import Write, unwritten

Removal: TypeAlias = Step


@dataclass(frozen=True, slots=True)
class Inbound:
    """Rows of `entity` found by `index` for a deleted key.

    `values_of` takes the index's leading values out of the deleted row's key; `prefix_of` takes them out
    of a row of `entity`, None where the row has no entry in the index.
    """

    entity: EntityPlan
    index: str
    values_of: Callable[[Sequence[Any]], Cells]
    prefix_of: Callable[[Cells], Cells | None]


def inbound(deleted: EntityPlan, entity: EntityPlan, index_name: str, reference: str | None) -> Inbound:
    """How rows of `entity` point at rows of `deleted`, by the named index."""
    index = next(each for each in entity.declaration.indexes if each.name == index_name)
    leading = index.fields[: deleted.key_count]
    positions = _key_positions(deleted, entity, leading, reference)
    present = entity.at(index.presence)
    prefix = picker(entity.at(leading))

    def prefix_of(cells: Cells) -> Cells | None:
        return None if any(cells[position] is None for position in present) else prefix(cells)

    return Inbound(entity, index_name, picker(positions), prefix_of)


def _key_positions(
    deleted: EntityPlan, entity: EntityPlan, leading: Sequence[str], reference: str | None
) -> tuple[int, ...]:
    """For each leading field of the index the key field it points at: the reference says which."""
    for each in entity.declaration.references:
        named = reference is None or each.name == reference
        if named and each.target == deleted.name and set(each.fields) == set(leading):
            targets = dict(zip(each.fields, each.target_fields, strict=True))
            return deleted.at([targets[field] for field in leading])
    return tuple(range(deleted.key_count))


def removal_of(
    bound: Bound, entities: Mapping[str, EntityPlan], outcomes: Mapping[str, c.OutcomeDecl], leaf: Leaf
) -> Removal | None:
    """The step that asks a delete binding's policy; None where it has nothing to ask.

    It runs on the binding's own frame, after `collect`.
    """
    policy = bound.entity.declaration.delete_policy
    declaration = bound.declaration
    match policy:
        case c.Restrict() if declaration.restrict is not None:
            answer = failure(declaration.restrict, outcomes, leaf)
            return _restrict(
                bound, inbound(bound.entity, entities[policy.entity], policy.index, None), answer
            )
        case c.Cascade() if declaration.cascade is not None:
            answer = failure(declaration.cascade, outcomes, leaf)
            return _cascade(bound, policy, entities, answer)
        case _:
            return None


def _restrict(bound: Bound, into: Inbound, answer: Failure) -> Removal:
    def restrict(frame: Frame) -> Verdict | None:
        stored, made = _pointing(bound, into, frame, 1)
        if stored:
            policy = into.entity.policy
            row = frame[VIEW].row(into.entity.name, stored[0])
            if policy is not None and policy.hides(row, frame[SEALED], frame[VIEW]):
                raise denied()
        return answer(frame) if stored or made else None

    return restrict


def _pointing(bound: Bound, into: Inbound, frame: Frame, most: int) -> tuple[list[Key], list[Key]]:
    """The rows that point at the deleted one: stored ones that the command leaves alone (at most `most`),
    and rows that it writes."""
    values = into.values_of(frame[bound.slot])
    own: dict[Key, RowChange] = {
        change.key: change for change in frame[CHANGES] if change.entity == into.entity.name
    }
    made = [
        key for key, each in own.items() if each.cells is not None and into.prefix_of(each.cells) == values
    ]
    asked = Range(into.entity.name, into.index, values, most + len(own))
    stored = [key for key in frame[VIEW].probe(asked) if key not in own]
    return stored[:most], made


def _cascade(bound: Bound, policy: c.Cascade, entities: Mapping[str, EntityPlan], answer: Failure) -> Removal:
    relationships = [
        (
            inbound(bound.entity, entities[each.entity], each.index, each.reference),
            each.maximum,
            each.reference,
        )
        for each in policy.relationships
    ]

    def cascade(frame: Frame) -> Verdict | None:
        for into, maximum, name in relationships:
            stored, made = _pointing(bound, into, frame, maximum + 1)
            if made:
                return DUPLICATE
            if len(stored) > maximum:
                return answer(frame)
            for key in stored:
                _take_along(into.entity, key, name, frame)
        return None

    return cascade


def _take_along(entity: EntityPlan, key: Key, relationship: str, frame: Frame) -> None:
    row = frame[VIEW].row(entity.name, key)
    if entity.policy is not None and entity.policy.hides(row, frame[SEALED], frame[VIEW]):
        raise denied()
    frame[CHANGES].append(RowChange(entity.name, key, row, row.revision, None))
    frame[OWNERS].append((Write(relationship, entity, False, unwritten, {}, {}), frame))
