"""Copying a database while it is in use: one snapshot, page by page."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final

import apsw

from treadle.store.sqlite.failures import translated

_PAGES: Final = 2_048
"""Pages copied between two calls of `progress`."""


def copy(source: apsw.Connection, target: str, progress: Callable[[int, int], None] | None) -> None:
    """Write the snapshot that `source` has open into the new file `target`, mode 0600.

    `progress` is called with pages copied and in all. Raises what any store raises for its errors.
    """
    os.close(os.open(target, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    copied = apsw.Connection(target)
    try:
        copied.pragma("synchronous", "FULL")
        with copied.backup("main", source, "main") as running:
            while not running.done:
                running.step(_PAGES)
                if progress is not None:
                    progress(running.page_count - running.remaining, running.page_count)
    except apsw.Error as error:
        raise translated(error, copied.system_errno) from error
    finally:
        copied.close()
