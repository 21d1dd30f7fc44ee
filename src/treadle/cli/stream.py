"""`treadle stream`: events, their consumers, dead letters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, TypeAlias

import typer

import treadle
from treadle.cli import exits, options, screen, session
from treadle.cli.receipts import fields_of
from treadle.cli.token import length
from treadle.cli.verbs import examples, verb_app
from treadle.errors import InvalidInput
from treadle.model.values import parse_word
from treadle.streams import DeadLetter, Event, Streams
from treadle.streams.events import declaration

app = verb_app("Follow events; look after consumers and dead letters.", no_args_is_help=True)


def complete_event(incomplete: str) -> list[str]:
    """The deployed events, for the shell."""
    return [name for name in session.names("events") if name.startswith(incomplete)]


EventName: TypeAlias = Annotated[
    str, typer.Argument(metavar="EVENT", help="An event of the contract.", autocompletion=complete_event)
]
ConsumerName: TypeAlias = Annotated[str, typer.Argument(metavar="CONSUMER", help="A named consumer of it.")]
Partition: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--partition", metavar="NAME=VALUE", help="The one partition to use; may be repeated."),
]
DryRun: TypeAlias = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")]
Start: TypeAlias = Annotated[
    str, typer.Option("--start", metavar="oldest|newest|COMMIT", help="Where to begin what is new.")
]
Ids: TypeAlias = Annotated[
    list[str] | None, typer.Argument(metavar="ID", help="Events by their ids, such as 42:0.")
]
All: TypeAlias = Annotated[bool, typer.Option("--all", help="All of them.")]
Tokens: TypeAlias = Annotated[
    list[str], typer.Argument(metavar="TOKEN", help="Delivery tokens, as `stream pull` prints them.")
]
PULLER = "say who pulls: --as mailer-service"


@app.command(
    epilog=examples(
        "treadle stream tail JobDone",
        "treadle stream tail JobDone --partition shop_id=… --follow --json",
        "treadle stream tail JobDone --after 4f1c09ab77de.1:42.0",
    )
)
def tail(
    event: EventName,
    partition: Partition = None,
    after: Annotated[
        str | None, typer.Option("--after", metavar="CURSOR", help="Go on after this place.")
    ] = None,
    start: Start = "oldest",
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with what comes, until Ctrl-C.")
    ] = False,
    principal: options.Principal = None,
    role: options.Role = None,
    tenant: options.Tenant = "",
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Print events in the order of their commits. Nothing is kept and nothing is settled."""
    with session.opened(session.settings(config, database, set_)) as opened:
        acting = opened.acting_as(principal or "owner", role=role, tenant=tenant)
        chosen = partition_of(opened, event, partition)
        reader = acting.tail(event, chosen, after=after, start=start_of(start))
        for one in reader.follow(idle=None if follow else 0):
            _print_event(one, json)


@app.command(
    epilog=examples(
        "treadle stream pull JobDone mailer --as mailer-service",
        "treadle stream pull JobDone mailer --as mailer-service --limit 1 --wait 30",
    )
)
def pull(
    event: EventName,
    consumer: ConsumerName,
    partition: Partition = None,
    limit: Annotated[int, typer.Option("--limit", metavar="COUNT", help="At most so many events.")] = 64,
    lease: Annotated[int, typer.Option("--lease", metavar="SECONDS", help="Hold them for so long.")] = 60,
    wait: Annotated[float, typer.Option("--wait", metavar="SECONDS", help="Wait so long for one.")] = 0,
    strict: Annotated[
        bool, typer.Option("--strict", help="Nothing from behind an event that is still open.")
    ] = False,
    start: Start = "oldest",
    principal: options.Principal = None,
    role: options.Role = None,
    tenant: options.Tenant = "",
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    debug: options.Debug = False,
) -> None:
    """Take the next events for a named consumer, one JSON object a line, with the tokens that settle them.

    The first pull brings the consumer into being. Exits 1 where there was nothing.
    """
    with session.opened(session.settings(config, database, set_)) as opened:
        taker = _consumer(opened, event, consumer, partition, (principal, role, tenant), start)
        found = taker.pull(limit, lease=lease, wait=wait, strict=strict)
    for one in found:
        screen.out_json(one.to_json())
    raise typer.Exit(exits.SUCCESS.code if found else exits.FAILED.code)


