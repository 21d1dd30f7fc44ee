"""Why nothing happens to a row: reasons, as far as the database knows them.

What a worker has in its own program (its parameters, whether it runs at all) the database cannot know; it
tells what it sees of it, and what workers and schedules said of themselves when they were seen last.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from treadle.access.presence import fires_in
from treadle.errors import Denied
from treadle.model import contract as c
from treadle.model import query as q
from treadle.model.facts import Row
from treadle.model.ranges import holds
from treadle.model.scalars import microseconds
from treadle.model.values import datetime_of
from treadle.plan.answers import lease_now
from treadle.plan.entities import EntityPlan
from treadle.queries.frame import Frame, filters_of
from treadle.streams import Streams
from treadle.why.caps import caps
from treadle.why.place import Place, known
from treadle.why.reply import Reason
from treadle.why.tail import RECENT, TAIL

SECOND: Final = 1_000_000
LETTERS: Final = 256
"""So many dead letters of each consumer are looked through."""


def reasons(place: Place) -> Iterator[Reason]:
    """The reasons, the strongest first."""
    yield from _standstill(place)
    yield from _about(place)
    yield from _pruned(place)


def _standstill(place: Place) -> Iterator[Reason]:
    """A clock behind the last commit: nothing that waits for a time gets nearer to it."""
    ahead = place.now - place.clock
    if ahead > SECOND:
        text = (
            f"the last commit is {ahead // SECOND} s ahead of the clock, so time stands still until the "
            "clock gets there; correct the clock, or if the commit was stamped wrongly, `treadle clock reset`"
        )
        yield Reason("floor_ahead", text)


def _pruned(place: Place) -> Iterator[Reason]:
    """A log that begins later than the database: what was done before is not told."""
    if place.floor and len(place.tail.writes) + len(place.tail.asked) < RECENT:
        text = f"the log begins after record {place.floor}, so what commands did before is not told"
        yield Reason("log_pruned", text)


def _about(place: Place) -> Iterator[Reason]:
    """Reasons that are the row's own."""
    row, plan = place.row, place.plan
    if row is None:
        gone = f"it was deleted, at revision {place.last}" if place.last else "no command has created it"
        yield Reason("absent", f"there is no such {plan.name}: {gone}")
        yield from _letters(place)
        yield from _schedules(place)
        return
    final = _final(plan, row)
    if final is not None:
        yield final
    lease = lease_now(plan, row)
    if lease is not None and lease.live(place.now) and lease.expires_at is not None:
        text = "somebody holds its lease, and nobody else can claim it before that ends"
        yield Reason("held", text, datetime_of(lease.expires_at))
    elif lease is not None and lease.owner is not None and final is None:
        yield Reason("lapsed", "its last holder's lease has run out; whoever comes next may claim it")
    yield from _letters(place)
    if final is None and (lease is None or not lease.live(place.now)):
        yield from _open(place, row)


def _final(plan: EntityPlan, row: Row) -> Reason | None:
    workflow = plan.workflow
    if workflow is None or not workflow.transitions:
        return None
    state = row.cells[plan.positions[workflow.state]]
    if any(state in one.sources for one in workflow.transitions):
        return None
    return Reason("final", f"{state} is a final state of {workflow.name}: no step leads on from it")


def _open(place: Place, row: Row) -> Iterator[Reason]:
    """A row that could be worked on: do the queries list it, and does anybody come?"""
    listing = list(_listings(place, row))
    listed = [name for name, against in listing if not against]
    if listing and not listed:
        for name, against in listing:
            yield _unlisted(place, row, name, against)
        return
    if place.plan.lease is None or place.restricted:
        return
    yield from _workers(place, listed)
    yield from caps(place, row)
    yield from _schedules(place)


def _listings(place: Place, row: Row) -> Iterator[tuple[str, list[q.Condition]]]:
    """Queries that workers could take rows from, each with its conditions that the row does not meet.

    Only conditions on constants and the time are looked at: what a worker gives as parameters is its own.
    """
    secret = {field.name for field in place.plan.members if field.secret}
    for query in known(place):
        member = query.rows
        if member is None or not isinstance(member.value, q.ShapeResult):
            continue
        statement = query.statement(member.value.row)
        revision = any(isinstance(one.value, q.RevisionResult) for one in member.value.members)
        if statement.entity == place.plan.name and statement.parent is None and revision:
            access = statement.access
            asked = [
                one
                for one in (*access.fixed, *access.ranges, *access.rest)
                if not one.when
                and one.field not in secret
                and all(isinstance(each, _CONSTANT) for each in one.operands)
            ]
            yield query.name, [one for one in asked if not _met(place, row, one)]


