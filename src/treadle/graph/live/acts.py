"""What an operator does with the graph as a whole: switch processing on and off, migrate, archive.

None of it passes the guard: each act proves by itself that what it leaves behind is sound. Each is one record
of the log, and needs the `admin` permission.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from itertools import chain
from typing import Any, Final, NamedTuple

from treadle.access.caller import Caller
from treadle.engine import retained
from treadle.engine import state as states
from treadle.engine.acts import ActJob
from treadle.engine.batch import Batch
from treadle.errors import Busy, Internal, Refused
from treadle.graph import enrollment
from treadle.graph.archive import Archive, plan_archive
from treadle.graph.dataset import Index
from treadle.graph.delta import Delta
from treadle.graph.doctor import Finding, LegacyWrite, Surroundings, examine, legacy_write
from treadle.graph.enrollment import Enrollment
from treadle.graph.fold import Registered, current_registrations
from treadle.graph.live import committing, kept, rules, stored
from treadle.graph.live.changes import Changed
from treadle.graph.live.following import Live, NotReady, Turn
from treadle.graph.live.rules import Rules
from treadle.graph.migrate import NO_ANSWERS, Answers, Migration, plan_migration
from treadle.graph.terms import Resource
from treadle.graph.vocabulary import ACCEPTED_UNSIGNED
from treadle.ports.store import ReadTx

SURFACES: Final = ("SPARQL Update", "Graph Store Protocol", "/knot", "Python", "command line")
"""The ways to write; all of them end in `committing.commit`."""

FORMAT: Final = 2
"""The file's format from enrollment on: releases that know no guard refuse to open it."""

LOOKED_BACK: Final = 10_000
"""Changes of the graph among which doctor looks for writers of the old way."""


class GraphAct(ActJob):
    """An act on the graph, alone in its batch."""

    __slots__ = ("live",)

    any_clock = False

    def __init__(self, caller: Caller, live: Live) -> None:
        super().__init__(caller)
        self.live = live

    def act(self, batch: Batch) -> None:
        for _ in range(3):
            try:
                turn = self.live.join(batch)
            except NotReady:
                self.live.index()  # other processes wait meanwhile: nothing may come between
            else:
                self.result = self.operate(batch, turn)
                return
        raise Internal("the graph's index did not come to the log's head; nothing was recorded")

    def operate(self, batch: Batch, turn: Turn) -> Any:
        """Do it, and return the result."""
        raise NotImplementedError

    def change(self, batch: Batch, turn: Turn, delta: Delta, name: str, body: dict[str, Any]) -> Changed:
        """Record and apply what an act changes; an act that changes nothing leaves no record."""
        return committing.carry_out(batch, turn, self.caller, delta, kind="graph", name=name, body=body)


class Enrolled(NamedTuple):
    """An enrollment: its record, what doctor warns of, the record's number (0: it was enrolled before)."""

    enrollment: Enrollment
    warnings: tuple[Finding, ...]
    number: int


class Enroll(GraphAct):
    """Switch workflow processing on, unless it is; the result is an `Enrolled`.

    Raises `Refused` (`unmigrated`) with the list of what must be migrated first.
    """

    __slots__ = ()

    def operate(self, batch: Batch, turn: Turn) -> Enrolled:
        known = turn.rules
        settings = replace(known.settings, enforce=True)
        if known.stored is not None:
            enrollment.follow(known.stored, settings)
            return Enrolled(known.stored, (), 0)
        registered, around = _current(turn.index, known), surroundings(batch.tx, known)
        made, findings = enrollment.enroll(turn.index, settings, registered, around)
        rules.write_enrollment(batch.tx, made)
        rules.write_verification(batch.tx, None)
        batch.tx.raise_format(FORMAT)
        return Enrolled(made, tuple(findings), self.switched(batch, "enroll", made.to_fields()))

    def switched(self, batch: Batch, kind: str, body: dict[str, Any]) -> int:
        """Record that the rules are others from here on."""
        states.bump(batch.tx)
        number = batch.append(self.entry(batch, kind, "", body))
        batch.tx.write_entries(stored.CHANGES, [(stored.number_key(number), b"")])
        return number


class Disenroll(Enroll):
    """Switch processing and verification off; the result is the record's number, 0 if both were off."""

    __slots__ = ()

    def operate(self, batch: Batch, turn: Turn) -> Any:
        if turn.rules.raw == (None, None):
            return 0
        rules.write_enrollment(batch.tx, None)
        rules.write_verification(batch.tx, None)
        return self.switched(batch, "disenroll", {})


class Verify(Enroll):
    """Have events verified without enforcement; the result is the record's number, 0 if they were."""

    __slots__ = ()

    def operate(self, batch: Batch, turn: Turn) -> Any:
        known = turn.rules
        if known.stored is not None or known.raw[1] is not None:
            return 0
        return self.switched(batch, "graph", rules.write_verification(batch.tx, known.settings) or {})


