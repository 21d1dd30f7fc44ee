"""An executable command: access set, partition, conflict keys, and the pure decision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from treadle.errors import InvariantBroken
from treadle.model.facts import Access, Cell, Cells, Sealed, Verdict, View
from treadle.plan.aggregates import ConflictKey
from treadle.plan.expressions import OutOfRange
from treadle.plan.frame import FIRST, Frame
from treadle.plan.partition import partition_of
from treadle.plan.program import Builder
from treadle.plan.verdicts import ARITHMETIC, OutcomePlan, Terminal, outcome_plans


class CommandPlan:
    """An executable command.

    `key_input` is the position of the idempotency key among `inputs` (None: the command has none);
    `writes` is false where neither a row nor an event can come of it; `ranges` is true where evaluating
    reads rows that the input does not name.
    """

    __slots__ = (
        "_blank",
        "_count",
        "_inner",
        "_list",
        "_once",
        "_partition",
        "_services",
        "_steps",
        "_touched",
        "bulk",
        "declaration",
        "inputs",
        "key_input",
        "name",
        "outcomes",
        "ranges",
        "services",
        "writes",
    )

    def __init__(self, builder: Builder) -> None:
        command = builder.command
        self.declaration = command
        self.name = command.name
        self.inputs = command.inputs
        self.services = command.services
        self.bulk = command.bulk
        self.key_input = builder.key_input
        self.outcomes: Mapping[str, OutcomePlan] = outcome_plans(command.outcomes)
        program = builder.program()
        self._steps = program.steps
        self._once = program.once
        self._count, self._services = len(command.inputs), len(command.services)
        self._blank = [None] * (program.size - FIRST - self._count - self._services)
        self._list = None if command.loop is None else builder.scope.slots[command.loop.input]
        self._touched = builder.touched()
        self._inner = builder.touched_inner()
        self._partition = partition_of(command)
        self.writes = builder.writes
        self.ranges = self._touched.live or (self._inner is not None and self._inner.live)

    def evaluate(self, input: Cells, sealed: Sealed, view: View) -> Verdict:
        """Decide the command: the same arguments give the same verdict, and none of them is changed.

        `input` holds the inputs' cells in declared order, the idempotency key among them, None for an
        absent optional. Raises `Denied` where a row policy forbids what the command would do, and
        `TooLarge` where input, rows and events together pass the command's limit; nothing is then to be
        recorded.
        """
        frame: Frame = [
            view, sealed, sealed[0], [], set() if self._once else None, [], [], [], [], (), (), None,
            *input, *sealed[1], *self._blank,
        ]  # fmt: skip
        if len(input) != self._count or len(sealed[1]) != self._services:
            raise InvariantBroken(f"internal invariant broken: {self.name} got the wrong number of values")
        try:
            for step in self._steps:
                verdict = step(frame)
                if verdict is not None:
                    return verdict
        except Terminal as stop:
            return stop.verdict
        except OutOfRange:
            return ARITHMETIC
        raise InvariantBroken(f"internal invariant broken: {self.name} ended without an outcome")

    def access(self, input: Cells, services: Cells, facts: Mapping[str, Cell] | None = None) -> Access:
        """What the command may touch, whatever it finds there; a row or an entry may be listed twice.

        `services` are the sealed service values. `facts` change nothing today: where row policies probe
        an index, `Access.ranges` is true for every caller.
        """
        frame: Frame = [*_NOTHING, *input, *services, *self._blank]
        outer = self._touched
        rows = [row(frame) for row in outer.rows]
        uniques = [unique for entry in outer.entries if (unique := entry(frame)) is not None]
        inner = self._inner
        if inner is not None:
            for own in self._passes(frame):
                rows.extend(row(own) for row in inner.rows)
                uniques.extend(unique for entry in inner.entries if (unique := entry(own)) is not None)
        return Access(rows, uniques, self.ranges)

    def _passes(self, frame: Frame) -> Iterator[Frame]:
        if self._list is not None:
            for element in frame[self._list] or ():
                yield [*frame, element]

    def partition(self, input: Cells) -> Cells | None:
        """The partition that the command belongs to, as a tuple of one cell; None where it has none.

        Raises `InvalidInput` where the partition's arithmetic leaves its type's range.
        """
        return None if self._partition is None else self._partition(input)

    def conflict_keys(self, input: Cells, services: Cells = ()) -> tuple[ConflictKey, ...]:
        """The conflict keys of the aggregates that the command binds, without repeats, in binding order.

        Commands with an equal one see each other's results in order. `services` are needed only where a
        key is made of a service value.
        """
        frame: Frame = [
            *_NOTHING,
            *input,
            *services,
            *[None] * (self._services - len(services)),
            *self._blank,
        ]
        found: dict[ConflictKey, None] = {}
        scopes = [(self._touched, frame)]
        if self._inner is not None:
            scopes.extend((self._inner, own) for own in self._passes(frame))
        for each, own in scopes:
            for entity, key in each.keys:
                if entity.aggregate is not None:
                    found[entity.aggregate.conflict_key(key(own))] = None
        return tuple(found)


_NOTHING: tuple[None, ...] = (None,) * FIRST