@app.command(epilog=examples("treadle stream ack JobDone mailer TOKEN --as mailer-service"))
def ack(
    event: EventName,
    consumer: ConsumerName,
    tokens: Tokens,
    partition: Partition = None,
    principal: options.Principal = None,
    role: options.Role = None,
    tenant: options.Tenant = "",
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Settle deliveries for good. Exits 1 where one is stale: its event was given to somebody since."""
    with session.opened(session.settings(config, database, set_)) as opened:
        taker = _consumer(opened, event, consumer, partition, (principal, role, tenant))
        settled = taker.ack(*tokens)
    _print_settled(settled.answers, settled.ok, json)


@app.command(epilog=examples("treadle stream nack JobDone mailer TOKEN --as mailer-service --delay 30"))
def nack(
    event: EventName,
    consumer: ConsumerName,
    tokens: Tokens,
    delay: Annotated[int, typer.Option("--delay", metavar="SECONDS", help="Not before so long.")] = 0,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why, for a dead letter.")] = "",
    partition: Partition = None,
    principal: options.Principal = None,
    role: options.Role = None,
    tenant: options.Tenant = "",
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Give deliveries back, to be given again. After the tenth failure an event is a dead letter."""
    with session.opened(session.settings(config, database, set_)) as opened:
        taker = _consumer(opened, event, consumer, partition, (principal, role, tenant))
        settled = taker.nack(*tokens, delay=delay, reason=reason)
    _print_settled(settled.answers, settled.ok, json)


@app.command("list", epilog=examples("treadle stream list", "treadle stream list JobDone --json"))
def list_(
    event: Annotated[
        str | None,
        typer.Argument(metavar="EVENT", help="Only of this event.", autocompletion=complete_event),
    ] = None,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Show the consumers: what they have open, what is dead, how far they are behind."""
    with session.opened(session.settings(config, database, set_)) as opened:
        found = opened.streams().consumers(event)
    if json:
        for one in found:
            screen.out_json(one._asdict() | {"partition": screen_json(one.partition)})
        return
    head = ("event", "consumer", "partition", "settled", "open", "dead", "behind")
    rows = [
        (
            one.event,
            one.consumer,
            "-" if one.partition is None else " ".join(map(str, one.partition)),
            one.settled,
            str(one.open),
            str(one.dead),
            str(one.behind),
        )
        for one in found
    ]
    screen.table([head, *rows])


@app.command(
    epilog=examples("treadle stream dead JobDone mailer", "treadle stream dead JobDone mailer --json")
)
def dead(
    event: EventName,
    consumer: ConsumerName,
    partition: Partition = None,
    after: Annotated[
        str | None, typer.Option("--after", metavar="ID", help="Those after this event.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="COUNT", help="At most so many.")] = 64,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Show dead letters: events that failed too often, and why the last time."""
    with session.opened(session.settings(config, database, set_)) as opened:
        chosen = partition_of(opened, event, partition)
        found = opened.streams().dead_letters(event, consumer, partition=chosen, after=after, limit=limit)
    for one in found:
        _print_letter(one, json)


@app.command(
    epilog=examples(
        "treadle stream replay JobDone mailer 42:0 43:0",
        "treadle stream replay JobDone mailer --all --dry-run",
    )
)
def replay(
    event: EventName,
    consumer: ConsumerName,
    ids: Ids = None,
    every: All = False,
    dry_run: DryRun = False,
    partition: Partition = None,
    principal: options.Principal = None,
    role: options.Role = None,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Give dead letters to the consumer again. Recorded in the log."""
    with session.opened(session.settings(config, database, set_)) as opened:
        chosen = partition_of(opened, event, partition)
        streams = _operator(opened, principal, role)
        found = streams.replay(event, consumer, _chosen(ids, every), partition=chosen, dry_run=dry_run)
    _print_ids(found, "would be given again" if dry_run else "will be given again", json)


@app.command(
    epilog=examples("treadle stream drop JobDone mailer 42:0", "treadle stream drop JobDone mailer --all")
)
def drop(
    event: EventName,
    consumer: ConsumerName,
    ids: Ids = None,
    every: All = False,
    dry_run: DryRun = False,
    partition: Partition = None,
    principal: options.Principal = None,
    role: options.Role = None,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Give dead letters up for good. Recorded in the log, which still has the events."""
    with session.opened(session.settings(config, database, set_)) as opened:
        chosen = partition_of(opened, event, partition)
        streams = _operator(opened, principal, role)
        found = streams.drop(event, consumer, _chosen(ids, every), partition=chosen, dry_run=dry_run)
    _print_ids(found, "would be dropped" if dry_run else "dropped", json)


@app.command(
    epilog=examples(
        "treadle stream seek JobDone mailer oldest --dry-run", "treadle stream seek JobDone mailer 4711"
    )
)
def seek(
    event: EventName,
    consumer: ConsumerName,
    start: Annotated[str, typer.Argument(metavar="oldest|newest|COMMIT", help="Where to go on.")],
    dry_run: DryRun = False,
    partition: Partition = None,
    principal: options.Principal = None,
    role: options.Role = None,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Let a consumer go on from another place. Events may come again, or never."""
    with session.opened(session.settings(config, database, set_)) as opened:
        chosen = partition_of(opened, event, partition)
        streams = _operator(opened, principal, role)
        place = streams.seek(event, consumer, start_of(start), partition=chosen, dry_run=dry_run)
    if json:
        screen.out_json({"after": place, "dry_run": dry_run})
    else:
        screen.out(f"{'would go' if dry_run else 'goes'} on after {place}")


@app.command(
    epilog=examples(
        "treadle stream remove JobDone mailer --dry-run", "treadle stream remove JobDone mailer --yes"
    )
)
def remove(
    event: EventName,
    consumer: ConsumerName,
    yes: Annotated[
        bool, typer.Option("--yes", help="Yes, although it has events open or dead letters.")
    ] = False,
    dry_run: DryRun = False,
    partition: Partition = None,
    principal: options.Principal = None,
    role: options.Role = None,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Forget a consumer, what it has open, and its dead letters. Where there are any, it asks for --yes."""
    with session.opened(session.settings(config, database, set_)) as opened:
        chosen = partition_of(opened, event, partition)
        streams = _operator(opened, principal, role)
        open_, letters = streams.remove(event, consumer, partition=chosen, dry_run=True)
        if not dry_run:
            if not yes and (open_ or letters):
                raise typer.BadParameter(
                    f"this forgets {open_} open and {letters} dead of {consumer}: add --yes, or --dry-run"
                )
            open_, letters = streams.remove(event, consumer, partition=chosen)
    if json:
        screen.out_json({"open": open_, "dead": letters, "dry_run": dry_run})
    else:
        done = "would be forgotten" if dry_run else "forgotten"
        screen.out(f"{done}, with {open_} open and {letters} dead")


@app.command(epilog=examples("treadle stream retain JobDone 30d", "treadle stream retain JobDone forever"))
def retain(
    event: EventName,
    window: Annotated[str, typer.Argument(metavar="LENGTH|forever", help="Such as 30d or 12h.")],
    principal: options.Principal = None,
    role: options.Role = None,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    debug: options.Debug = False,
) -> None:
    """Say how long events stay in their stream. What a consumer needs stays longer; the log keeps all."""
    with session.opened(session.settings(config, database, set_)) as opened:
        _operator(opened, principal, role).retain(event, None if window == "forever" else length(window))


@app.command(epilog=examples("treadle stream sweep JobDone"))
def sweep(
    event: EventName,
    principal: options.Principal = None,
    role: options.Role = None,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Remove the events that their window lets go now. Pulls do it by themselves, now and then."""
    with session.opened(session.settings(config, database, set_)) as opened:
        streams = _operator(opened, principal, role)
        gone = streams.sweep(event)
        kept = streams.kept(event) if not gone else ""
    if json:
        screen.out_json({"removed": gone} | ({"kept": kept} if kept else {}))
        return
    screen.out(f"{screen.counted(gone, 'event')} removed from the stream")
    if kept:
        screen.out(f"the oldest is {screen.plain(kept)}")


def partition_of(
    database: treadle.Database, event: str, words: Sequence[str] | None
) -> dict[str, Any] | None:
    """The partition that words name, such as shop_id=…; None for none. Raises `InvalidInput`."""
    if not words:
        return None
    declared = declaration(session.deployed(database), event)
    types = {field.name: field.type for field in declared.fields if field.name in declared.partition_by}
    found: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or name not in types:
            wanted = ", ".join(declared.partition_by) or "nothing: it is one stream"
            raise InvalidInput(f"write NAME=VALUE; the partition of {event} is {wanted}", path="partition")
        found[name] = parse_word(types[name], text)
    return found


def start_of(text: str) -> str | int:
    """Where to begin: a word, or a commit's number."""
    return int(text) if text.isascii() and text.isdigit() else text


def _consumer(
    database: treadle.Database,
    event: str,
    name: str,
    partition: Sequence[str] | None,
    who: tuple[str | None, str | None, str],
    start: str = "oldest",
) -> Any:
    principal, role, tenant = who
    if principal is None:
        raise typer.BadParameter(PULLER)
    acting = database.acting_as(principal, role=role, tenant=tenant)
    return acting.consumer(event, name, partition_of(database, event, partition), start=start_of(start))


def _operator(database: treadle.Database, principal: str | None, role: str | None) -> Streams:
    return database.streams(principal=principal or "owner", role=role)


def _chosen(ids: list[str] | None, every: bool) -> list[str] | None:
    if bool(ids) == every:
        raise typer.BadParameter("name events by their ids, or all of them with --all")
    return None if every else ids


def screen_json(values: Iterable[Any] | None) -> list[Any] | None:
    """Partition values as JSON: what has no form of its own as text."""
    if values is None:
        return None
    return [one if isinstance(one, str | int | bool) else str(one) for one in values]


def _print_event(event: Event, json: bool) -> None:
    if json:
        screen.out_json(event.to_json())
        return
    shown = event.to_json()
    screen.out(f"{screen.strong(event.name)} {event.id}  {shown['time']}")
    screen.indented(fields_of(shown["fields"]))


def _print_letter(letter: DeadLetter, json: bool) -> None:
    if json:
        screen.out_json(letter.to_json())
        return
    _print_event(letter.event, False)
    screen.indented([("failed", f"{letter.attempts} times"), ("reason", letter.reason or "-")])


def _print_settled(answers: Sequence[str], ok: bool, json: bool) -> None:
    if json:
        screen.out_json({"answers": list(answers)})
    else:
        for answer in answers:
            screen.out(answer)
    raise typer.Exit(exits.SUCCESS.code if ok else exits.FAILED.code)


def _print_ids(ids: Sequence[str], what: str, json: bool) -> None:
    if json:
        screen.out_json({"events": list(ids)})
        return
    for one in ids:
        screen.out(one)
    screen.note(f"{len(ids)} {what}")
