"""How much room the parts of a database take: what a store may offer beside `treadle.ports.store`."""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable


class Sizes(NamedTuple):
    """Bytes of a file by what they hold: `rows` are the entities' tables with their indexes, `entries` what
    is kept of streams and states, `other` the rest; `free` is room that nothing uses."""

    log: int
    receipts: int
    events: int
    entries: int
    graph: int
    rows: int
    other: int
    free: int

    @property
    def total(self) -> int:
        """The whole file."""
        return sum(self)


@runtime_checkable
class Sized(Protocol):
    """A snapshot that knows how much room things take; to find out is linear in the file."""

    def sizes(self) -> Sizes:
        """Bytes by what they hold."""
