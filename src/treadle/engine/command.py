"""A command's turn in a batch: authorize, replay or evaluate, record, answer."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from treadle.access.caller import Caller
from treadle.engine.batch import Batch
from treadle.engine.job import Job
from treadle.engine.receipt import Receipt
from treadle.engine.request import Admitted, Request, admit, check_contract, check_history
from treadle.engine.state import Deployed
from treadle.errors import Denied, Internal, KeyExpired, KeyReused, TerminalFailure, TreadleError
from treadle.model import canonical, record
from treadle.model.facts import Cells, Key, Row, Sealed, Verdict
from treadle.model.record import EventImage, LogRecord, RowImage
from treadle.plan import SEMANTICS_VERSION
from treadle.ports.clock import Clock, Ids
from treadle.ports.store import is_stub

_LOG: Final = logging.getLogger("treadle.engine")

FAILURES: Final = {
    "arithmetic": "a result is out of its type's range, or a division is by zero",
    "unique_conflict": "another row holds this unique value",
    "invariant_violated": "an invariant does not hold for the result",
    "duplicate_target": "two bindings name the same row",
    "row_too_large": "a row would pass one mebibyte",
    "revision_exhausted": "a row's revision cannot grow any further",
}


class CommandJob(Job):
    """One command. Admitted by its caller before it queues; admitted again if a deployment came between."""

    __slots__ = ("_clock", "_ids", "_sealed", "admitted", "request")

    def __init__(self, request: Request, admitted: Admitted, clock: Clock, ids: Ids) -> None:
        super().__init__(size=512 + 2 * len(admitted.canonical))
        self.request = request
        self.admitted = admitted
        self._clock = clock
        self._ids = ids

    def announce(self, batch: Batch) -> None:
        """Authorize, and tell the batch which receipts and rows this command needs."""
        contained(self, self._announce, batch)

    def step(self, batch: Batch) -> None:
        """Replay the stored answer of the key, or evaluate, record and answer."""
        if self.error is None:
            contained(self, self._step, batch)

    def _announce(self, batch: Batch) -> None:
        caller = batch.confirmed(self.request.caller)
        if caller is not self.request.caller:
            self.request = self.request._replace(caller=caller)
        if self.admitted.deployed is not batch.state.deployed:
            self.admitted = admit(self.request, batch.state, self._clock, self._ids, self._ids_kept(batch))
        admitted = self.admitted
        batch.state.roles.check_command(caller, admitted.plan.name)
        check_tenant(admitted, caller)
        batch.want_receipts(admitted.identities)
        services = self._services(batch)
        batch.overlay.want(admitted.plan.access(admitted.input, services, caller.facts))

    def _step(self, batch: Batch) -> None:
        if not self._replay(batch):
            check_history(self.request, batch.state)
            check_contract(self.request, batch.state)
            self._evaluate(batch)

    def _ids_kept(self, batch: Batch) -> Cells | None:
        """The service ids sealed at acceptance stay, unless the command declares others by now."""
        deployed = batch.state.deployed
        plan = deployed.plan.commands.get(self.request.command) if deployed else None
        same = plan is not None and plan.services == self.admitted.plan.services
        return self.admitted.services if same else None

    def _services(self, batch: Batch) -> Cells:
        return tuple(batch.time if value is None else value for value in self.admitted.services)

    def _replay(self, batch: Batch) -> bool:
        admitted = self.admitted
        for identity, digest in zip(admitted.identities, admitted.hashes, strict=True):
            earlier = batch.recorded.get(identity)
            if isinstance(earlier, CommandJob):
                self._repeat(earlier, digest)
                return True
            number = batch.receipts.get(identity)
            if number is not None:
                self._recall(batch, number, digest)
                return True
        return False

    def _repeat(self, earlier: CommandJob, digest: bytes) -> None:
        """The same key twice in one batch: the first evaluated, this one replays it."""
        if earlier.admitted.hashes[0] != digest:
            raise _reused()
        if isinstance(earlier.error, TerminalFailure):
            raise again(earlier.error)
        self.result = earlier.result.again()

    def _recall(self, batch: Batch, number: int, digest: bytes) -> None:
        if is_stub(number):
            raise KeyExpired(
                "this idempotency key was executed and its receipt has been pruned; it cannot run again"
            )
        entry = next(batch.tx.log(number, number))
        stored = record.decode(entry.data)
        if stored.input_hash != digest:
            raise _reused()
        deployed = batch.state.require()
        if stored.contract != deployed.identity_bytes:
            deployed = batch.contract(stored.contract or b"")
        self.result = recall(deployed, stored, batch.state.history)

    def _evaluate(self, batch: Batch) -> None:
        admitted, caller = self.admitted, self.request.caller
        services = self._services(batch)
        facts = dict(caller.facts) if caller.facts else {}
        sealed = Sealed(batch.time, services, facts, batch.state.roles.policed(caller))
        verdict = admitted.plan.evaluate(admitted.input, sealed, batch.overlay)
        number = batch.number
        if admitted.identities or admitted.plan.writes:
            number = batch.append(
                self._record(verdict, sealed), admitted.identities[0] if admitted.identities else None
            )
            batch.overlay.apply(verdict, number)
        if admitted.identities:
            batch.recorded[admitted.identities[0]] = self
        self._answer(batch, verdict, number)

    def _answer(self, batch: Batch, verdict: Verdict, number: int) -> None:
        if verdict.failure is not None:
            raise failure(verdict.failure, verdict.constraint, number)
        self.result = Receipt(
            self.admitted.deployed,
            self.admitted.plan,
            verdict.outcome,
            verdict.fields,
            ok=verdict.success,
            commit=number,
            time=batch.time,
            history=batch.state.history,
            revisions=verdict.revisions,
        )

    def _record(self, verdict: Verdict, sealed: Sealed) -> LogRecord:
        admitted, caller = self.admitted, self.request.caller
        deployed, plan = admitted.deployed, admitted.plan
        codec = deployed.codec
        return LogRecord(
            number=0,
            time=0,
            previous=record.GENESIS,
            kind="command",
            name=plan.name,
            principal=caller.principal,
            actor_kind=caller.kind,
            request=self.request.request_id,
            role=caller.role,
            actor_instance=caller.instance or None,
            tenant=canonical.encode(caller.tenant) if caller.tenant else None,
            policy_set=deployed.policy_names if sealed.policed else (),
            facts=codec.facts_encoder(sealed.facts) if sealed.facts else None,
            services=codec.services_encoder(plan.name)(sealed.services) if sealed.services else None,
            manual_clock=self._clock.manual,
            contract=deployed.identity_bytes,
            contract_version=deployed.version,
            semantics=SEMANTICS_VERSION,
            identity=admitted.identities[0] if admitted.identities else None,
            input_hash=admitted.hashes[0] if admitted.hashes else None,
            input=admitted.canonical,
            outcome=None if verdict.failure is not None else verdict.outcome,
            fields=outcome_bytes(deployed, plan.name, verdict),
            success=verdict.success,
            failure=verdict.failure,
            constraint=verdict.constraint,
            revisions=tuple(verdict.revisions),
            changes=row_images(deployed, verdict),
            events=event_images(deployed, verdict),
        )


def check_tenant(admitted: Admitted, caller: Caller) -> None:
    """Raise `Denied` where the caller is bound to a tenant and the command belongs to another partition."""
    if not caller.tenant:
        return
    expression = admitted.plan.declaration.partition
    partition = admitted.plan.partition(admitted.input)
    if expression is not None and partition is not None:
        shown = admitted.deployed.codec.json(expression.type, True)(partition[0])
        if shown == caller.tenant:
            return
    raise Denied("the caller is bound to one tenant, and this command belongs to another partition")


def outcome_bytes(deployed: Deployed, command: str, verdict: Verdict) -> bytes | None:
    """The outcome's fields as they stand in the log; None for a terminal failure."""
    if verdict.failure is not None:
        return None
    return deployed.outcome_encoders[command, verdict.outcome](verdict.fields)


