"""What must hold of every history, whatever went wrong while it was made. Nothing here knows a fault."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final

from sim.jobs.asking import Answer, Board, Failure, Request, Seen, serve
from sim.jobs.clients import Clients
from sim.jobs.log import Log
from sim.jobs.model import step, time_of
from sim.jobs.rules import Slot
from sim.jobs.script import JOBS
from sim.linear.history import Operation
from sim.linear.order import Witness, command, disorder, read
from sim.linear.search import explain
from sim.scenario import demand
from treadle.database import Database

EXPECTED: Final = frozenset(("store", "disk_full", "outcome_unknown", "gone"))
"""The errors that clients may hear: the disk failed, or the process ended. Nothing asked calls for others."""

HASTY: Final = frozenset(("busy", "cancelled"))
"""What a client that does not wait for long may hear: certainly nothing happened."""

SHOWN: Final = ("seen", "token", "worker", "seconds")
AROUND: Final = 12
"""So many operations are shown, of which the last cannot be explained."""


class Jury:
    """Checks a run while it goes on: each answer and each record once."""

    def __init__(self, clients: Clients) -> None:
        self.log = Log()
        self._clients = clients
        self._judged = 0
        self._owners: dict[int, str] = {}

    def now_and_then(self, db: Database) -> None:
        """What is cheap: new records, new answers, the stored rows. Raises `Broken`."""
        self.log.walk(db)
        self._answers()
        for number in range(JOBS):
            stored, wanted = serve(db, Request("row", job=number)), self.log.slots.get(number, Slot()).job
            demand(
                isinstance(stored, Seen) and stored.job == wanted,
                f"job {number} is stored as {stored}; the log says {wanted}",
            )

    def finally_(self, db: Database) -> None:
        """Everything. Raises `Broken`."""
        linear(self._clients.recorder.operations)
        self.now_and_then(db)
        self._order()
        with db._engine.store.read() as tx:
            events = len(tx.events("Finished", None, (0, -1), 100_000))
        demand(events == self.log.finished, f"{events} events for {self.log.finished} finishes")
        report = db.verify()
        demand(report.ok, f"verify: {'; '.join(map(str, report.problems[:3]))}")

    def _answers(self) -> None:
        """Acknowledged means recorded, once, and every repeat is answered the same."""
        for key, answer in self._clients.heard[self._judged :]:
            if isinstance(answer, Failure):
                hasty = answer.code in HASTY and key in self._clients.hasty
                demand(hasty or answer.code in EXPECTED, f"{key}: {answer}")
                continue
            sent = self._clients.sent[key]
            demand(
                answer.same(sent.answers[0]), f"{key}: {answer} and {sent.answers[0]} answer the same request"
            )
            demand(answer.commit <= len(self.log.entries), f"{key}: {answer} is lost from the log")
            entry = self.log.entries[answer.commit - 1]
            said = (entry.name, entry.outcome, entry.time, entry.input["job"])
            demand(
                said == (sent.command, answer.outcome, answer.time, sent.input["job"]),
                f"{key}: {answer} stands in the log as {said}",
            )
            demand(
                self._owners.setdefault(answer.commit, key) == key, f"{key}: shares commit {answer.commit}"
            )
        self._judged = len(self._clients.heard)

    def _order(self) -> None:
        """Commits, rows and boards that were read stand in the order in which they were answered."""
        wrong = disorder(filter(None, map(self._witness, self._clients.recorder.operations)))
        demand(wrong is None, f"{wrong}")

    def _witness(self, operation: Operation) -> Witness | None:
        answer, answered = operation.answer, operation.answered
        if answered is None:
            return None
        if isinstance(answer, Answer):
            place, what = command(answer.commit), f"commit {answer.commit}"
        elif isinstance(answer, Board):
            place, what = [read(answer.commit, answer.commit)], f"a board of commit {answer.commit}"
            self._board(answer)
        else:
            what = f"job {operation.row}, read as {answer.job},"
            spans = self.log.spans(operation.row, answer.job)
            demand(spans, f"{what} was never committed so")
            place = [read(*span) for span in spans]
        return Witness(operation.invoked, answered, place, what)

    def _board(self, board: Board) -> None:
        for number in range(JOBS):
            there = self.log.spans(number, board.jobs.get(number))
            demand(
                any(first <= board.commit <= last for first, last in there),
                f"a board of commit {board.commit} has job {number} as {board.jobs.get(number)}: not so then",
            )


def linear(operations: Iterable[Operation]) -> None:
    """Each job's operations have an order that the rules explain. Raises `Broken`."""
    rows: defaultdict[object, list[Operation]] = defaultdict(list)
    for operation in operations:
        for one in _of_rows(operation):
            rows[one.row].append(one)
    for row, its in rows.items():
        stuck = explain(its, Slot(), step, time_of)
        if stuck is not None:
            near = [one for one in its if one.invoked <= (stuck.answered or 0)][-AROUND:]
            around = "\n    ".join(map(_told, near))
            demand(
                False, f"job {row}: no order of its operations explains {_told(stuck)}, with\n    {around}"
            )


def _told(operation: Operation) -> str:
    """An operation in a line: when it was asked and answered, what, and the answer."""
    asked, answer = operation.asked, operation.answer
    if not isinstance(asked, str):
        given = [f"{name} {value}" for name, value in asked[1].items() if name in SHOWN]
        asked = f"{asked[0]} ({', '.join(given)})"
    if isinstance(answer, Answer):
        left = f", leaving {answer.job}" if answer.job else ""
        answer = f"{answer.outcome} at {answer.time:%H:%M:%S}{left}"
    elif isinstance(answer, Seen):
        answer = answer.job
    elif operation.doubt:
        answer = "nothing heard"
    return f"{asked} → {answer} [{operation.invoked}–{operation.answered or '…'}]"


def _of_rows(operation: Operation) -> Iterator[Operation]:
    """An operation as each row sees it: a board reads them all."""
    if operation.row != "board":
        yield operation
    elif operation.answered is not None:
        for number in range(JOBS):
            seen = Seen(operation.answer.jobs.get(number))
            yield Operation(number, "board", operation.invoked, operation.answered, seen)
