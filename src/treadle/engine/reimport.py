"""Importing exported rows: a chunk is one job and one record, run by the operator's import only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from treadle.access.caller import Caller
from treadle.engine.batch import Batch
from treadle.engine.command import contained, outcome_bytes, row_images
from treadle.engine.job import Job
from treadle.engine.state import State
from treadle.errors import ContractMismatch, KeyExpired
from treadle.model import canonical, record
from treadle.model.facts import Cells, Verdict
from treadle.model.record import LogRecord
from treadle.plan import SEMANTICS_VERSION, ReimportPlan
from treadle.ports.store import is_stub

IDENTITY = "treadle.import/v1"


class Chunk(NamedTuple):
    """Records of one file, in order. `file` is that file's SHA-256, `number` the chunk's place from 0.

    `contract` is the identity (32 bytes) of the contract that the records were read under.
    """

    reimport: str
    campaign: str
    file: bytes
    number: int
    records: Sequence[Cells]
    revisions: Sequence[int]
    contract: bytes

    def identity(self, state: State) -> bytes:
        """What makes a chunk run once: the command, the campaign, the file and its place in it."""
        material = canonical.pack((state.database, self.reimport, self.campaign, self.file, self.number))
        return canonical.keyed(state.digests.current, IDENTITY, material)


class Done(NamedTuple):
    """How a chunk ended: its record's number, the outcome, whether an earlier run had done it."""

    number: int
    outcome: str
    success: bool
    replayed: bool


class ReimportJob(Job):
    """Restores one chunk; the result is a `Done`. The caller needs the `restore` permission."""

    __slots__ = ("caller", "chunk")

    def __init__(self, caller: Caller, chunk: Chunk, size: int) -> None:
        super().__init__(size)
        self.caller = caller
        self.chunk = chunk

    def announce(self, batch: Batch) -> None:
        contained(self, self._announce, batch)

    def _announce(self, batch: Batch) -> None:
        batch.check_token(self.caller)
        batch.state.roles.check_permission(self.caller, "restore")
        batch.want_receipts([self.chunk.identity(batch.state)])
        if self.chunk.contract == batch.state.require().identity_bytes:
            batch.overlay.want(self._plan(batch).access(self.chunk.records))

    def _plan(self, batch: Batch) -> ReimportPlan:
        return batch.state.require().plan.reimports[self.chunk.reimport]

    def step(self, batch: Batch) -> None:
        if self.error is None:
            contained(self, self._step, batch)

    def _step(self, batch: Batch) -> None:
        identity = self.chunk.identity(batch.state)
        earlier = batch.recorded.get(identity)
        if isinstance(earlier, ReimportJob):  # the same chunk twice in one batch: this one replays the first
            self.result = earlier.result._replace(replayed=True)
            return
        known = batch.receipts.get(identity)
        if known is not None and is_stub(known):
            raise KeyExpired("this chunk was imported and its receipt has been pruned; it cannot run again")
        if known is not None:
            stored = record.decode(next(batch.tx.log(known, known)).data)
            self.result = Done(known, stored.outcome or stored.failure or "", stored.success, True)
            return
        if self.chunk.contract != batch.state.require().identity_bytes:
            raise ContractMismatch("a contract was deployed meanwhile; run the same import again to go on")
        verdict = self._plan(batch).evaluate(self.chunk.records, self.chunk.revisions, batch.overlay)
        number = batch.append(self._record(batch, verdict, identity), identity)
        batch.overlay.apply(verdict, number)
        batch.recorded[identity] = self
        self.result = Done(number, verdict.failure or verdict.outcome, verdict.success, False)

    def _record(self, batch: Batch, verdict: Verdict, identity: bytes) -> LogRecord:
        deployed, chunk = batch.state.require(), self.chunk
        return LogRecord(
            number=0,
            time=0,
            previous=record.GENESIS,
            kind="reimport",
            name=chunk.reimport,
            principal=self.caller.principal,
            actor_kind=self.caller.kind,
            role=self.caller.role,
            actor_instance=self.caller.instance or None,
            manual_clock=batch.manual_clock,
            contract=deployed.identity_bytes,
            contract_version=deployed.version,
            semantics=SEMANTICS_VERSION,
            identity=identity,
            input=deployed.codec.input_reader(chunk.reimport).encode((tuple(chunk.records),)),
            outcome=None if verdict.failure is not None else verdict.outcome,
            fields=outcome_bytes(deployed, chunk.reimport, verdict),
            success=verdict.success,
            failure=verdict.failure,
            constraint=verdict.constraint,
            revisions=tuple(verdict.revisions),
            changes=row_images(deployed, verdict),
            body=canonical.encode(
                {
                    "campaign": chunk.campaign,
                    "file": chunk.file,
                    "chunk": chunk.number,
                    "revisions": list(chunk.revisions),
                }
            ),
        )
