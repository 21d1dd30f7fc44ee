"""`treadle worker`: run workers and schedules of a program."""

from __future__ import annotations

import logging
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from importlib import import_module
from typing import Annotated, Any

import typer

from treadle.cli import options, screen, session
from treadle.cli.verbs import examples, verb_app
from treadle.errors import ConfigError
from treadle.text import nearest
from treadle.workers import Schedule, Worker
from treadle.workers.service import Runnable, serve

app = verb_app()


@app.command(
    epilog=examples(
        "treadle worker app:print_job --as printer-service --role worker",
        "treadle worker app --as printer-service",
        "treadle worker app:print_job app:nightly --as printer-service --until-idle",
        "treadle worker app --as printer-service --check",
        "TREADLE_TOKEN_FILE=/run/secrets/token treadle worker app --url https://shop.example",
    )
)
def worker(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="MODULE[:NAME]",
            help="A worker or schedule of a Python module; without NAME, all of them.",
        ),
    ],
    principal: options.Principal = None,
    role: options.Role = None,
    instance: options.Instance = "",
    tenant: options.Tenant = "",
    url: options.Url = None,
    until_idle: Annotated[
        bool, typer.Option("--until-idle", help="End when there is nothing to do now.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Only see whether they fit what is deployed.")
    ] = False,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Run workers and schedules until a signal stops them.

    All processes of one service act as the same principal; --instance (the host and process by default) tells
    them apart in the log. The first signal (Ctrl-C, SIGTERM) lets turns end that began; the second ends the
    process at once, and what it held is taken up by others when its leases end.

    With --url they work over HTTP on the database of a server, as whoever the token in TREADLE_TOKEN (or in
    the file that TREADLE_TOKEN_FILE names) was given to; it is no option, so that no list of processes shows
    it.
    """
    if url is not None:
        session.no_caller(**{"as": principal, "role": role, "tenant": tenant, "database-url": database})
    elif principal is None:
        raise typer.BadParameter("say who the workers act as: --as printer-service")
    _log(debug)
    found = runnables(names)
    where = instance or f"{socket.gethostname()}/{os.getpid()}"
    with ExitStack() as stack:
        acting: Any
        if url is not None:
            acting = stack.enter_context(session.connected(url, where))
        else:
            opened = stack.enter_context(session.opened(session.settings(config, database, set_)))
            acting = opened.acting_as(principal or "", role=role, instance=where, tenant=tenant)
        if check:
            for one in found:
                one.check(acting)
                screen.note(f"{one.name} fits")
            return
        for one in found:
            screen.note(f"{one.name} runs")
        serve(found, acting, until_idle=until_idle)
    _print_counts(found, json)


def runnables(names: list[str]) -> list[Runnable]:
    """The workers and schedules that `module:name` or `module` mean.

    Raises `ConfigError` for a module that cannot be imported or has none.
    """
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    found: list[Runnable] = []
    for name in names:
        module_name, colon, attribute = name.partition(":")
        module = _module(module_name)
        if not colon:
            found += _all(module, module_name)
            continue
        one = getattr(module, attribute, None)
        if not isinstance(one, Worker | Schedule):
            known = [key for key, value in vars(module).items() if isinstance(value, Worker | Schedule)]
            raise ConfigError(f"{module_name} has no worker {attribute}{nearest(attribute, known)}")
        found.append(one)
    return list(dict.fromkeys(found))


def _all(module: Any, name: str) -> Iterator[Runnable]:
    found = [value for value in vars(module).values() if isinstance(value, Worker | Schedule)]
    if not found:
        raise ConfigError(f"{name} has no workers; write @treadle.worker(…) over a function of it")
    yield from found


def _module(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or name
        if name != missing and not name.startswith(f"{missing}."):
            raise  # what it imports is missing: its own error says what
        raise ConfigError(f"there is no module {name!r} here or on Python's path") from None
    except ValueError:
        raise ConfigError(f"{name!r} is no module; write MODULE:NAME, such as app:print_job") from None


def _log(debug: bool) -> None:
    """What workers say goes to standard error, one line each."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    for name in ("treadle.worker", "treadle.schedule"):
        logger = logging.getLogger(name)
        logger.addHandler(handler)
        logger.setLevel(logging.DEBUG if debug else logging.INFO)
        logger.propagate = False


def _print_counts(found: list[Runnable], json: bool) -> None:
    for one in found:
        if isinstance(one, Worker | Schedule):
            counts = {name: count for name, count in one.counters.snapshot().items() if count}
            if json:
                screen.out_json({"worker": one.name} | counts)
            else:
                told = ", ".join(f"{name} {count}" for name, count in counts.items())
                screen.note(f"{one.name} ended: {told or 'nothing was done'}")
