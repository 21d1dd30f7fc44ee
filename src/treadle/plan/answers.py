"""What each command would answer now for one row: why a claim is refused, until when, what would change it.

The caller's evidence is taken to be right: the row's revision, its holder and fence, a duration within
bounds. Requirements and decisions that read the row, constants and the time alone are evaluated (`standing`).
What depends on anything else (inputs, other rows) is not guessed: `certain` is then false, and the answer is
the one that the row alone allows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from treadle import limits
from treadle.model import contract as c
from treadle.model.facts import Cell, Row
from treadle.plan.entities import EntityPlan, LeasePlan
from treadle.plan.standing import Standing, standing

if TYPE_CHECKING:
    from treadle.plan import CommandPlan, Plan

MICROSECONDS: Final = 1_000_000


class LeaseNow(NamedTuple):
    """A lease at a given time. `owner` and `fence` are evidence: mask them for whoever may not see it."""

    name: str
    owner: Cell
    expires_at: int | None
    fence: int

    def live(self, time: int) -> bool:
        """Whether somebody holds it; at equality it has expired."""
        return self.owner is not None and self.expires_at is not None and self.expires_at > time


class Answer(NamedTuple):
    """What `command` would answer for the row that its binding `binding` names.

    `outcome` is a declared outcome, or the code of a terminal failure. `until` is the time in microseconds at
    which a lease changes the answer by itself, None where none does. `needs` are the inputs that have to
    match the row. `reason` and `remedy` are one phrase each, without values of the row.
    """

    command: str
    binding: str
    outcome: str
    success: bool
    certain: bool
    until: int | None
    needs: tuple[str, ...]
    reason: str
    remedy: str


class _Found(NamedTuple):
    outcome: str
    reason: str
    remedy: str
    until: int | None = None


def lease_now(entity: EntityPlan, row: Row) -> LeaseNow | None:
    """The lease of a row; None where its entity has none."""
    lease = entity.lease
    if lease is None:
        return None
    cells = row.cells
    return LeaseNow(lease.name, cells[lease.owner], cells[lease.expires_at], cells[lease.fencing_token])


def answers(plan: Plan, entity: str, row: Row | None, time: int) -> list[Answer]:
    """The answers of all commands that write rows of `entity` outside a loop, in the contract's order.

    `row` is the row, None where there is none; `time` is the store's, in microseconds.
    """
    found = []
    for command in plan.commands.values():
        for binding in command.declaration.bindings:
            if binding.entity == entity and binding.kind != "read":
                found.append(_answer(plan.entities[entity], command, binding, row, time))
    return found


def _answer(
    entity: EntityPlan, command: CommandPlan, binding: c.Binding, row: Row | None, time: int
) -> Answer:
    declared = command.declaration
    effects: list[c.Effect] = [
        each for each in declared.effects if not isinstance(each, c.Emit) and each.binding == binding.name
    ]
    alone = len(declared.bindings) == 1 and declared.loop is None
    found = _bound(binding, row)
    certain = declared.bindings[0] is binding if found is not None else alone
    if found is None:
        stands = _standing(entity, declared, binding, row, time)
        effects = [*stands.effects, *effects]
        certain = certain and stands.sure
        found = _Found(*stands.refused, "") if stands.refused is not None else None
    if found is None and row is not None:
        found = next(_refusals(entity, binding, effects, row, time), None)
    certain = certain and entity.policy is None
    needs = tuple(dict.fromkeys(name for effect in effects for name in _evidence(effect)))
    if found is None:
        success, until = declared.success.name, _held_until(entity, effects, row)
        reason = "nothing stands against it"
        return Answer(declared.name, binding.name, success, True, certain, until, needs, reason, "")
    outcome, reason, remedy, until = found
    return Answer(declared.name, binding.name, outcome, False, certain, until, needs, reason, remedy)


def _standing(
    entity: EntityPlan, declared: c.Command, binding: c.Binding, row: Row | None, time: int
) -> Standing:
    """What the command's own conditions say of the row; a row that is yet to be made answers none of them."""
    known = row is not None and binding.kind != "create"
    return standing(declared, binding.name, entity, row.cells if known and row is not None else None, time)


