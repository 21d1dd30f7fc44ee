"""The dataset as text."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

from treadle.errors import DiskFull, InvalidInput, StoreError
from treadle.graph.convert import to_ox_graph
from treadle.graph.dataset import Index
from treadle.graph.load import FORMATS
from treadle.graph.rdfxml import written
from treadle.graph.terms import Quad
from treadle.graph.view import Graph

WHOLE: Final = frozenset(("nquads", "trig"))
"""The formats that name graphs."""


class Named(NamedTuple):
    """A graph: its name (None for the default graph), and how many statements it holds."""

    graph: str | None
    statements: int


def writer(format: str, graph: Graph) -> Callable[[Index], bytes]:
    """What writes one state of an index as text.

    Raises:
        ValueError: there is no such format, or it names graphs and one graph is asked for.
    """
    if format not in FORMATS:
        raise ValueError(f"no format {format!r}; there are {', '.join(FORMATS)}")
    if format in WHOLE and graph is not None:
        raise ValueError(f"{format} writes the whole dataset; ask for turtle or ntriples for one graph")
    place = to_ox_graph(graph)
    source: dict[str, Any] = {} if format in WHOLE else {"from_graph": place}

    def write(index: Index) -> bytes:
        if format == "rdfxml":
            return written(quad.triple for quad in index.store.quads_for_pattern(None, None, None, place))
        return index.store.dump(format=FORMATS[format], **source) or b""

    return write


def listed(index: Index) -> list[Named]:
    """Every graph of an index, the default graph first."""
    return [
        Named(None, index.size(None)),
        *(Named(name.value, index.size(name)) for name in index.named_graphs()),
    ]


def write_new(path: Path, quads: Iterable[Quad]) -> None:
    """Write statements as N-Quads into a new file, durable before it returns.

    Raises:
        InvalidInput: the file exists.
        DiskFull, StoreError: it cannot be written; nothing is left.
    """
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError as error:
        raise InvalidInput(f"{path.name} exists; choose a new file", path="target") from error
    except OSError as error:
        raise StoreError(f"{path.name} cannot be created: {error.strerror}") from error
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(quad.n3() + "\n" for quad in quads)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        path.unlink()
        raise DiskFull(f"{path.name} could not be written: {error.strerror}; nothing was removed") from error
