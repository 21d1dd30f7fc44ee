"""What can be asked of a handle, and what it answers: plain data, the same in this process and in others."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from sim.jobs.rules import Job
from treadle.database import Database
from treadle.engine.receipt import Receipt
from treadle.errors import TreadleError

YARD: Final = uuid.UUID(int=0xCAFE)
SOURCE: Final = Path(__file__).with_name("jobs.riff").read_text()
QUERIES: Final = Path(__file__).with_name("jobs.riffq").read_text()

Call = tuple[str, Mapping[str, Any]]
"""A command and its input."""


class Answer(NamedTuple):
    """A receipt, all of it."""

    command: str
    outcome: str
    commit: int
    time: datetime
    history: str
    revision: int | None
    job: Job | None
    replayed: bool

    def same(self, other: Answer) -> bool:
        """Whether both are one answer, replayed or not."""
        return self[:-1] == other[:-1]


class Failure(NamedTuple):
    """An error. `gone` is one of the simulator: the process ended before it answered."""

    code: str
    detail: str

    @property
    def certain(self) -> bool:
        """Whether nothing happened, for certain."""
        return self.code not in ("outcome_unknown", "gone")


class Board(NamedTuple):
    """All jobs in one snapshot, by number, and its last commit."""

    commit: int
    jobs: Mapping[int, Job]


class Seen(NamedTuple):
    """A row as it was read, None where there was none, and the commit that wrote it."""

    job: Job | None
    commit: int = 0


class Request(NamedTuple):
    """Something asked of a handle: commands (by itself, or a batch), a row, the board, a deployment."""

    kind: Literal["run", "batch", "row", "board", "deploy"]
    calls: Sequence[Call] = ()
    job: int = 0
    patience: float | None = None


Reply = Any
"""A list of `Answer` and `Failure` for commands, `Seen`, `Board`, a version, or one `Failure` for it all."""


def serve(db: Database, request: Request) -> Reply:
    """Carry out a request."""
    try:
        return _serve(db, request)
    except TreadleError as error:
        return failure(error)


def failure(error: TreadleError) -> Failure:
    """An error as data."""
    return Failure(error.code, f"{error.message} ({error.__cause__!r})")


def _serve(db: Database, request: Request) -> Reply:
    if request.kind == "run":
        ((command, body),) = request.calls
        return [_answer(db.run(command, body, principal="sim", timeout=request.patience))]
    if request.kind == "batch":
        done = db.run_many(list(request.calls), principal="sim", timeout=request.patience)
        return [_answer(one) if isinstance(one, Receipt) else failure(one) for one in done]
    if request.kind == "row":
        row = db.row("Job", (YARD, request.job))
        return Seen(None) if row is None else Seen(_job(row.fields, row.revision), row.commit)
    if request.kind == "board":
        page = db.query("Board", {"yard": YARD}, principal="sim")
        return Board(page.commit, {row["job"]: _job(row, row["revision"]) for row in page.fields["jobs"]})
    return _deploy(db)


def _deploy(db: Database) -> int:
    """Deploy the successor, with one more command; what there is stays as it is."""
    version = db.version
    reads = "input yard: uuid input job: u64 read Job(yard, job) as it else Missing {} return Seen {}"
    body = SOURCE.replace("version 1", f"version {version + 1}").rstrip().removesuffix("}")
    return db.deploy(f"{body} command Touch{version} {{ {reads} }} }}", expected_version=version)


def _answer(receipt: Receipt) -> Answer:
    revisions = receipt.workflow_revisions
    revision = revisions[0].revision if revisions else None
    fields = receipt.fields.get("it")
    return Answer(
        receipt.command,
        receipt.outcome,
        receipt.commit,
        receipt.time,
        receipt.history,
        revision,
        None if fields is None else _job(fields, revision or 0),
        receipt.replayed,
    )


def _job(fields: Mapping[str, Any], revision: int) -> Job:
    return Job(revision, fields["state"], fields["owner"], fields["until"], fields["fence"])
