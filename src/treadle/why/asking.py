"""One question from end to end: who may ask, one snapshot, what it shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from treadle.access import tokens
from treadle.access.caller import Caller
from treadle.engine import retained
from treadle.engine.core import Engine
from treadle.engine.state import Deployed, State
from treadle.errors import Denied, UnknownName
from treadle.history import MASK, Entry
from treadle.model import canonical
from treadle.model.facts import Row, Sealed
from treadle.model.values import datetime_of
from treadle.plan.answers import Answer, answers, lease_now
from treadle.plan.entities import EntityPlan
from treadle.ports.store import ReadTx
from treadle.queries.visible import sees
from treadle.rows import read_key
from treadle.text import nearest
from treadle.why import tail as tails
from treadle.why.place import Place
from treadle.why.reply import Expected, Held, Recent, Why
from treadle.why.tail import RECENT, Asked, Tail
from treadle.why.waiting import reasons

SECOND: Final = 1_000_000


class Seen(NamedTuple):
    """What the snapshot shows: the row (None where there is none, or none for this caller), times and head.

    `now` is the store's time, `clock` the machine's; the log has the records after `floor`, up to `head`.
    """

    row: Row | None
    last: int
    hidden: bool
    restricted: bool
    now: int
    head: int
    clock: int
    floor: int


def why(
    engine: Engine, caller: Caller, entity: str, key: Sequence[Any] | Any, *, unmasked: bool = False
) -> Why:
    """Say what stands in the way of one row, by its complete key.

    Whoever may use a command or query of the entity may ask; a row that policies hide looks absent. Owner and
    token of a lease are shown where `unmasked` is asked for by a caller with the `admin` permission, and the
    names of others to an `admin`. Raises `UnknownName`, `InvalidInput` and `Denied`.
    """
    state = engine.refresh()
    deployed = state.require()
    if entity not in deployed.tables:
        raise UnknownName(
            f"no entity {entity} in contract {deployed.contract.name}{nearest(entity, deployed.tables)}"
        )
    cells = read_key(deployed, entity, key)
    plan = deployed.plan.entities[entity]
    with engine.store.read() as tx:
        caller = _admitted(caller, state, tx, engine, entity)
        seen = _seen(engine, tx, caller, state, plan, cells)
    admin = state.roles.permits(caller, "admin")
    show = [deployed.codec.python(field.type) for field in plan.members[: plan.key_count]]
    values = tuple(make(cell) for make, cell in zip(show, cells, strict=True))
    listed: Any = canonical.decode(deployed.codec.key_encoder(entity)(cells))
    asked = Asked(entity, values, listed if isinstance(listed, list) else [listed])
    tail = tails.read(engine, asked, deployed.contract, seen.head, seen.floor)
    if seen.hidden or (seen.row is None and seen.restricted):
        tail = tail._replace(writes=(), asked=())
    viewer = _Viewer(caller, admin, unmasked and admin, deployed)
    held = _held(plan, seen, tail, viewer)
    place = Place(
        engine, caller, state, plan, seen.row, seen.now, seen.last, tail, asked, seen.restricted,
        seen.clock, seen.floor,
    )  # fmt: skip
    row = seen.row
    return Why(
        entity=entity,
        key=values,
        now=datetime_of(seen.now),
        commit=seen.head,
        exists=row is not None,
        revision=row.revision if row is not None else seen.last,
        state=_state(plan, row),
        lease=held,
        commands=tuple(_expected(deployed, state, viewer, entity, row, seen.now)),
        reasons=tuple(reasons(place)),
        recent=tuple(_recent(tail, asked, viewer)),
    )


class _Viewer(NamedTuple):
    caller: Caller
    admin: bool
    unmasked: bool
    deployed: Deployed

    def name(self, of: str | None) -> str | None:
        """Another's name as this viewer sees it."""
        return of if self.admin or of in (None, "", self.caller.principal) else MASK


def _admitted(caller: Caller, state: State, tx: ReadTx, engine: Engine, entity: str) -> Caller:
    """The caller, once it may ask; a token is looked up again in the snapshot."""
    if caller.token is not None:
        data = tx.setting(tokens.PREFIX + caller.token)
        if data is None:
            raise tokens.refused()
        token = tokens.decode(data)
        token.check(max(engine.clock.now(), tx.head().time))
        caller = caller._replace(facts=state.facts_of(token))
    contract = state.require().contract
    commands = [one.name for one in contract.commands if any(each.entity == entity for each in one.bindings)]
    queries = [one.name for one in state.queries if any(each.entity == entity for each in one.statements)]
    roles = state.roles
    if not (
        roles.permits(caller, "audit")
        or roles.allowed(caller, commands, "commands")
        or roles.allowed(caller, queries, "queries")
    ):
        raise Denied(f"role {caller.role} has no command or query of {entity}, so it may not ask about it")
    return caller