_CONSTANT: Final = (c.Literal, c.Variant, c.TxTime)


def _met(place: Place, row: Row, condition: q.Condition) -> bool:
    filters = filters_of([condition], place.plan, {}, frozenset())
    return bool(holds(filters(Frame({}, place.now)))(row.cells))


def _schedules(place: Place) -> Iterator[Reason]:
    """Schedules whose command is about rows of this kind, as they were last seen, and when they fire next."""
    roles, name = place.state.roles, place.plan.name
    for entry in () if place.restricted else place.tail.fires:
        fired = fires_in(entry.instance)
        may = roles.permits(place.caller, "audit") or roles.allowed(place.caller, [entry.name], "commands")
        if fired is None or not may:
            continue
        text = f"schedule {fired.schedule} runs {entry.name}, which writes a {name}"
        text += f"; it fired last in commit {entry.number}"
        late = microseconds(fired.next) < place.now
        then = ", and was due again since: nobody may be running it" if late else " and is due again"
        yield Reason("schedule", text + then, fired.next)


def _unlisted(place: Place, row: Row, name: str, against: list[q.Condition]) -> Reason:
    """A query does not list the row; it will by itself where only the time stands against it."""
    due = [one for one in against if _is_due(one)]
    if len(due) == len(against):
        times = [row.cells[place.plan.positions[one.field]] for one in due]
        if all(isinstance(time, int) for time in times):
            fields = ", ".join(one.field for one in due)
            text = f"query {name} does not list it yet: its {fields} has not come"
            return Reason("not_due", text, datetime_of(max(times)))
    fields = ", ".join(dict.fromkeys(one.field for one in against))
    return Reason("not_listed", f"query {name} does not list it, because of its {fields}")


def _is_due(condition: q.Condition) -> bool:
    return condition.op in ("<", "<=") and isinstance(condition.operands[0], c.TxTime)


def _workers(place: Place, listed: list[str]) -> Iterator[Reason]:
    """Whether anybody claims rows of this kind, by the end of the log."""
    name = place.plan.name
    source = f" although {', '.join(listed)} lists it" if listed else ""
    deployed = place.state.require()
    if not place.tail.claims:
        seen = "ever" if place.tail.whole else f"in the last {TAIL} records"
        text = f"no worker was seen: nobody has claimed a {name} {seen},{source}".rstrip(",")
        yield Reason("no_worker", f"{text}; one that runs and claims nothing leaves no trace")
        return
    newest = place.tail.claims[0]
    if newest.contract_version != deployed.version:
        text = (
            f"the last claim of a {name} was under version {newest.contract_version} of the contract, and "
            f"version {deployed.version} is active: its workers may be of another contract"
        )
        yield Reason("other_contract", text)
        return
    when = f"{newest.time:%Y-%m-%d %H:%M:%S} UTC"
    yield Reason(
        "waiting", f"a worker may claim it; one claimed a {name} last at {when}, commit {newest.number}"
    )


def _letters(place: Place) -> Iterator[Reason]:
    """Dead letters of events that name the row's key; for whoever may consume the stream."""
    fields = place.plan.members[: place.plan.key_count]
    wanted = {field.name: value for field, value in zip(fields, place.asked.key, strict=True)}
    streams = Streams(place.engine, place.caller)
    for event in place.state.require().contract.events:
        if not {field.name for field in event.fields}.issuperset(wanted):
            continue
        for one in streams.consumers(event.name):
            if one.dead:
                yield from _dead(streams, event.name, one.consumer, one.partition, wanted)


def _dead(
    streams: Streams, event: str, consumer: str, partition: Any, wanted: dict[str, Any]
) -> Iterator[Reason]:
    try:
        letters = streams.dead_letters(event, consumer, partition=partition, limit=LETTERS)
    except Denied:  # a caller of one tenant, and a consumer of all
        return
    for letter in letters:
        found = letter.event.fields
        if all(found[name] == value for name, value in wanted.items()):
            text = (
                f"event {letter.event.id} of {event} is a dead letter of consumer {consumer} after "
                f"{letter.attempts} attempts; replay or drop it"
            )
            yield Reason("dead_letter", text)