def _held_until(entity: EntityPlan, effects: Sequence[c.Effect], row: Row | None) -> int | None:
    """Until when an operation that needs a live lease can succeed."""
    needing = any(isinstance(effect, c.LeaseEffect) and effect.op in ("renew", "fence") for effect in effects)
    now = lease_now(entity, row) if row is not None and needing else None
    return None if now is None else now.expires_at


def _evidence(effect: c.Effect) -> Iterator[str]:
    match effect:
        case c.TransitionEffect():
            yield effect.revision
        case c.LeaseEffect():
            yield effect.revision
            yield from (
                name for name in (effect.owner, effect.fencing_token) if name and effect.op != "claim"
            )
        case _:
            pass


def _bound(binding: c.Binding, row: Row | None) -> _Found | None:
    """What the binding itself answers, before everything else."""
    if binding.failure is None:
        return None
    if row is None and binding.kind != "create":
        return _Found(binding.failure.name, "there is no such row", "create it first")
    if row is not None and binding.kind == "create":
        return _Found(binding.failure.name, "the row is there already", "use another key, or delete it first")
    return None


def _refusals(
    entity: EntityPlan, binding: c.Binding, effects: Sequence[c.Effect], row: Row, time: int
) -> Iterator[_Found]:
    """What the row stands in the way of, in the order in which the command's effects would find it."""
    if binding.kind == "create":
        return
    for effect in effects:
        match effect:
            case c.TransitionEffect():
                yield from _transition(entity, effect, row)
            case c.LeaseEffect():
                yield from _lease(entity, effect, row, time)
            case _:
                pass
    if row.revision == limits.U64_MAX and binding.kind != "delete":
        yield _Found(
            "revision_exhausted", "its revision cannot grow any further", "create a row under another key"
        )


def _transition(entity: EntityPlan, effect: c.TransitionEffect, row: Row) -> Iterator[_Found]:
    workflow = entity.workflow
    if workflow is None:
        return
    state = row.cells[entity.positions[workflow.state]]
    named = next(each for each in workflow.transitions if each.name == effect.transition)
    if state not in named.sources:
        ways = [
            each.name
            for each in workflow.transitions
            if state in each.sources and each.destination in named.sources
        ]
        remedy = f"take {' or '.join(ways)} first" if ways else f"no single step from {state} leads there"
        yield _Found(effect.illegal.name, f"{state} is not {' or '.join(named.sources)}", remedy)


def _lease(entity: EntityPlan, effect: c.LeaseEffect, row: Row, time: int) -> Iterator[_Found]:
    now, lease = lease_now(entity, row), entity.lease
    if now is None or lease is None:
        return
    unowned = _Found(_name(effect.invalid), "nobody holds the lease", "claim it first")
    match effect.op:
        case "claim":
            yield from _claim(effect, lease, now, row, time)
        case "renew" | "fence":
            if now.owner is None:
                yield unowned
            elif not now.live(time):
                yield _Found(_name(effect.expired), "the lease has expired", "claim it again")
            elif effect.op == "renew" and time + lease.minimum * MICROSECONDS > limits.TIMESTAMP_MAX:
                yield _Found(_name(effect.exhausted), "no later expiry can be written", "release it")
        case "release":
            if now.owner is None:
                yield unowned
        case "expire":
            if now.owner is None:
                yield _Found(_name(effect.active), "nobody holds the lease", "there is nothing to expire")
            elif now.live(time):
                yield _Found(
                    _name(effect.active), "the lease has not expired", "wait for its expiry", now.expires_at
                )


def _claim(effect: c.LeaseEffect, lease: LeasePlan, now: LeaseNow, row: Row, time: int) -> Iterator[_Found]:
    counters = [now.fence] if lease.attempts < 0 else [now.fence, row.cells[lease.attempts]]
    if now.live(time):
        remedy = "wait for its expiry, or for its holder to release it"
        yield _Found(
            _name(effect.unavailable), "the lease is held and has not expired", remedy, now.expires_at
        )
    elif limits.U64_MAX in counters or time + lease.minimum * MICROSECONDS > limits.TIMESTAMP_MAX:
        yield _Found(
            _name(effect.exhausted),
            "a counter or the expiry would overflow",
            "create a row under another key",
        )


def _name(outcome: c.Outcome | None) -> str:
    return "" if outcome is None else outcome.name