def _seen(
    engine: Engine, tx: ReadTx, caller: Caller, state: State, plan: EntityPlan, key: tuple[Any, ...]
) -> Seen:
    deployed = state.require()
    head, clock = tx.head(), engine.clock.now()
    now = max(clock, head.time)
    table = deployed.tables[plan.name]
    row = tx.rows(table, [key])[0]
    last = tx.last_revisions(table, [key])[0] if row is None and plan.tombstones else 0
    sealed = Sealed(now, (), dict(caller.facts), state.roles.policed(caller))
    visible = sees(deployed, plan, caller, sealed, tx)
    hidden = row is not None and visible is not None and not visible(row.cells)
    if visible is not None and (row is None or hidden):
        last = 0
    return Seen(
        None if hidden else row,
        last,
        hidden,
        visible is not None,
        now,
        head.number,
        clock,
        retained.floor(tx),
    )


def _state(plan: EntityPlan, row: Row | None) -> str | None:
    if row is None or plan.workflow is None:
        return None
    return str(row.cells[plan.positions[plan.workflow.state]])


def _held(plan: EntityPlan, seen: Seen, tail: Tail, viewer: _Viewer) -> Held | None:
    now = lease_now(plan, seen.row) if seen.row is not None else None
    if now is None or seen.row is None or plan.lease is None:
        return None
    live = now.live(seen.now)
    claim = _claim(tail, plan, viewer) if now.owner is not None else None
    you = claim is not None and claim.principal == viewer.caller.principal
    lease = plan.lease
    owner_type = plan.members[lease.owner].type
    owner = None if now.owner is None else viewer.deployed.codec.python(owner_type)(now.owner)
    left = 0 if now.expires_at is None else max(0, now.expires_at - seen.now)
    return Held(
        name=now.name,
        holder=("you" if you else "another") if live else "nobody",
        expired=now.owner is not None and not live,
        expires_at=None if now.expires_at is None else datetime_of(now.expires_at),
        seconds=left / SECOND,
        owner=owner if viewer.unmasked or owner is None else MASK,
        token=now.fence if viewer.unmasked else MASK,
        attempts=None if lease.attempts < 0 else seen.row.cells[lease.attempts],
        principal=None if claim is None else viewer.name(claim.principal),
        instance=None if claim is None else _instance(claim, viewer),
        since=None if claim is None else claim.time,
    )


def _instance(entry: Entry, viewer: _Viewer) -> str | None:
    mine = entry.principal == viewer.caller.principal
    return entry.instance if viewer.admin or mine or not entry.instance else MASK


def _claim(tail: Tail, plan: EntityPlan, viewer: _Viewer) -> Entry | None:
    """The record of the claim that the lease is of: the newest one that wrote the row."""
    claiming = set(tails.claimers(viewer.deployed.contract, plan.name))
    return next((entry for entry in tail.writes if entry.success and entry.name in claiming), None)


def _expected(
    deployed: Deployed, state: State, viewer: _Viewer, entity: str, row: Row | None, now: int
) -> Iterator[Expected]:
    """The answers of those commands that the caller may run; of all for whoever may read the log."""
    found = answers(deployed.plan, entity, row, now)
    roles, caller = state.roles, viewer.caller
    names = [one.command for one in found]
    known = names if roles.permits(caller, "audit") else roles.allowed(caller, names, "commands")
    for one in found:
        if one.command in known:
            yield _shown(one)


def _shown(one: Answer) -> Expected:
    until = None if one.until is None else datetime_of(one.until)
    return Expected(**(one._asdict() | {"until": until}))


def _recent(tail: Tail, asked: Asked, viewer: _Viewer) -> Iterator[Recent]:
    """The newest commands that wrote the row or asked for it, newest first."""
    both = sorted((*tail.writes, *tail.asked), key=lambda entry: -entry.number)[:RECENT]
    for entry in both:
        written = [one for one in entry.rows if (one.entity, one.key) == (asked.entity, asked.canonical)]
        yield Recent(
            commit=entry.number,
            time=entry.time,
            command=entry.name if entry.kind == "command" else f"{entry.kind} {entry.name}".strip(),
            outcome=entry.outcome or entry.failure or "",
            success=entry.success,
            revision=written[0].revision if written else None,
            you=entry.principal == viewer.caller.principal,
            principal=viewer.name(entry.principal) or "",
            instance=_instance(entry, viewer),
        )
