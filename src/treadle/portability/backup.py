"""Online backup: a consistent copy while others go on writing, opened and checked before it gets its name."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from treadle.engine.core import Engine
from treadle.errors import DatabaseCorrupt, InvalidInput
from treadle.portability.files import appearing, flush_folder
from treadle.ports.store import Head, Store

Progress = Callable[[int, int], None]
OpenStore = Callable[[str], Store]

_NAME: Final = re.compile(r"treadle-\d{8}T\d{6}\.\d{6}Z-\d+\.db")


class BackedUp(NamedTuple):
    """A finished backup: the file, and the last log record that is in it."""

    path: Path
    number: int
    hash: str
    bytes: int


def backup(
    engine: Engine, target: Path, open_store: OpenStore, *, progress: Progress | None = None
) -> BackedUp:
    """Copy the whole database into the new file `target`.

    The copy is one snapshot: every commit up to its head, none after. It is opened and checked before it
    appears under its name. `progress` is called with pages copied and in all.
    Raises `InvalidInput` if `target` exists or the store cannot be copied, `DiskFull`, `StoreError`.
    """
    if not engine.store.capabilities.durable:
        raise InvalidInput("a memory database has no file; use `export` to keep its rows", path="target")
    with appearing(target) as temporary:
        engine.store.copy(str(temporary), progress)
        head = _checked(str(temporary), open_store)
    return BackedUp(target, head.number, head.hash.hex(), target.stat().st_size)


def _checked(path: str, open_store: OpenStore) -> Head:
    """Open the copy as any database is opened, and look at the chain's end; returns its head."""
    copy = open_store(path)
    try:
        with copy.read() as tx:
            head = tx.head()
            problems = tx.integrity()
            last = next(tx.log(head.number, head.number), None) if head.number else None
    finally:
        copy.close()
    if problems:
        raise DatabaseCorrupt(f"the copy does not pass the check: {problems[0]}. The disk may be failing")
    if head.number and (last is None or last.hash != head.hash):
        raise DatabaseCorrupt("the copy's log does not end at its head")
    return head


def backup_into(
    engine: Engine,
    folder: Path,
    open_store: OpenStore,
    *,
    keep: int | None = None,
    progress: Progress | None = None,
) -> tuple[BackedUp, list[Path]]:
    """A backup with a name of its own in `folder`, and at most `keep` of them left; for a scheduler to call.

    Only files that this function named are ever removed, the oldest first, and only after the new one is
    complete. Returns the backup and what was removed.
    """
    if keep is not None and keep < 1:
        raise InvalidInput("keep at least one backup", path="keep")
    if not folder.is_dir():
        raise InvalidInput(f"there is no folder {folder}; create it first", path="folder")
    with engine.store.read() as tx:
        number = tx.head().number
    now = datetime.fromtimestamp(engine.clock.now() / 1_000_000, UTC)
    name = f"treadle-{now:%Y%m%dT%H%M%S.%f}Z-{number}.db"
    made = backup(engine, folder / name, open_store, progress=progress)
    removed: list[Path] = []
    if keep is not None:
        old = sorted(path for path in folder.iterdir() if _NAME.fullmatch(path.name))
        for path in old[: max(0, len(old) - keep)]:
            path.unlink()
            removed.append(path)
        flush_folder(folder)
    return made, removed
