"""`treadle why`: what stands in a row's way, or in a signed run's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treadle.cli import exits, options, screen, session
from treadle.cli.row import complete_entity
from treadle.cli.verbs import examples, verb_app
from treadle.model.showing import plain_json, shown_json

if TYPE_CHECKING:
    from treadle.why import Expected, Held, Recent, Why, WhyRun

app = verb_app()


@app.command(
    epilog=examples(
        "treadle why Job SHOP_ID JOB_ID",
        "treadle why Job SHOP_ID JOB_ID --as printers --role worker",
        "treadle why Job SHOP_ID JOB_ID --json",
        "treadle why --run http://example.org/run/7",
        "TREADLE_TOKEN_FILE=/run/secrets/token treadle why Job SHOP_ID JOB_ID --url https://shop.example",
    )
)
def why(
    entity: Annotated[
        str | None,
        typer.Argument(metavar="ENTITY", help="An entity of the contract.", autocompletion=complete_entity),
    ] = None,
    key: Annotated[
        list[str] | None, typer.Argument(metavar="KEY", help="The key's values, in declared order.")
    ] = None,
    run: Annotated[
        str | None, typer.Option("--run", metavar="IRI", help="A signed run, instead of a row.")
    ] = None,
    graph: Annotated[
        str | None, typer.Option("--graph", metavar="IRI", help="With --run: the graph that it is in.")
    ] = None,
    principal: options.Principal = None,
    role: options.Role = None,
    tenant: options.Tenant = "",
    url: options.Url = None,
    reveal: options.Reveal = False,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Say what stands in a row's way.

    Who holds it and until when, in the store's time; why it is as it is; what each command would answer now
    to a caller whose evidence is right, and what would change that; and what became of the last commands.
    With --as it is told as that principal sees it. Exits 1 where there is no such row.

    Of a signed run (--run): its state and revision, the steps that may be taken now, who is registered to
    sign them, its last events, and what the guard refused lately that was about it.
    """
    if (entity is None) == (run is None):
        raise typer.BadParameter("name a row by words: treadle why Job SHOP_ID JOB_ID; or a run: --run IRI")
    with ExitStack() as stack:
        asked: Any
        values: tuple[object, ...]
        if url is not None:
            session.no_caller(**{"as": principal, "role": role, "tenant": tenant, "database-url": database})
            asked, values = stack.enter_context(session.connected(url)), tuple(key or ())
        else:
            opened = stack.enter_context(session.opened(session.settings(config, database, set_)))
            asked = opened.acting_as(principal or "owner", role=role, tenant=tenant)
            values = session.key_of(opened, entity, key or []) if entity is not None else ()
        if entity is None:
            _tell(asked.why_run(run or "", graph), json)
            return
        found: Why = asked.why(entity, values, unmasked=reveal)
    if json:
        screen.out_json(found.to_json())
    else:
        _print(found)
    raise typer.Exit(exits.SUCCESS.code if found.exists else exits.FAILED.code)


def _tell(found: WhyRun, json: bool) -> None:
    if json:
        screen.out_json(found.to_json())
        return
    where = f" in {found.graph}" if found.graph is not None else ""
    finished = ", a terminal state" if found.finished else ""
    standing = f"is {found.state}{finished}, at revision {found.revision}"
    screen.out(f"{screen.strong(screen.plain(found.run))}{screen.plain(where)} {screen.plain(standing)}")
    if not found.enforced:
        screen.out("  the database does not enforce workflow processing: docs/howto/enroll.md")
    rows = [("  may take", f"{one.name}: {one.from_state} → {one.to_state}") for one in found.legal]
    rows += [("  may sign", one.agent + (f" ({one.iri})" if one.iri else "")) for one in found.signers]
    rows += [
        ("  was taken", f"{one.at}  {one.from_state} → {one.to_state}  {one.agent}") for one in found.events
    ]
    for one in found.refusals:
        what = f"{_time(one.time)}  {one.reason}  {one.entity}  {one.principal}"
        rows.append(("  was refused", what))
    if rows:
        screen.table(rows)


def _print(found: Why) -> None:
    name = screen.strong(screen.plain(found.entity))
    if found.exists:
        state = f" is {found.state}" if found.state is not None else ""
        screen.out(f"{name}{state}, at revision {found.revision}; the store's time is {_time(found.now)}")
    else:
        screen.out(f"there is no such {name}; the store's time is {_time(found.now)}")
    if found.lease is not None:
        screen.out(f"  lease {_lease(found.lease)}")
    for reason in found.reasons:
        until = f" (until {_time(reason.until)})" if reason.until is not None else ""
        screen.out(f"  {screen.paint(reason.code, 'key')}: {screen.plain(reason.text)}{until}")
    if found.commands:
        screen.out("now would answer")
        screen.table(_answers(found.commands))
    if found.recent:
        screen.out("last commands")
        screen.table(_recent(found.recent))


def _lease(held: Held) -> str:
    if held.expires_at is None:
        return f"{held.name}: nobody holds it"
    if held.expired:
        return f"{held.name}: nobody holds it; it ran out at {_time(held.expires_at)}"
    by = "you" if held.holder == "you" else held.principal or "another"
    on = f" on {held.instance}" if held.instance else ""
    evidence = f", owner {shown_json(plain_json(held.owner))}, token {held.token}"
    left = f"{held.seconds:.1f} s more, until {_time(held.expires_at)}"
    return f"{held.name}: held by {screen.plain(by + on)}, {left}{evidence}"


def _answers(commands: tuple[Expected, ...]) -> Iterator[tuple[str, ...]]:
    for one in commands:
        sure = "" if one.certain else " (if nothing else decides)"
        until = f", until {_time(one.until)}" if one.until is not None else ""
        remedy = f"; {one.remedy}" if one.remedy else ""
        needs = f"; right {', '.join(one.needs)} given" if one.success and one.needs else ""
        yield f"  {one.command}", one.outcome, f"{one.reason}{until}{remedy}{needs}{sure}"


def _recent(recent: tuple[Recent, ...]) -> Iterator[tuple[str, ...]]:
    for one in recent:
        who = "you" if one.you else one.principal
        moved = f"revision {one.revision}" if one.revision is not None else "nothing written"
        yield f"  {one.commit}", _time(one.time), f"{one.command} → {one.outcome}", who, moved


def _time(when: datetime) -> str:
    return f"{when:%Y-%m-%d %H:%M:%S}"
