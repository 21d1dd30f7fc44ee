"""A database as one principal sees it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from treadle.access.caller import Caller
from treadle.engine.core import Engine
from treadle.engine.job import Job
from treadle.engine.receipt import Receipt
from treadle.engine.request import Request
from treadle.errors import TreadleError
from treadle.registry import load

if TYPE_CHECKING:
    from treadle.graph.live.core import Core
    from treadle.graph.live.surface import Graph
    from treadle.queries import Page
    from treadle.streams import Consumer, Tail
    from treadle.why import Why, WhyRun

Command = tuple[str, Mapping[str, Any]]


class Handle(Protocol):
    """What an `Acting` needs of the open database that it belongs to."""

    _engine: Engine

    def _one(self, job: Job, timeout: float | None) -> Any:
        """Run one job and return its result, or raise its error."""

    def graph_core(self) -> Core:
        """The graph, opened when it is first asked for."""


class Acting:
    """A database as one principal sees it: every command is its."""

    def __init__(self, database: Handle, caller: Caller) -> None:
        self._database = database
        self.caller = caller

    def __repr__(self) -> str:
        return f"<{self.caller.principal} on {self._database!r}>"

    @property
    def graph(self) -> Graph:
        """The RDF dataset, as this principal; see `treadle.Database.graph`."""
        found: Graph = load("graph").Graph(self._database.graph_core(), self.caller)
        return found

    def run(
        self,
        command: str,
        input: Mapping[str, Any] | Any,
        *,
        timeout: float | None = None,
        history: str | None = None,
        contract: str | None = None,
    ) -> Receipt:
        """Run one command and return its receipt, which is durable.

        `input` maps the command's input names to values: Python types, or the JSON forms of the HTTP API.
        `history` and `contract` (its identity) are what the caller relies on, None for no matter which.
        A receipt comes back for every declared outcome, failures too. Raised is everything else:
        `TerminalFailure` (recorded), `InvalidInput`, `UnknownName`, `Denied`, `KeyReused`, `KeyExpired`,
        `HistoryChanged`, `ContractMismatch`, `OverCapacity` (refused, nothing recorded), `Busy`, `Cancelled`
        (after `timeout` seconds; certainly nothing happened), `OutcomeUnknown` (repeat the same key).
        """
        engine = self._database._engine
        job = engine.command_job(Request(command, input, self.caller, history, contract))
        receipt: Receipt = self._database._one(job, timeout)
        return receipt

    def run_many(
        self, commands: Sequence[Command], *, timeout: float | None = None, **relies: Any
    ) -> list[Receipt | TreadleError]:
        """Run many commands with as few commits as fit; not all-or-nothing. `relies`: see `run`.

        Returns for each input, in order, a receipt or the error object; both answer `.ok`.
        """
        engine = self._database._engine
        answers, jobs = engine.command_jobs(Request(*one, self.caller, **relies) for one in commands)
        if jobs:
            results = engine.submit([job for _, job in jobs], timeout)
            for (position, _), answer in zip(jobs, results, strict=True):
                answers[position] = answer
        return answers

    def query(
        self,
        name: str,
        parameters: Mapping[str, Any] | Any = None,
        *,
        after: str | None = None,
        at_least: int | None = None,
        history: str | None = None,
        timeout: float | None = None,
        **made_for: str | None,
    ) -> Page:
        """Run a deployed named query over one snapshot and return its page.

        `parameters` maps the query's parameter names to values: Python types, or the JSON forms of the HTTP
        API. `after` is the `next` of an earlier page. `at_least` is a commit number that the snapshot must
        see, such as a receipt's `commit`; it is waited for. `timeout` bounds waiting and running together,
        in seconds (30 at most, and without it). `contract` and `identity` are those (hex) of the contract and
        of the query that the caller was made for.

        Raises `Denied` (the role does not allow this query), `UnknownName`, `InvalidInput` (a parameter, or a
        cursor of another query, caller or parameters), `HistoryChanged` (a restore came between), `TooLarge`
        (a bound of the answer) or `Busy` (not in the time given).
        """
        asked = (name, parameters, self.caller, after, at_least, history, timeout)
        call = load("queries").Call(*asked, **made_for)
        page: Page = load("queries").run(self._database._engine, call)
        return page

    def pages(
        self, name: str, parameters: Mapping[str, Any] | Any = None, *, at_least: int | None = None
    ) -> Iterator[Page]:
        """The pages of a deployed named query, one after another.

        Each is of its own snapshot, which sees at least what the one before saw: a row that moves in the
        order meanwhile may be missed or come twice; `commit` and `after_commit` of a page tell.
        """
        call = load("queries").Call(name, parameters, self.caller, None, at_least)
        found: Iterator[Page] = load("queries").pages(self._database._engine, call)
        return found

    def why(self, entity: str, key: Sequence[Any] | Any, *, unmasked: bool = False) -> Why:
        """Say what stands in the way of one row: who holds it, what each command would answer now, what it
        waits for, and what became of the last commands.

        `key` holds the key's values in declared order (or the single value of a one-field key). Names of
        others are shown to an administrator alone, and so are, if `unmasked`, the lease's owner and token.
        Raises `UnknownName`, `InvalidInput`, and `Denied` for a role that has no command or query of it.
        """
        found: Why = load("why").why(self._database._engine, self.caller, entity, key, unmasked=unmasked)
        return found

    def why_run(self, run: str, graph: str | None = None) -> WhyRun:
        """Say where a signed run stands: state, revision, the steps that may be taken now, who is registered
        to sign them, its last events, and what the guard refused lately that was about it.

        `run` is the run's IRI, `graph` its graph's, needed where several graphs have one of that IRI.
        Raises `Denied` without the `read` permission, `UnknownName` where there is no such run, and
        `InvalidInput`.
        """
        core = self._database.graph_core()
        found: WhyRun = load("why.runs").why_run(core, self.caller, run, graph)
        return found

    def recall(self, command: str, key: str) -> Receipt | None:
        """What this principal's key was answered for a command, or None for a key that is free. Runs nothing.

        Raises the stored `TerminalFailure`; `KeyExpired` for a receipt that was pruned; `Denied`,
        `UnknownName` or `InvalidInput` as `run` does.
        """
        found = load("recall").recall(self._database._engine, self.caller, command, [key])[0]
        if isinstance(found, BaseException):
            raise found
        receipt: Receipt | None = found
        return receipt

    def consumer(
        self, event: str, name: str, partition: Any = None, *, start: str | int = "oldest"
    ) -> Consumer:
        """A named consumer of an event's stream, or of one partition of it.

        `partition` has the values of the event's partition fields, by name or in order; without it the
        consumer gets all of them, in the order of their commits. A consumer that is new begins at `start`:
        "oldest", "newest", or behind a commit's number.
        Raises `InvalidInput` for a name that is none.
        """
        engine = self._database._engine
        found: Consumer = load("streams").Consumer(engine, self.caller, event, name, partition, start)
        return found

    def tail(
        self, event: str, partition: Any = None, *, after: str | None = None, start: str | int = "oldest"
    ) -> Tail:
        """A reader of an event's stream, or of one partition of it, that keeps and settles nothing.

        It goes on after the cursor `after`, or begins at `start` (see `consumer`). Raises `Denied`,
        `UnknownName`, `InvalidInput` (also `cursor_expired`) or `HistoryChanged`.
        """
        engine = self._database._engine
        found: Tail = load("streams").Tail(engine, self.caller, event, partition, after=after, start=start)
        return found