def row_images(deployed: Deployed, verdict: Verdict) -> tuple[RowImage, ...]:
    """The written rows as they stand in the log."""
    return tuple([_row_image(deployed, *change) for change in verdict.changes])


def _row_image(
    deployed: Deployed, entity: str, key: Key, before: Row | None, revision: int, cells: Cells | None
) -> RowImage:
    encode_key, encode_row = deployed.row_encoders[entity]
    last = before.commit if before is not None else 0
    return RowImage(entity, encode_key(key), last, revision, None if cells is None else encode_row(cells))


def event_images(deployed: Deployed, verdict: Verdict) -> tuple[EventImage, ...]:
    """The emitted events as they stand in the log and in their streams."""
    if not verdict.events:
        return ()
    codec = deployed.codec
    return tuple(
        EventImage(
            event.name,
            codec.partition_encoder(event.name)(event.partition),
            codec.event_encoder(event.name)(event.cells),
        )
        for event in verdict.events
    )


def recall(deployed: Deployed, stored: LogRecord, history: str) -> Receipt:
    """The stored answer of a command; raises the stored `TerminalFailure`."""
    if stored.failure is not None:
        raise failure(stored.failure, stored.constraint, stored.number, replayed=True)
    plan = deployed.plan.commands[stored.name]
    outcome = stored.outcome or ""
    return Receipt(
        deployed,
        plan,
        outcome,
        deployed.codec.outcome_decoder(plan.name, outcome)(stored.fields or b""),
        ok=stored.success,
        commit=stored.number,
        time=stored.time,
        history=history,
        revisions=stored.revisions,
        replayed=True,
    )


def failure(code: str, constraint: str | None, number: int, *, replayed: bool = False) -> TerminalFailure:
    """The terminal failure of record `number`."""
    named = f" ({constraint})" if constraint else ""
    return TerminalFailure(
        f"{FAILURES.get(code, code)}{named}; nothing was changed",
        code=code,
        constraint=constraint,
        commit=number,
        replayed=replayed,
    )


def again(error: TerminalFailure) -> TerminalFailure:
    """The same terminal failure, as a repeat of the key gets it."""
    return TerminalFailure(
        error.message, code=error.code, constraint=error.constraint, commit=error.commit, replayed=True
    )


def contained(job: Job, act: Callable[[Batch], None], batch: Batch) -> None:
    """Act for one job alone: what goes wrong is its own answer, never its neighbours'."""
    try:
        act(batch)
    except TreadleError as error:
        job.error = error
    except Exception as error:  # ours, not the caller's; the batch goes on without this job
        job.error = unexpected(error)


def unexpected(error: Exception) -> Internal:
    """An error of ours: the caller hears that nothing happened, the log has the place but no values."""
    _LOG.error("unexpected %s while a command was evaluated", type(error).__name__, exc_info=error)
    answer = Internal("an unexpected error; nothing was recorded and the key is free. Please report it")
    answer.__cause__ = error
    return answer


def _reused() -> KeyReused:
    return KeyReused(
        "this idempotency key was used before with another input; use a fresh key for a new command"
    )


__all__ = ["CommandJob", "contained", "failure", "recall", "unexpected"]
