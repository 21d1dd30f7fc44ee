"""A disk that fails: a SQLite VFS which errs, fills up, tears a write or loses what was not flushed.

    disk = FaultyDisk()
    store = open_database(path, vfs=disk.name)
    disk.arm(Fault(at=7, kind="torn"))           # the 7th operation from here on
    … work, noting what was acknowledged; every error of the store is expected …
    store.close()
    disk.power_cut(keep=random.Random(1))        # what was never flushed survives in part
    store = open_database(path)                  # through the system's own VFS
    … acknowledged = present once, everything else absent or whole …

Operations are writes, flushes, truncations, deletions and openings of the database file and of the
write-ahead log; reads and locks are not counted. `every_fault` runs a workload once for each operation.

Kinds of faults, at operation `at`:

    error   it fails once with an I/O error and does nothing; later ones work
    full    there is no room: writes and truncations to a greater size fail until `disk.repair()`
    broken  it and all later ones fail, until `disk.repair()`
    torn    a write stores only its first half, then as `broken`; another operation is not carried out
    late    it is carried out and fails all the same, then as `broken`

The wal-index (`-shm`) belongs to running processes, not to the disk: it is passed on to the system and
removed by a power cut.
"""

from __future__ import annotations

import errno
import itertools
import os
import random
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias

import apsw

Kind: TypeAlias = Literal["error", "full", "broken", "torn", "late"]
Operation: TypeAlias = Literal["write", "sync", "truncate", "delete", "open"]

Keep: TypeAlias = Literal["all", "none"] | random.Random
"""What a power cut leaves of that which was not flushed."""

KINDS: tuple[Kind, ...] = ("error", "full", "broken", "torn", "late")
SECTOR = 512

_names = itertools.count(1)


class Fault(NamedTuple):
    """Operation number `at` (from 1, counted since `arm`) of those in `operations` fails as `kind` says."""

    at: int
    kind: Kind = "error"
    operations: frozenset[Operation] = frozenset(("write", "sync", "truncate", "delete", "open"))


class _Change(NamedTuple):
    """A change that was not flushed yet: what stood at `offset`, what stands there, the sizes of the file."""

    offset: int
    before: bytes
    after: bytes
    size_before: int
    size_after: int


class FaultyDisk(apsw.VFS):
    """A disk on top of the system's; `name` is what a store takes as `vfs`."""

    def __init__(self) -> None:
        self.name = f"faulty-{next(_names)}"
        self.counted = 0
        self.fired = False
        self.seen: list[Operation] = []
        self._fault: Fault | None = None
        self._state: Literal["fine", "full", "broken"] = "fine"
        self.unflushed: dict[str, list[_Change]] = {}
        self._created: set[str] = set()
        self._databases: set[str] = set()
        super().__init__(self.name, "")

    def arm(self, fault: Fault | None) -> None:
        """Let `fault` happen; the count of operations begins anew. None: only count."""
        self._fault = fault
        self.counted = 0
        self.fired = False
        self.seen = []

    def repair(self) -> None:
        """The cause is gone: room was made, the disk is back."""
        self._state = "fine"
        self._fault = None

    def break_now(self) -> None:
        """From here on every operation fails, as after the loss of power."""
        self._state = "broken"

    def allows(self, operation: Operation, grows: bool = False) -> Kind | None:
        """Count an operation; None if it is to be done, or the kind of fault that meets it."""
        if self._state == "broken":
            return "broken"
        fault = self._fault
        if fault is not None and operation in fault.operations:
            self.counted += 1
            self.seen.append(operation)
            if self.counted == fault.at:
                self.fired = True
                if fault.kind == "full":
                    self._state = "full"
                elif fault.kind != "error":
                    self._state = "broken"
                if fault.kind != "full":
                    return fault.kind
        return "full" if self._state == "full" and grows else None

    def changed(self, path: str, change: _Change) -> None:
        """Note a change that is not flushed yet."""
        self.unflushed.setdefault(path, []).append(change)

    def flushed(self, path: str) -> None:
        """What was noted for a file is on the disk now, and so is its name."""
        self.unflushed.pop(path, None)
        self._created.discard(path)

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        if path is None:
            return apsw.VFSFile("", name, flags)
        if self.allows("open") is not None:
            raise apsw.CantOpenError("no such disk")
        new = not os.path.exists(path)
        if flags[0] & apsw.SQLITE_OPEN_MAIN_DB:
            self._databases.add(path)
        file = _File(self, path, name, flags)
        if new:
            self._created.add(path)
        return file

    def xDelete(self, filename: str, syncdir: bool) -> None:
        if self.allows("delete") is not None:
            raise _failure("SQLITE_IOERR_DELETE")
        super().xDelete(filename, syncdir)
        self.flushed(filename)

    def xGetLastError(self) -> tuple[int, str | None]:
        return errno.EIO, "the disk failed on purpose"

    def power_cut(self, keep: Keep = "none") -> None:
        """Leave in the files only what a disk may hold after a loss of power; close all handles before.

        Flushed data stays. Of the rest all, nothing, or (given a `Random`) any part stays, sector by sector.
        """
        for path, changes in self.unflushed.items():
            if os.path.exists(path):
                _survive(path, changes, keep)
        for path in self._created:
            if keep == "none" and os.path.exists(path):
                os.remove(path)
        self.unflushed.clear()
        self._created.clear()
        self.repair()
        for path in self._databases:
            # After a loss of power no process is left that shares a wal-index.
            if os.path.exists(path + "-shm"):
                os.remove(path + "-shm")