class Migrate(GraphAct):
    """Bring old data to what enrollment needs; the result is a `Migration` and a `Changed`.

    Raises `Refused` (`unmigrated`) where something must be solved by a person, (`enrolled`) where it is too
    late.
    """

    __slots__ = ("answers",)

    def __init__(self, caller: Caller, live: Live, answers: Answers) -> None:
        super().__init__(caller, live)
        self.answers = answers

    def operate(self, batch: Batch, turn: Turn) -> tuple[Migration, Changed]:
        plan = migration(turn.index, turn.rules, self.answers)
        if plan.blocked:
            raise Refused(
                "unmigrated: some lines of the plan need an answer or a repair; nothing was written",
                reason="unmigrated",
                remedy="read treadle graph migrate --plan, and answer or repair what blocks",
            )
        body = {"entities": len({(item.graph, item.entity) for item in plan.items})}
        return plan, self.change(batch, turn, plan.delta, "migrate", body)


class ArchiveRuns(GraphAct):
    """Take finished runs and abandoned plans out of the graph; the result is a `Changed`.

    `expected` is what was worked out and exported before; raises `Busy` where it has become something else.
    """

    __slots__ = ("expected", "plans", "runs")

    def __init__(
        self,
        caller: Caller,
        live: Live,
        runs: Collection[Resource] | None,
        plans: Collection[Resource],
        expected: Delta,
    ) -> None:
        super().__init__(caller, live)
        self.runs = runs
        self.plans = plans
        self.expected = expected

    def operate(self, batch: Batch, turn: Turn) -> Changed:
        planned = archive(batch.tx, turn.index, turn.rules, self.runs, self.plans)
        if planned.delta != self.expected:
            raise Busy("the graph changed since the archive was worked out; nothing was removed, try again")
        body = {"runs": len(planned.runs), "plans": len(planned.plans)}
        return self.change(batch, turn, planned.delta, "archive", body)


# What the acts, and those who only look, work out.


def migration(index: Index, known: Rules, answers: Answers = NO_ANSWERS) -> Migration:
    """What enrollment needs of the data as it is.

    Raises `Refused` (`enrolled`) in an enrolled database, where nothing is left to migrate.
    """
    if known.stored is not None:
        raise Refused(
            "enrolled: the database is enrolled; there is nothing left to migrate",
            reason="enrolled",
            remedy="define changed plans under new IRIs",
        )
    return plan_migration(index, known.names, _current(index, known), answers)


def archive(
    tx: ReadTx,
    index: Index,
    known: Rules,
    runs: Collection[Resource] | None,
    plans: Collection[Resource],
) -> Archive:
    """What archiving these runs (None: every finished one) and plans would do."""
    registered = kept.all_registrations(tx, known.names).registered
    return plan_archive(index, known.names, registered, runs=runs, plans=plans)


def examined(tx: ReadTx, index: Index, known: Rules) -> list[Finding]:
    """What doctor has to say."""
    return examine(index, known.names, _current(index, known), surroundings(tx, known))


def surroundings(tx: ReadTx, known: Rules) -> Surroundings:
    """What doctor cannot read from the data."""
    context = known.context(identity=False, define=False)
    return Surroundings(
        surfaces=dict.fromkeys(SURFACES, True),
        identity_graphs=context.identity_graphs,
        legacy_writes=_legacy_writes(tx, known),
        answers=Answers(unsigned=_accepted(tx)),
        enrolled=known.stored is not None,
    )


def _accepted(tx: ReadTx) -> frozenset[Resource]:
    """The runs whose unsigned events an operator accepted.

    What the run itself says of that does not count before enrollment: anybody could have written it.
    """
    marker = ACCEPTED_UNSIGNED.n3()
    since = (
        text[0]
        for item in stored.changes(tx, retained.floor(tx))
        if (item.kind, item.name) == ("graph", "migrate")
        for text in item.quads_added
        if text[1] == marker
    )
    return frozenset(map(stored.read_resource, chain(kept.accepted(tx), since)))


def _legacy_writes(tx: ReadTx, known: Rules) -> list[LegacyWrite]:
    """Writers of the old way among the latest changes, the last one of each principal."""
    found: dict[str, LegacyWrite] = {}
    first = max(retained.floor(tx), stored.head_of(tx).number - LOOKED_BACK)
    for item in stored.changes(tx, first):
        what = legacy_write(stored.delta_of(item), known.names) if item.kind == "update" else None
        if what is not None:
            found[item.principal] = LegacyWrite(item.number, item.principal, what)
    return list(found.values())


def _current(index: Index, known: Rules) -> Registered:
    """What is registered now: what an operator settles old signatures by."""
    graphs = known.context(identity=False, define=False).identity_graphs
    return current_registrations(index, known.names, graphs)
