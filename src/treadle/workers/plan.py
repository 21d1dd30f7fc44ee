"""A worker's commands fitted to a deployed contract: everything that a turn needs to call them."""

from __future__ import annotations

import uuid
from collections.abc import Container, Mapping
from typing import Any, Final, NamedTuple

from treadle.errors import ConfigError, InvalidInput
from treadle.model import contract as c
from treadle.model import types as t
from treadle.model.contract import Contract, Lease
from treadle.model.types import Type
from treadle.model.values import Codec
from treadle.workers.steps import (
    Leased,
    Place,
    Step,
    command_of,
    fits,
    found_step,
    lease_effects,
    step,
    unmet,
)

LEASE_SECONDS: Final = (5, 900)
"""The bounds of a worker's lease, within those that the contract declares."""

HELD: Final = ("fence", "renew", "release", "expire")
"""What a command may do with the lease that a turn holds."""

OFFERED: Final[Mapping[str, Type]] = {
    "error": t.String(1_024),
    "attempts": t.U64_,
    "delay_seconds": t.U64_,
    "retry_at": t.TIMESTAMP,
}
"""What a failed turn can tell a `retry` or `dead_letter` command, by the names of its inputs."""


class Names(NamedTuple):
    """The commands that a worker names; those that are None are looked for, or left out."""

    claim: str
    finish: str
    start: str | None = None
    release: str | None = None
    renew: str | None = None
    retry: str | None = None
    dead_letter: str | None = None


class Plan(NamedTuple):
    """A worker's commands under one contract. `values` are the worker's own inputs, the same for every item.

    `token`, `attempts` and `row` say where the claim's answer holds the fencing token, the number of attempts
    and the whole row. `owner` is the worker's id and `seconds` how long it leases.
    """

    contract: Contract
    leased: Leased
    claim: Step
    finish: Step
    start: Step | None
    release: Step | None
    renew: Step | None
    retry: Step | None
    dead_letter: Step | None
    token: Place
    attempts: Place | None
    row: Place | None
    values: Mapping[str, Any]
    owner: uuid.UUID
    seconds: int

    @property
    def lease(self) -> Lease:
        return self.leased.lease

    def step_of(self, name: str) -> Step:
        """How to call any command of the contract in a turn; raises `ConfigError` for one that cannot be."""
        command = command_of(self.contract, name)
        if any(effect.workflow == self.leased.workflow.name for effect in lease_effects(command)):
            return step(self.contract, name, self.leased, HELD)
        if command.idempotency_key is None:
            raise ConfigError(f"command {name} has no idempotency key, so it cannot be repeated safely")
        return Step(
            command=command,
            binding="",
            op="",
            evidence={command.idempotency_key: "key"},
            key_fields={},
            others=tuple(one for one in command.inputs if one.name != command.idempotency_key),
            stale=frozenset(),
            unowned=frozenset(),
            taken=frozenset(),
            misfit=frozenset(),
            missing=frozenset(),
        )


class Worth(NamedTuple):
    """What a worker brings to its commands: types of what a row gives, own values, its id and lease.

    `usable` are the commands that its role allows, of which it may take one that it was not told of.
    """

    types: Mapping[str, Type]
    values: Mapping[str, Any]
    owner: uuid.UUID
    seconds: int
    usable: Container[str]


def fit(contract: Contract, leased: Leased, names: Names, worth: Worth) -> Plan:
    """Fit a worker's commands to a contract.

    Raises `ConfigError` with the first thing that does not fit, and what to do about it.
    """
    codec = Codec(contract)

    def fitted(name: str | None, ops: tuple[str, ...], offered: Mapping[str, Type]) -> Step | None:
        if name is None:
            return None
        made = step(contract, name, leased, ops)
        _check_values(made, worth.values, codec)
        _check_inputs(made, {**worth.types, **offered}, worth.values)
        return made

    claim = step(contract, names.claim, leased, ("claim",))
    _check_values(claim, worth.values, codec)
    _check_inputs(claim, worth.types, worth.values)
    finish = step(contract, names.finish, leased, HELD)
    _check_values(finish, worth.values, codec)
    release = names.release or found_step(contract, leased, "release", worth.usable)
    if release is None and not finish.releases:
        without = f"command {names.finish} does not end the lease"
        raise ConfigError(f"{without}, and no usable command only releases it; name one: release='…'")
    return Plan(
        contract=contract,
        leased=leased,
        claim=claim,
        finish=finish,
        start=fitted(names.start, HELD, {}),
        release=fitted(release, ("release",), {}),
        renew=fitted(names.renew or found_step(contract, leased, "renew", worth.usable), ("renew",), {}),
        retry=fitted(names.retry, HELD, OFFERED),
        dead_letter=fitted(names.dead_letter, HELD, OFFERED),
        token=_token(claim, leased.lease),
        attempts=claim.place(leased.lease.attempts) if leased.lease.attempts is not None else None,
        row=_row(claim),
        values=worth.values,
        owner=worth.owner,
        seconds=lease_seconds(worth.seconds, leased),
    )


def lease_seconds(wanted: int, leased: Leased) -> int:
    """The lease's length, checked against the contract's bounds and a worker's."""
    least, most = max(LEASE_SECONDS[0], leased.lease.minimum), min(LEASE_SECONDS[1], leased.lease.maximum)
    if least > most:
        raise ConfigError(
            f"lease {leased.lease.name} lasts {leased.lease.minimum} to {leased.lease.maximum} seconds, "
            f"and a worker's {LEASE_SECONDS[0]} to {LEASE_SECONDS[1]}"
        )
    if not least <= wanted <= most:
        raise ConfigError(f"lease={wanted}: write {least} to {most} seconds for lease {leased.lease.name}")
    return wanted


def _check_inputs(made: Step, types: Mapping[str, Type], values: Mapping[str, Any]) -> None:
    """Raise `ConfigError` for an input that nothing provides."""
    missing = [one for one in unmet(made, types) if one.name not in values]
    if not missing:
        return
    one = missing[0]
    given = types.get(one.name)
    if given is not None:
        raise ConfigError(
            f"command {made.name} needs {one.name} as {one.type}, and the row has it as {given}; "
            f"give it another way: inputs={{'{one.name}': …}}"
        )
    raise ConfigError(
        f"command {made.name} needs {one.name}: {one.type}, which neither the lease nor the row gives; "
        f"add it to what the rows hold, or give it: inputs={{'{one.name}': …}}"
    )


def _check_values(made: Step, values: Mapping[str, Any], codec: Codec) -> None:
    """Raise `ConfigError` for a value of the worker's own that is not of its input's type."""
    for one in made.others:
        if one.name in values:
            try:
                codec.reader(one.type)(values[one.name], f"inputs.{one.name}")
            except InvalidInput as error:
                raise ConfigError(f"for command {made.name}, {error.message}") from None


def _token(claim: Step, lease: Lease) -> Place:
    place = claim.place(lease.fencing_token)
    if place is None:
        raise ConfigError(
            f"command {claim.name} must answer with the fencing token, as in "
            f"`return {claim.command.success.name} {{ {claim.binding}: {claim.binding} }}`"
        )
    return place


def _row(claim: Step) -> Place | None:
    for assigned in claim.command.success.fields:
        if isinstance(assigned.value, c.BindingRow) and assigned.value.binding == claim.binding:
            return Place(assigned.name)
    return None


__all__ = ["HELD", "OFFERED", "Names", "Plan", "Worth", "fit", "fits", "lease_seconds"]
