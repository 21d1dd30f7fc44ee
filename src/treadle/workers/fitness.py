"""What is looked at before a worker or schedule begins: may it run its commands, and does time go on?"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from treadle.errors import ConfigError
from treadle.text import nearest
from treadle.workers.client import Client, Embedded

SECOND: Final = 1_000_000


def check_usable(client: Client, names: Iterable[str | None]) -> None:
    """Raise `ConfigError` for commands that the contract has and the caller's role may not run.

    What a server tells of its contract leaves out what the token's role does not allow: there a command that
    is not told of may be missing or forbidden, and both are said.
    """
    contract = client.contract()
    known = [one.name for one in contract.commands]
    wanted = list(dict.fromkeys(name for name in names if name is not None))
    if not isinstance(client, Embedded):
        for name in wanted:
            if name not in known:
                text = f"no command {name} that this token's role allows in contract {contract.name}"
                raise ConfigError(f"{text}{nearest(name, known)}")
        return
    declared = [name for name in wanted if name in known]
    usable = client.usable(declared)
    lacking = [name for name in declared if name not in usable]
    if lacking:
        raise ConfigError(
            f"role {client.role} may not run {' and '.join(lacking)}; act in a role that may, or give "
            "this one its commands"
        )


@contextmanager
def explained(client: Client, names: Iterable[str | None]) -> Iterator[None]:
    """Where what the block fits does not fit because of the role, say so instead.

    A role that lacks commands is no reason not to begin: it may be deployed again while the worker waits.
    """
    try:
        yield
    except ConfigError:
        check_usable(client, names)
        raise


def warn_of_standstill(client: Client, name: str, log: logging.Logger) -> None:
    """Warn where the clock is behind the last commit; over HTTP it is the server that knows."""
    behind = client.behind() if isinstance(client, Embedded) else 0
    if behind > SECOND:
        log.warning(
            "%s: the last commit is %d s ahead of the clock, so time stands still and no lease runs out "
            "until the clock gets there; correct it, or see `treadle doctor` and `treadle clock reset`",
            name,
            behind // SECOND,
        )
