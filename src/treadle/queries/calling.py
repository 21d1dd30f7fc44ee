"""A call of a named query: wait for the commit, check who asks, read the parameters, run, answer."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, cast

from treadle import limits
from treadle.access import tokens
from treadle.access.caller import Caller
from treadle.engine.core import Engine
from treadle.engine.state import Deployed, State
from treadle.errors import Busy, ContractMismatch, HistoryChanged, InvalidInput
from treadle.model.facts import Cells, Sealed
from treadle.model.query import Query
from treadle.ports.queries import QueryTx
from treadle.queries import cursors
from treadle.queries.frame import Frame
from treadle.queries.page import Page
from treadle.queries.prepared import Prepared, prepare
from treadle.queries.running import Run

_WAITS: Final = (0.001, 0.05)
"""The first and the longest pause, in seconds, while a commit is waited for."""


class Call(NamedTuple):
    """One call. `after` is a cursor, `at_least` a commit number, `history` the incarnation relied on.

    `timeout` is in seconds, for waiting and running together. `contract` and `identity` are the identities
    (hex) of the contract and of the query that the caller was made for.
    """

    query: str
    parameters: Mapping[str, Any] | Any
    caller: Caller
    after: str | None = None
    at_least: int | None = None
    history: str | None = None
    timeout: float | None = None
    contract: str | None = None
    identity: str | None = None


def run(engine: Engine, call: Call) -> Page:
    """Run a named query and return its page. See `treadle.Database.query` for what is raised."""
    allowed = limits.QUERY_SECONDS if call.timeout is None else min(call.timeout, limits.QUERY_SECONDS)
    deadline = time.monotonic() + allowed
    wanted = _commit_number(call.at_least)
    with _snapshot(engine, wanted, deadline) as tx:
        state = engine.follow(tx)
        head = tx.head()
        now = max(engine.clock.now(), head.time)
        caller = _admitted(call, state, tx, now)
        query, deployed = _wanted(call, state)
        prepared: Prepared = state.queries.keep(
            (query.name, deployed.identity), lambda: prepare(query, deployed)
        )
        parameters, after = _arguments(prepared, call)
        binding = cursors.Binding(query.module_hash, prepared.encode_parameters(parameters), caller)
        place = None if after is None else cursors.read(after, binding, state)
        if place is not None and place.commit > head.number:
            raise Busy(f"the page before saw commit {place.commit}, which is not here yet; try again")
        named = zip(query.parameters, parameters, strict=True)
        frame = Frame({field.name: cell for field, cell in named}, now)
        sealed = Sealed(now, (), dict(caller.facts), state.roles.policed(caller))
        run_ = Run(prepared, tx, caller, sealed, place.cells if place else None, deadline)
        answer = run_.answer(frame)
        following = answer.next
        cursor = None
        if following is not None:
            cursor = cursors.write(cursors.Place(head.number, following), binding, state)
        return Page(
            query,
            deployed,
            answer.outcome,
            answer.record,
            next=cursor,
            commit=head.number,
            after_commit=place.commit if place else None,
            history=state.history,
        )


def ready(engine: Engine, at_least: int | None) -> bool:
    """Whether a snapshot taken now sees this commit, for callers that wait in their own way."""
    wanted = _commit_number(at_least)
    if not wanted:
        return True
    with engine.store.read() as tx:
        return tx.head().number >= wanted


def pages(engine: Engine, call: Call) -> Iterator[Page]:
    """The pages of a query, one after another, each of its own snapshot and none before the last one's."""
    while True:
        page = run(engine, call)
        yield page
        if page.next is None:
            return
        call = call._replace(after=page.next, at_least=page.commit)


def _commit_number(at_least: Any) -> int:
    if at_least is None:
        return 0
    if isinstance(at_least, bool) or not isinstance(at_least, int) or not 0 <= at_least <= limits.U64_MAX:
        raise InvalidInput("write a commit number, such as a receipt's `commit`", path="at_least")
    return at_least


@contextmanager
def _snapshot(engine: Engine, at_least: int, deadline: float) -> Iterator[QueryTx]:
    """A snapshot that sees the commit `at_least`; waits for it until the deadline."""
    pause, longest = _WAITS
    while True:
        with engine.store.read() as tx:
            head = tx.head().number
            if head >= at_least:
                yield cast(QueryTx, tx)
                return
        left = deadline - time.monotonic()
        if left <= 0:
            message = f"commit {at_least} is not here yet, the last one is {head}"
            raise Busy(f"{message}; try again, or ask for an earlier one")
        time.sleep(min(pause, left))
        pause = min(2 * pause, longest)


def _admitted(call: Call, state: State, tx: QueryTx, now: int) -> Caller:
    """The caller, once it may ask, before anything is shown; a token is looked up again in the snapshot."""
    caller = call.caller
    if caller.token is not None:
        data = tx.setting(tokens.PREFIX + caller.token)
        if data is None:
            raise tokens.refused()
        token = tokens.decode(data)
        token.check(now)
        caller = caller._replace(facts=state.facts_of(token))
    state.roles.check_query(caller, call.query)
    if call.history is not None and call.history != state.history:
        raise HistoryChanged("the database was restored since; read the state again before you rely on it")
    return caller


def _wanted(call: Call, state: State) -> tuple[Query, Deployed]:
    """The query and the contract, which must be those that the caller was made for."""
    deployed = state.require()
    if call.contract in (None, deployed.identity):
        query = state.queries.get(call.query)
        if call.identity in (None, query.identity):
            return query, deployed
    raise ContractMismatch(
        "another contract or query is deployed than the one that the caller was made for; "
        "read the contract and generate the client again"
    )


def _arguments(prepared: Prepared, call: Call) -> tuple[Cells, str | None]:
    """The parameters' cells in declared order, and the cursor, which may stand among them by its name."""
    query, codec = prepared.query, prepared.deployed.codec
    given, after = call.parameters, call.after
    if query.cursor is not None and isinstance(given, Mapping) and query.cursor in given:
        listed = given[query.cursor]
        if listed is not None and after is not None and listed != after:
            raise InvalidInput("the cursor is given twice, and differs; give it once", path="after")
        after = after if listed is None else listed
        given = {name: value for name, value in given.items() if name != query.cursor}
    if after is not None and query.cursor is None:
        raise InvalidInput(f"query {query.name} has no pages; leave the cursor out", path="after")
    read = codec.fields_reader(f"query {query.name}", query.parameters)
    return read({} if given is None else given, "parameters"), after
