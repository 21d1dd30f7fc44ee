"""A progress bar on standard error, where that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module

from treadle.cli import screen


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """`progress(done, total)` for the length of the block; a total of 0 is not known. None off a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    rich = import_module("rich.progress")
    console = import_module("rich.console").Console(file=sys.stderr, no_color=not screen.coloured(sys.stderr))
    with rich.Progress(console=console, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total or None)
