"""What schedules owe: the times at which they are due, by rules of one's own, and that none is left out."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from sim.scenario import demand
from sim.work.log import Log
from sim.work.seen import Look

_BERLIN: Final = ZoneInfo("Europe/Berlin")
_SPRING: Final = datetime(2026, 3, 29, 1, tzinfo=UTC)
"""When the clocks of Berlin go from 2 to 3: half past two is due then."""
_HOURS: Final = timedelta(hours=3)
_HORIZON: Final = {"hours": timedelta(days=2), "nights": timedelta(days=1)}


def due(name: str, start: datetime, end: datetime) -> Iterator[datetime]:
    """The times from `start` to `end` at which a schedule is due."""
    if name == "hours":
        moment = start
        while moment <= end:
            yield moment
            moment += _HOURS
        return
    day = start.astimezone(_BERLIN).date() - timedelta(days=1)
    while day <= end.astimezone(_BERLIN).date():
        local = datetime(day.year, day.month, day.day, 2, 30, tzinfo=_BERLIN)
        moment = local.astimezone(UTC)
        if (day.year, day.month, day.day) == (2026, 3, 29):
            moment = _SPRING
        if start <= moment <= end:
            yield moment
        day += timedelta(days=1)


def check(log: Log, looks: list[Look], start: datetime) -> None:
    """Nothing was fired that was not due, or before it was; what was looked for is there."""
    for (name, moment), number in log.rung.items():
        when = log.entries[number - 1].time
        demand(moment <= when, f"{name}: {moment} was fired at {when}")
        demand(_is_due(name, start, moment), f"{name}: {moment} was fired, and is no time of it")
    for look in looks:
        at, last = (datetime.fromtimestamp(time / 1e6, UTC) for time in (look.began, look.ended))
        owed = [one for one in due(look.name, start, at) if one > last - _HORIZON[look.name]]
        if look.name == "nights":
            owed = owed[-1:]
        for moment in owed:
            demand((look.name, moment) in log.rung, f"{look.name}: {moment} was left out, seen at {at}")


def _is_due(name: str, start: datetime, moment: datetime) -> bool:
    if name == "hours":
        return (moment - start) % _HOURS == timedelta(0)
    return list(due(name, moment, moment)) == [moment]
