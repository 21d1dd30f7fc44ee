"""What a process says of itself, beside its name: a worker its caps, a schedule when it fires next.

It stands behind the name in the instance, which is recorded with every command and compared with nothing, so
that `treadle log` shows it and `why` can tell a row's waiting from it: `host-7/4242 caps=Rendering:2`. It
grants nothing and is believed by nobody.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Final, NamedTuple
from urllib.parse import quote, unquote

from treadle.limits import NAME_BYTES
from treadle.model.scalars import microseconds, timestamp_text

_CAPS: Final = re.compile(r"(?:^| )caps=([A-Za-z_]\w*:\d+(?:,[A-Za-z_]\w*:\d+)*)(?= |$)", re.ASCII)
_FIRES: Final = re.compile(r"(?:^| )schedule=(\S+) next=(\d{4}-\S+Z)(?= |$)", re.ASCII)


class Fires(NamedTuple):
    """A schedule, and when it is due next."""

    schedule: str
    next: datetime


def with_caps(caps: Mapping[str, int]) -> str:
    """What a worker says: its caps, by the names of the queries that count."""
    return "caps=" + ",".join(f"{query}:{limit}" for query, limit in caps.items())


def with_next(schedule: str, due: datetime) -> str:
    """What a schedule says when it fires."""
    return f"schedule={quote(schedule, safe='')} next={timestamp_text(microseconds(due))}"


def beside(instance: str, said: str) -> str:
    """An instance that says something; as it was, where that would make it too long to be one."""
    both = f"{instance} {said}".strip()
    return both if len(both.encode()) <= NAME_BYTES else instance


def caps_in(instance: str | None) -> dict[str, int]:
    """The caps that an instance tells of; none where it does not."""
    found = _CAPS.search(instance or "")
    if found is None:
        return {}
    return {query: int(limit) for query, _, limit in (one.partition(":") for one in found[1].split(","))}


def fires_in(instance: str | None) -> Fires | None:
    """The schedule that an instance tells of, and its next time; None where it does not."""
    found = _FIRES.search(instance or "")
    if found is None:
        return None
    try:
        return Fires(unquote(found[1]), datetime.fromisoformat(found[2]))
    except ValueError:
        return None
