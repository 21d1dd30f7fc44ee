"""Looking up what a key was answered, without running anything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from treadle.access.caller import Caller
from treadle.engine import command as commands
from treadle.engine import state as states
from treadle.engine.core import Engine
from treadle.engine.grants import confirm
from treadle.engine.receipt import Receipt
from treadle.engine.request import identities
from treadle.engine.state import Deployed, State
from treadle.errors import InvalidInput, KeyExpired, TerminalFailure
from treadle.model import record
from treadle.ports.store import ReadTx, is_stub

Recalled = Receipt | TerminalFailure | KeyExpired | None
"""A stored answer; a stored failure or a pruned receipt, as an object; or None for a key that is free."""


def recall(engine: Engine, caller: Caller, command: str, keys: Sequence[Any]) -> list[Recalled]:
    """What these idempotency keys of the caller were answered for a command, in order, all of one snapshot.

    Raises `Denied` for a command that the caller's role does not allow, `UnknownName`, and `InvalidInput` for
    a command without an idempotency key, or a key that it cannot have.
    """
    state = confirm(engine, caller, engine.clock.now())
    state.roles.check_command(caller, command)
    plan = state.require().command(command)
    if plan.key_input is None:
        raise InvalidInput(f"command {command} has no idempotency key; nothing of it is kept", path="key")
    read = state.require().codec.reader(plan.inputs[plan.key_input].type)
    wanted = [identities(caller, state, command, read(key, "key")) for key in keys]
    with engine.store.read() as tx:
        numbers = iter(tx.receipts([identity for each in wanted for identity in each]))
        found = [next((n for n in [next(numbers) for _ in each] if n is not None), None) for each in wanted]
        known: dict[bytes, Deployed] = {}
        return [_answer(tx, state, number, known) for number in found]


def _answer(tx: ReadTx, state: State, number: int | None, known: dict[bytes, Deployed]) -> Recalled:
    if number is None:
        return None
    if is_stub(number):
        return KeyExpired("this idempotency key was executed and its receipt has been pruned")
    stored = record.decode(next(tx.log(number, number)).data)
    deployed = state.require()
    identity = stored.contract or b""
    if identity != deployed.identity_bytes:
        deployed = known.setdefault(identity, Deployed(states.load_contract(tx, identity.hex()), {}))
    try:
        return commands.recall(deployed, stored, state.history)
    except TerminalFailure as failure:
        return failure
