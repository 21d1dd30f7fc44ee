"""What evaluation reads and what it decides: rows, access sets, verdicts. Frozen, pure, no I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

Cell: TypeAlias = Any
"""One value of a row or an input, in the form that `treadle.model.types` lists."""

Cells: TypeAlias = tuple[Cell, ...]
Key: TypeAlias = tuple[Cell, ...]
"""The key cells of a row, in the entity's declared order."""

RowRef: TypeAlias = tuple[str, Key]
"""Entity name and key."""

UniqueRef: TypeAlias = tuple[str, str, Cells]
"""Entity name, unique name, and the values of the unique's fields."""


class Row(NamedTuple):
    """A committed or evaluated row.

    `revision` is 1 at creation and one more for each command that mutates the row; `cells` holds key
    fields, then fields; `commit` is the number of the log record that last wrote it.
    """

    revision: int
    cells: Cells
    commit: int = 0


@dataclass(frozen=True, slots=True)
class Range:
    """At most `limit` keys of `entity` whose index `index` begins with `values`, in index order."""

    entity: str
    index: str
    values: Cells
    limit: int


class Access(NamedTuple):
    """What a command may touch, computed from its input and sealed ids alone.

    `rows` are keys that are read or written (absent ones too), `uniques` entries that may be taken.
    A command with `ranges` (restrict, cascade, policy probes) reads them by `View.probe` while it runs.
    """

    rows: Sequence[RowRef]
    uniques: Sequence[UniqueRef] = ()
    ranges: bool = False


class View(Protocol):
    """The state a command is evaluated over; answers come from memory, except `probe`."""

    def row(self, entity: str, key: Key) -> Row | None:
        """The row as earlier commands of the batch left it, or None."""

    def last_revision(self, entity: str, key: Key) -> int:
        """The last revision of a deleted row of an entity with a workflow; 0 where there is none."""

    def holder(self, unique: UniqueRef) -> Key | None:
        """The key of the row that holds this unique entry, or None."""

    def probe(self, range_: Range) -> Sequence[Key]:
        """The keys in the range, at most `range_.limit`."""


class Sealed(NamedTuple):
    """The sealed context of one command: nothing in it can differ when the command is evaluated again.

    `time` is the transaction time in microseconds, `services` the service values in declared order
    (uuid_v7 as 16 bytes, transaction_time equal to `time`), `facts` the principal's facts by name;
    `policed` is false for a caller to whom row policies do not apply (the embedded owner).
    """

    time: int
    services: Cells = ()
    facts: dict[str, Cell] = {}
    policed: bool = False


class RowChange(NamedTuple):
    """One row before and after a command. `cells` is None for a delete, `revision` then the last one."""

    entity: str
    key: Key
    before: Row | None
    revision: int
    cells: Cells | None


class EventFact(NamedTuple):
    """An emitted event: its name, the values of its partition fields, and all fields in declared order."""

    name: str
    partition: Cells
    cells: Cells


class RevisionFact(NamedTuple):
    """A written binding of an entity with a workflow. `element` counts a loop's passes from 0."""

    binding: str
    element: int | None
    revision: int


class Verdict(NamedTuple):
    """What a command decided. `failure` is a terminal failure's code, with `constraint` where one is named.

    A declared outcome has `failure` None. Every verdict but the success outcome changes nothing:
    `changes`, `taken`, `released`, `events` and `revisions` are then empty.
    """

    outcome: str
    fields: Cells
    success: bool
    changes: Sequence[RowChange] = ()
    released: Sequence[UniqueRef] = ()
    taken: Sequence[tuple[UniqueRef, Key]] = ()
    events: Sequence[EventFact] = ()
    revisions: Sequence[RevisionFact] = ()
    failure: str | None = None
    constraint: str | None = None


NO_FACTS: Final[dict[str, Cell]] = {}
