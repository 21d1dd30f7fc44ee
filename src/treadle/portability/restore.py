"""Restore: a backup becomes a new database, with a history incarnation of its own."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from treadle import limits
from treadle.access.caller import Caller
from treadle.engine import state as states
from treadle.engine.acts import ActJob, scan
from treadle.engine.batch import Batch
from treadle.engine.command import row_images
from treadle.engine.core import Engine
from treadle.errors import DatabaseCorrupt, InvalidInput
from treadle.model.facts import RowChange, Verdict
from treadle.portability.files import appearing
from treadle.ports.clock import Clock, Ids
from treadle.ports.store import Store
from treadle.registry import load

ENROLLMENT: Final = "graph.enrollment"
"""The setting of a database whose runs are folded when it is restored."""


class Restored(NamedTuple):
    """A restored database: its file, the record of the restore, the new history, leases advanced."""

    path: Path
    number: int
    history: str
    advanced: int


class RestoreJob(ActJob):
    """The record of a restore: it ends the old history incarnation and may advance fences.

    `advance` is added to the fence of every row that has a lease: an outside resource that knows only the
    highest fence it has seen would otherwise refuse the restored database's next holders, or accept ones
    that were replaced after the backup. The result is the record's number and how many rows were advanced.
    """

    __slots__ = ("advance", "branch", "note")

    def __init__(self, caller: Caller, note: dict[str, Any], advance: int, branch: bytes) -> None:
        super().__init__(caller)
        self.branch = branch
        self.note = note
        self.advance = advance

    def act(self, batch: Batch) -> None:
        changes = tuple(self._changes(batch)) if self.advance else ()
        verdict = Verdict("", (), False, changes=changes)
        entry = self.entry(batch, "restore", "", {**self.note, "advanced_by": self.advance})
        if changes:
            entry = entry._replace(changes=row_images(batch.state.require(), verdict))
        number = batch.append(entry)
        batch.overlay.apply(verdict, number)
        states.begin_history(batch.tx, self.branch)
        self.result = (number, len(changes))

    def _changes(self, batch: Batch) -> Iterator[RowChange]:
        deployed = batch.state.deployed
        for workflow in deployed.contract.workflows if deployed else ():
            if deployed is None or workflow.lease is None:
                continue
            table = deployed.tables[workflow.entity]
            place = [column.field for column in table.columns].index(workflow.lease.fencing_token)
            for row in scan(batch.tx, table):
                fence = row.cells[place] + self.advance
                if fence > limits.U64_MAX:
                    raise InvalidInput("a fence would pass 2**64-1; advance by less", path="advance_fences")
                cells = (*row.cells[:place], fence, *row.cells[place + 1 :])
                yield RowChange(table.entity, row.cells[: table.key_count], row, row.revision + 1, cells)


def restore(
    source: Path,
    target: Path,
    open_store: Callable[[str], Store],
    clock: Clock,
    ids: Ids,
    *,
    advance_fences: int = 0,
    caller: Caller,
) -> Restored:
    """Make the backup `source` a new database at `target`.

    The history incarnation rises, so cursors, receipts and expectations from before are told apart; the point
    it was restored to is in the log. In a database that was enrolled in workflow processing every run is
    folded, each signature under the keys of its time. Raises `InvalidInput` if `source` is missing or
    `target` exists, `DatabaseCorrupt` if the backup does not verify; then nothing is left behind.
    """
    if not source.is_file():
        raise InvalidInput(f"there is no backup {source}", path="source")
    if advance_fences < 0:
        raise InvalidInput("fences only go forward", path="advance_fences")
    if any(Path(f"{source}{end}").exists() for end in ("-wal", "-journal")):
        raise InvalidInput(
            f"{source} is a database in use, not a backup; make one with `treadle backup`", path="source"
        )
    with appearing(target) as temporary:
        shutil.copyfile(source, temporary)
        temporary.chmod(0o600)
        store = open_store(str(temporary))
        try:
            number, history, advanced = _begin(store, clock, ids, caller, advance_fences)
        finally:
            store.close()
    return Restored(target, number, history, advanced)


def _begin(store: Store, clock: Clock, ids: Ids, caller: Caller, advance: int) -> tuple[int, str, int]:
    engine = Engine(store, clock, ids, maximum_jump=None)
    with store.read() as tx:
        head = tx.head()
        problem = load("graph.audit").first_problem(tx) if tx.setting(ENROLLMENT) is not None else None
    if problem is not None:
        raise DatabaseCorrupt(f"the backup's signed history does not hold: {problem}")
    note = {"restored_to": head.number, "hash": head.hash.hex()}
    job = RestoreJob(caller, note, advance, ids.token(8))
    answer = engine.submit([job])[0]
    if isinstance(answer, BaseException):
        raise answer
    number, advanced = answer
    return number, engine.refresh().history, advanced
