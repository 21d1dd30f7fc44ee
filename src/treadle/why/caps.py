"""Caps that a row may wait for: which query counts, how many live leases it counts, and up to how many.

A cap's limit is a worker's own, in its program. A worker with caps says them beside its name in every call
(`treadle.access.presence`), so the log has them with its claims: of these the newest is told. A query that
counts live leases, and of which nobody said a limit, is told as what it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from treadle import queries
from treadle.access.presence import caps_in
from treadle.errors import TreadleError
from treadle.history import Entry
from treadle.model import contract as c
from treadle.model import query as q
from treadle.model.facts import Row
from treadle.model.showing import plain_json, shown_json
from treadle.model.types import U64_
from treadle.model.values import datetime_of
from treadle.plan.answers import lease_now
from treadle.rows import read_key
from treadle.why.place import Place, known, lists
from treadle.why.reply import Reason
from treadle.why.tail import TAIL

MOST: Final = 3
"""So many holders are named."""


class Declared(NamedTuple):
    """A cap as a worker said it last, in the record of a claim."""

    limit: int
    commit: int


def caps(place: Place, row: Row) -> Iterator[Reason]:
    """What is counted, where it stands in the row's way, or may do so."""
    lease = place.plan.lease
    if lease is None:
        return
    expires = place.plan.members[lease.expires_at].name
    declared = _declared(place.tail.claims)
    for query in known(place):
        if query.name in declared:
            fits = _counts(query) and all(one.name in place.plan.positions for one in query.parameters)
        else:
            fits = _counts_leases(query, place, expires)
        group = _group(place, query, row) if fits else None
        count = None if group is None else _count(place, query, group)
        if count:
            yield from _told(place, query, group or {}, count, declared.get(query.name))


def _declared(claims: tuple[Entry, ...]) -> dict[str, Declared]:
    """The caps that were said last, by query; claims come newest first."""
    found: dict[str, Declared] = {}
    for entry in claims:
        for query, limit in caps_in(entry.instance).items():
            found.setdefault(query, Declared(limit, entry.number))
    return found


def _counts(query: q.Query) -> bool:
    """Whether a query answers one number, which a cap can go by."""
    return len(query.members) == 1 and getattr(query.members[0].value, "type", None) == U64_


def _counts_leases(query: q.Query, place: Place, expires: str) -> bool:
    """Whether a query counts rows of this kind whose lease has not expired."""
    if not _counts(query) or not all(one.name in place.plan.positions for one in query.parameters):
        return False
    value = query.members[0].value
    if not isinstance(value, q.AggregateResult) or value.op != "count":
        return False
    statement = query.statement(value.row)
    access = statement.access
    return statement.entity == place.plan.name and any(
        one.field == expires and one.op in (">", ">=") and isinstance(one.operands[0], c.TxTime)
        for one in (*access.ranges, *access.rest)
    )


def _group(place: Place, query: q.Query, row: Row) -> dict[str, Any] | None:
    """The query's parameters, taken from the row; None where one of them is secret."""
    python, found = place.state.require().codec.python, {}
    for parameter in query.parameters:
        member = place.plan.members[place.plan.positions[parameter.name]]
        if member.secret:
            return None
        found[parameter.name] = python(member.type)(row.cells[place.plan.positions[parameter.name]])
    return found


def _count(place: Place, query: q.Query, group: dict[str, Any]) -> int | None:
    try:
        page = queries.run(place.engine, queries.Call(query.name, group, place.caller))
    except TreadleError:
        return None  # a reason less: what cannot be counted now is not told
    return int(page.fields[query.members[0].name]) if page.ok else None


def _told(
    place: Place, query: q.Query, group: dict[str, Any], count: int, declared: Declared | None
) -> Iterator[Reason]:
    of = ", ".join(f"{name} {shown_json(plain_json(value))}" for name, value in group.items())
    leases = "live lease" if count == 1 else "live leases"
    counted = f"{query.name} counts {count} {leases}{' of ' if of else ''}{of}"
    if declared is None:
        unknown = f"no claim in the last {TAIL} records tells of a limit"
        yield Reason("cap", f"{counted}; {unknown}, and a worker with a cap of at most that waits")
        return
    if count < declared.limit:
        return  # there is room: it is not what the row waits for
    holders, until = _holders(place, group, count)
    text = f"{counted}, and the cap is {declared.limit}, as the claim of commit {declared.commit} says"
    yield Reason("cap", f"{text}: it waits until one ends{holders}", until)


def _holders(place: Place, group: dict[str, Any], count: int) -> tuple[str, Any]:
    """Who is counted, as far as the end of the log shows it, and when the first of them ends.

    The time is told only where all that are counted were found, the rows to whoever may list them.
    """
    deployed, plan = place.state.require(), place.plan
    names = [field.name for field in plan.members[: plan.key_count]]
    keys: dict[tuple[Any, ...], str] = {}
    for entry in place.tail.claims:
        for one in entry.rows if entry.contract_version == deployed.version else ():
            if one.entity == plan.name and one.fields is not None:
                values = [one.fields[name] for name in names]
                shown = "/".join(str(plain_json(each)) for each in values)
                keys[read_key(deployed, plan.name, values)] = shown
    with place.engine.store.read() as tx:
        rows = tx.rows(deployed.tables[plan.name], list(keys))
    wanted = {
        plan.positions[name]: deployed.codec.reader(plan.members[plan.positions[name]].type)(value, name)
        for name, value in group.items()
    }
    live: list[tuple[int, str]] = []
    for shown, row in zip(keys.values(), rows, strict=True):
        now = None if row is None else lease_now(plan, row)
        if row is None or now is None or now.expires_at is None or not now.live(place.now):
            continue
        if all(row.cells[at] == cell for at, cell in wanted.items()):
            live.append((now.expires_at, shown))
    live.sort()
    told = ", ".join(shown for _, shown in live[:MOST]) + (", …" if len(live) > MOST else "")
    until = datetime_of(live[0][0]) if len(live) == count else None
    return (f"; held are {told}" if live and lists(place) else ""), until
