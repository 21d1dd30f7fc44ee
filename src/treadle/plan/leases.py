"""The five lease operations, each with its checks in their order.

`stale` comes first: the row's revision before the command is not the one the caller observed. Then:

    claim    duration out of bounds → invalid · owned and not yet expired, by whomever → unavailable ·
             fence, attempts or the new expiry would overflow → exhausted
    renew    duration out of bounds, another owner or fence, unowned → invalid · expired → expired ·
             the new expiry would overflow → exhausted
    release  another owner or fence, unowned → invalid
    expire   unowned, or not yet expired → active
    fence    another owner or fence, unowned → invalid · expired → expired

A lease whose expiry equals the transaction time has expired. Time passing alone never changes a row.
Owner, fence and revision are evidence of holding, never authority.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from treadle import limits
from treadle.errors import InvariantBroken
from treadle.model import contract as c
from treadle.model.facts import Verdict
from treadle.plan.entities import LeasePlan
from treadle.plan.frame import BEFORE, TIME, Bound, Failure, Frame, Scope, Step
from treadle.plan.names import leaf_of
from treadle.plan.verdicts import failure

MICROSECONDS: Final = 1_000_000


class _Operation:
    """One lease operation of a command, while its step is built: slots of its inputs, its outcomes."""

    def __init__(self, scope: Scope, effect: c.LeaseEffect, outcomes: Mapping[str, c.OutcomeDecl]) -> None:
        bound = scope.bounds[effect.binding]
        self.bound: Bound = bound
        self.image = bound.slot
        self.before = bound.slot + BEFORE
        self._scope = scope
        self._effect = effect
        self._outcomes = outcomes
        self.revision = scope.slots[effect.revision]

    @property
    def lease(self) -> LeasePlan:
        lease = self.bound.entity.lease
        if lease is None:
            raise InvariantBroken(f"internal invariant broken: {self.bound.entity.name} has no lease")
        return lease

    def slot(self, name: str | None) -> int:
        if name is None:
            raise InvariantBroken(f"internal invariant broken: lease {self._effect.op} lacks an input")
        return self._scope.slots[name]

    @property
    def owner(self) -> int:
        return self.slot(self._effect.owner)

    @property
    def token(self) -> int:
        return self.slot(self._effect.fencing_token)

    @property
    def duration(self) -> int:
        return self.slot(self._effect.duration)

    def answer(self, name: str) -> Failure:
        outcome = getattr(self._effect, name)
        if outcome is None:
            raise InvariantBroken(f"internal invariant broken: lease {self._effect.op} lacks {name}")
        return failure(outcome, self._outcomes, leaf_of(self._scope))


def lease_step(scope: Scope, effect: c.LeaseEffect, outcomes: Mapping[str, c.OutcomeDecl]) -> Step:
    """The step of a lease operation."""
    return _STEPS[effect.op](_Operation(scope, effect, outcomes))


def _claim(operation: _Operation) -> Step:
    lease = operation.lease
    image_slot, before_slot = operation.image, operation.before
    revision, duration_slot, owner_slot = operation.revision, operation.duration, operation.owner
    owner, expires_at, token, attempts = lease.owner, lease.expires_at, lease.fencing_token, lease.attempts
    minimum, maximum = lease.minimum, lease.maximum
    most, latest = limits.U64_MAX, limits.TIMESTAMP_MAX
    stale, invalid = operation.answer("stale"), operation.answer("invalid")
    unavailable, exhausted = operation.answer("unavailable"), operation.answer("exhausted")

    def claim(frame: Frame) -> Verdict | None:
        if frame[before_slot][0] != frame[revision]:
            return stale(frame)
        duration = frame[duration_slot]
        if not minimum <= duration <= maximum:
            return invalid(frame)
        image = frame[image_slot]
        now = frame[TIME]
        if image[owner] is not None and image[expires_at] > now:
            return unavailable(frame)
        until = now + duration * MICROSECONDS
        if image[token] == most or until > latest:
            return exhausted(frame)
        if attempts >= 0:
            if image[attempts] == most:
                return exhausted(frame)
            image[attempts] += 1
        image[token] += 1
        image[owner] = frame[owner_slot]
        image[expires_at] = until
        return None

    return claim


def _renew(operation: _Operation) -> Step:
    lease = operation.lease
    image_slot, before_slot = operation.image, operation.before
    revision, duration_slot = operation.revision, operation.duration
    owner_slot, token_slot = operation.owner, operation.token
    owner, expires_at, token = lease.owner, lease.expires_at, lease.fencing_token
    minimum, maximum, latest = lease.minimum, lease.maximum, limits.TIMESTAMP_MAX
    stale, invalid = operation.answer("stale"), operation.answer("invalid")
    expired, exhausted = operation.answer("expired"), operation.answer("exhausted")

    def renew(frame: Frame) -> Verdict | None:
        if frame[before_slot][0] != frame[revision]:
            return stale(frame)
        duration = frame[duration_slot]
        image = frame[image_slot]
        # An input owner is never null, so an unowned lease differs from every owner.
        if (
            not minimum <= duration <= maximum
            or image[owner] != frame[owner_slot]
            or image[token] != frame[token_slot]
        ):
            return invalid(frame)
        now = frame[TIME]
        if image[expires_at] <= now:
            return expired(frame)
        until = now + duration * MICROSECONDS
        if until > latest:
            return exhausted(frame)
        image[expires_at] = until
        return None

    return renew


def _release(operation: _Operation) -> Step:
    lease = operation.lease
    image_slot, before_slot, revision = operation.image, operation.before, operation.revision
    owner_slot, token_slot = operation.owner, operation.token
    owner, expires_at, token = lease.owner, lease.expires_at, lease.fencing_token
    stale, invalid = operation.answer("stale"), operation.answer("invalid")

    def release(frame: Frame) -> Verdict | None:
        if frame[before_slot][0] != frame[revision]:
            return stale(frame)
        image = frame[image_slot]
        if image[owner] != frame[owner_slot] or image[token] != frame[token_slot]:
            return invalid(frame)
        image[owner] = image[expires_at] = None
        return None

    return release


def _expire(operation: _Operation) -> Step:
    lease = operation.lease
    image_slot, before_slot, revision = operation.image, operation.before, operation.revision
    owner, expires_at = lease.owner, lease.expires_at
    stale, active = operation.answer("stale"), operation.answer("active")

    def expire(frame: Frame) -> Verdict | None:
        if frame[before_slot][0] != frame[revision]:
            return stale(frame)
        image = frame[image_slot]
        if image[owner] is None or image[expires_at] > frame[TIME]:
            return active(frame)
        image[owner] = image[expires_at] = None
        return None

    return expire


def _fence(operation: _Operation) -> Step:
    lease = operation.lease
    image_slot, before_slot, revision = operation.image, operation.before, operation.revision
    owner_slot, token_slot = operation.owner, operation.token
    owner, expires_at, token = lease.owner, lease.expires_at, lease.fencing_token
    stale, invalid = operation.answer("stale"), operation.answer("invalid")
    expired = operation.answer("expired")

    def fence(frame: Frame) -> Verdict | None:
        if frame[before_slot][0] != frame[revision]:
            return stale(frame)
        image = frame[image_slot]
        if image[owner] != frame[owner_slot] or image[token] != frame[token_slot]:
            return invalid(frame)
        if image[expires_at] <= frame[TIME]:
            return expired(frame)
        return None

    return fence


_STEPS: Final[dict[str, Callable[[_Operation], Step]]] = {
    "claim": _claim,
    "renew": _renew,
    "release": _release,
    "expire": _expire,
    "fence": _fence,
}
