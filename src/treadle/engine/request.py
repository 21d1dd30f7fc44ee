"""Admission outside the batch: a command's input becomes cells, an identity and a hash."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from treadle.access.caller import Caller
from treadle.engine.state import Deployed, State
from treadle.errors import ContractMismatch, HistoryChanged, RequestError
from treadle.model import canonical
from treadle.model.facts import Cells
from treadle.plan import CommandPlan
from treadle.ports.clock import Clock, Ids

IDENTITY = "treadle.idempotency/v1"
INPUT = "treadle.input/v1"


class Request(NamedTuple):
    """One call as it came in: it can be admitted again under another contract.

    `history` and `contract` are the history incarnation and the contract's identity (hex) that the caller
    relies on, None for no expectation; `request_id` is 16 bytes for the log.
    """

    command: str
    input: Mapping[str, Any]
    caller: Caller
    history: str | None = None
    contract: str | None = None
    request_id: bytes | None = None


class Admitted(NamedTuple):
    """A request under one contract. `identities` are looked up; the first is what a new receipt gets.

    `services` holds 16 fresh bytes for each uuid_v7 and None for each transaction_time, which the batch
    seals. `hashes` pairs with `identities`: the keyed hash of the input under the same digest key.
    """

    deployed: Deployed
    plan: CommandPlan
    input: Cells
    canonical: bytes
    identities: tuple[bytes, ...]
    hashes: tuple[bytes, ...]
    services: Cells


def admit(request: Request, state: State, clock: Clock, ids: Ids, sealed: Cells | None = None) -> Admitted:
    """Read the input and compute the idempotency identity.

    `sealed` are the service ids of an earlier admission of the same request, which stay.
    Raises `UnknownName`, `InvalidInput` and `Malformed` for what the caller must correct, `Denied` for a
    command that its role does not allow, whether it exists or not, and `ContractMismatch` for a request
    that cannot be read because the caller was made for another contract.
    """
    state.roles.check_command(request.caller, request.command)  # before the name: it may not be known
    deployed = state.require()
    try:
        plan = deployed.command(request.command)
        cells, body = deployed.codec.input_reader(plan.name).read(request.input)
    except RequestError:
        check_contract(request, state)  # a caller of another contract learns that, not how its input differs
        raise
    services = sealed if sealed is not None else _services(plan, clock, ids)
    if plan.key_input is None:
        return Admitted(deployed, plan, cells, body, (), (), services)
    return Admitted(
        deployed,
        plan,
        cells,
        body,
        identities(request.caller, state, plan.name, cells[plan.key_input]),
        tuple(canonical.keyed(digest, INPUT, body) for digest in state.digests.readable),
        services,
    )


def identities(caller: Caller, state: State, command: str, key: str | bytes) -> tuple[bytes, ...]:
    """The idempotency identities of a caller's key for a command, one for each readable digest key."""
    name = state.require().contract.name
    who = _packed(state.database, caller.tenant, caller.principal, name, command)
    material = who + canonical.pack((key,))
    return tuple(canonical.keyed(digest, IDENTITY, material) for digest in state.digests.readable)


@lru_cache(maxsize=1024)
def _packed(database: bytes, tenant: str, principal: str, contract: str, command: str) -> bytes:
    """What the identities of one service's calls of one command begin with: packing joins its parts."""
    return canonical.pack((database, tenant, principal, contract, command))


def check_history(request: Request, state: State) -> None:
    """Raise `HistoryChanged` if the caller relies on another history incarnation."""
    if request.history is not None and request.history != state.history:
        raise HistoryChanged("the database was restored since; read the state again before you rely on it")


def check_contract(request: Request, state: State) -> None:
    """Raise `ContractMismatch` if the caller relies on a contract that is not the deployed one."""
    deployed = state.deployed
    if request.contract is not None and (deployed is None or deployed.identity != request.contract):
        raise ContractMismatch(
            "another contract is deployed than the one that the caller was made for; "
            "read the contract and generate the client again"
        )


def _services(plan: CommandPlan, clock: Clock, ids: Ids) -> Cells:
    if not plan.services:
        return ()
    return tuple(ids.uuid7(clock.now()) if service.kind == "uuid_v7" else None for service in plan.services)