def _failure(name: str) -> apsw.IOError:
    error = apsw.IOError(f"{name} on purpose")
    setattr(error, "extendedresult", apsw.mapping_extended_result_codes[name])  # noqa: B010 - apsw reads it
    return error


class _File(apsw.VFSFile):
    """A file of the disk."""

    def __init__(self, disk: FaultyDisk, path: str, name: Any, flags: list[int]) -> None:
        self._disk = disk
        self._path = path
        super().__init__("", name, flags)

    def _put(self, data: bytes, offset: int) -> None:
        size = super().xFileSize()
        there = max(0, min(len(data), size - offset))
        before = super().xRead(there, offset) if there else b""
        super().xWrite(data, offset)
        self._disk.changed(self._path, _Change(offset, before, data, size, max(size, offset + len(data))))

    def xWrite(self, data: Any, offset: int) -> None:
        kind = self._disk.allows("write", grows=True)
        data = bytes(data)
        if kind == "torn":
            self._put(data[: len(data) // 2], offset)
        if kind in (None, "late"):
            self._put(data, offset)
        if kind == "full":
            raise apsw.FullError("no room on purpose")
        if kind is not None:
            raise _failure("SQLITE_IOERR_WRITE")

    def xSync(self, flags: int) -> None:
        kind = self._disk.allows("sync")
        if kind in (None, "late"):
            self._disk.flushed(self._path)  # the power cut is pretended, so a real flush would only take time
        if kind is not None:
            raise _failure("SQLITE_IOERR_FSYNC")

    def xTruncate(self, newsize: int) -> None:
        size = super().xFileSize()
        kind = self._disk.allows("truncate", grows=newsize > size)
        if kind in (None, "late"):
            before = super().xRead(size - newsize, newsize) if newsize < size else b""
            super().xTruncate(newsize)
            self._disk.changed(self._path, _Change(newsize, before, b"", size, newsize))
        if kind is not None:
            raise _failure("SQLITE_IOERR_TRUNCATE")


def _survive(path: str, changes: list[_Change], keep: Keep) -> None:
    with open(path, "r+b") as file:
        image = bytearray(file.read())
        for change in reversed(changes):
            image[change.offset : change.offset + len(change.after)] = change.before
            image[:] = image[: change.size_before].ljust(change.size_before, b"\0")
        if keep != "none":
            for change in changes:
                _redo(image, change, keep)
        file.seek(0)
        file.write(image)
        file.truncate()


def _redo(image: bytearray, change: _Change, keep: Literal["all"] | random.Random) -> None:
    """Carry out a change again: whole, or the sectors that chance keeps."""
    if not change.after:
        if keep == "all" or keep.random() < 0.5:
            image[:] = image[: change.size_after].ljust(change.size_after, b"\0")
        return
    start = change.offset
    end = start + len(change.after)
    for sector in range(start // SECTOR, (end - 1) // SECTOR + 1):
        if keep == "all" or keep.random() < 0.5:
            first, last = max(start, sector * SECTOR), min(end, (sector + 1) * SECTOR)
            if len(image) < last:
                image.extend(bytes(last - len(image)))
            image[first:last] = change.after[first - start : last - start]


def every_fault(run: Callable[[Fault], bool], kind: Kind, limit: int = 10_000, step: int = 1) -> int:
    """Call `run` with a fault at operation 1, 1 + step, … until one does not fire; returns how many fired.

    `run` works on a fresh database and returns `disk.fired`. Raises AssertionError after `limit` faults.
    """
    for count, at in enumerate(itertools.count(1, step)):
        assert count < limit, f"the workload has more than {limit} operations"
        if not run(Fault(at, kind)):
            return count
    raise AssertionError("unreachable")
