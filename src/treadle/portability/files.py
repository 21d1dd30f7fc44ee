"""New files that appear whole or not at all, durable, and never in the place of another."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from treadle.errors import DiskFull, InvalidInput, ReadOnly, StoreError, TreadleError


@contextlib.contextmanager
def appearing(target: Path) -> Iterator[Path]:
    """A temporary path beside `target`; when the block ends well, it becomes `target`, flushed to the disk.

    The file must not have been created by the caller before. Raises `InvalidInput` if `target` exists (also
    if it appears meanwhile), `DiskFull`, `ReadOnly` or `StoreError`; then nothing is left behind.
    """
    if os.path.lexists(target):
        raise taken(target)
    folder = None
    try:
        folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent))
        temporary = folder / target.name
        yield temporary
        _flush(temporary)
        os.link(temporary, target)  # unlike a rename, a link never replaces what is there
        flush_folder(target.parent)
    except FileExistsError:
        raise taken(target) from None
    except OSError as error:
        raise wrapped(error, f"cannot write {target}") from error
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def taken(target: Path) -> InvalidInput:
    """The error of a target that exists."""
    return InvalidInput(
        f"{target} exists already, and nothing is ever overwritten; name a new file", path="target"
    )


def _flush(path: Path) -> None:
    with open(path, "rb") as file:
        os.fsync(file.fileno())


def flush_folder(folder: Path) -> None:
    """Make new and removed names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def wrapped(error: OSError, what: str) -> TreadleError:
    """An operating system's error as one of ours, with what was being done."""
    reason = error.strerror or type(error).__name__
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(f"{what}: {reason}; make room and try again. Nothing was left behind")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return ReadOnly(f"{what}: {reason}; check the permissions of its folder")
    return StoreError(f"{what}: {reason}")
