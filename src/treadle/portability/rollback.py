"""Rollback: a named backup takes the place of the database, which is kept beside it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, NamedTuple

from treadle.access.caller import Caller
from treadle.engine import retained
from treadle.engine.core import Engine
from treadle.errors import InvalidInput, Refused
from treadle.portability.files import flush_folder, wrapped
from treadle.portability.restore import restore
from treadle.ports.clock import Clock, Ids
from treadle.ports.store import ReadTx, Store
from treadle.registry import load

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
Alone = Callable[[str], AbstractContextManager[str]]


class RolledBack(NamedTuple):
    """A rollback: the database, the file that was there before, what lay between them.

    `number` is the record of the restore, `history` the new history incarnation; `commits` and `advances`
    were in the old database only.
    """

    path: Path
    kept: Path
    number: int
    history: str
    commits: int
    advances: int


def backup_path(database: Path, name: str) -> Path:
    """Where the backup of a name lies: beside the database. Raises `InvalidInput` for what is no name."""
    if not NAME.fullmatch(name):
        raise InvalidInput("a backup's name has letters, digits, dots, - and _, at most 64", path="name")
    return database.with_name(f"{database.name}.{name}.backup")


def rollback(
    database: Path,
    name: str,
    open_store: Callable[[str], Store],
    alone: Alone,
    clock: Clock,
    ids: Ids,
    *,
    discard_advances: bool = False,
    caller: Caller,
) -> RolledBack:
    """Put the backup `name` in the place of the database, as a new history incarnation.

    The database must not be open anywhere. It is kept beside, under a name with its last record's number.
    Raises `InvalidInput` for a backup that is not there, or is none of this database; `Refused`
    (`advances_discarded`) where enrolled advances would be lost and `discard_advances` is false; `Busy` where
    the database is open; what `restore` raises. Then nothing has changed.
    """
    backup = backup_path(database, name)
    if not backup.is_file():
        raise InvalidInput(f"there is no backup {backup.name}", path="name")
    commits, advances, head = _between(database, backup, open_store, clock, ids)
    if advances and not discard_advances:
        raise Refused(
            f"advances_discarded: {advances} signed advances came after the backup and would be lost; "
            "if that is meant, say --discard-advances",
            reason="advances_discarded",
            remedy="say --discard-advances, or bring the advances back by hand",
        )
    fresh = database.with_name(f".{database.name}.rolling-back")
    fresh.unlink(missing_ok=True)
    kept = database.with_name(f"{database.name}.before-rollback-{head}")
    if os.path.lexists(kept):
        raise InvalidInput(f"{kept} is there from an earlier rollback; move it away first", path="name")
    restored = restore(backup, fresh, open_store, clock, ids, caller=caller)
    try:
        with alone(str(database)) as path:
            os.link(path, kept)
            os.replace(fresh, path)
            flush_folder(database.parent)
    except OSError as error:
        raise wrapped(error, f"cannot put the backup in the place of {database}") from error
    finally:
        fresh.unlink(missing_ok=True)
        Path(f"{fresh}-lock").unlink(missing_ok=True)
    return RolledBack(database, kept, restored.number, restored.history, commits, advances)


def _between(
    database: Path, backup: Path, open_store: Callable[[str], Store], clock: Clock, ids: Ids
) -> tuple[int, int, int]:
    """Commits and enrolled advances that only the database has, and its last record's number."""
    mark = _head(backup, open_store)
    store = open_store(str(database))
    try:
        engine = Engine(store, clock, ids, maximum_jump=None)
        with engine.store.read() as tx:
            if not _of_history(tx, mark):
                raise InvalidInput(f"{backup.name} is no backup of this database's history", path="name")
            number = tx.head().number
            advances: int = load("graph.audit").advances_after(tx, mark[0])
            return number - mark[0], advances, number
    finally:
        store.close()


def _of_history(tx: ReadTx, mark: tuple[int, bytes]) -> bool:
    """Whether a record of this number and hash is part of the log, or the last that was pruned from it.

    Raises `InvalidInput` for one before that: what came after it is not known any more.
    """
    number, digest = mark
    begins = retained.snapshot(tx)
    floor = 0 if begins is None else begins.number
    if number < floor:
        raise InvalidInput(
            f"the backup ends at record {number}, and records up to {floor} were pruned from the log, so "
            "what would be lost cannot be told; restore it into a new file with `treadle restore`",
            path="name",
        )
    if begins is not None and number == floor:
        return begins.hash_bytes == digest
    entry = next(tx.log(number, number), None) if number else None
    return number == 0 or (entry is not None and entry.hash == digest)


def _head(backup: Path, open_store: Callable[[str], Store]) -> tuple[int, bytes]:
    """The last record of a backup; what opening it leaves beside it is removed again."""
    store = open_store(str(backup))
    try:
        with store.read() as tx:
            head = tx.head()
            return head.number, head.hash
    finally:
        store.close()
        for end in ("-lock", "-wal", "-shm"):
            Path(f"{backup}{end}").unlink(missing_ok=True)
