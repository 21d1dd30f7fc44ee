"""When something is due: cron expressions and fixed intervals, with what summer time does to them pinned.

A cron expression has five fields: minute, hour, day of the month, month, day of the week; each is `*`, a
number, a range `1-5`, a list `1,15`, or any of them with a step `*/10`. Months and days have their English
names too, Sunday is 0 and 7. If both days are restricted, either will do. `@hourly`, `@daily`, `@weekly`,
`@monthly` and `@yearly` are as usual.

The clock of the zone decides. Where it is put forward, a time that it skips is due at the moment of the
change, once. Where it is put back, a time that comes twice is due the first time. An expression whose hour
field begins with `*` means real time instead: it is due by the minute in both passes of a repeated hour, and
has nothing to make up for a skipped one.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Final, NamedTuple, Protocol
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from treadle.errors import ConfigError

_NICKNAMES: Final = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_LONGEST: Final = 366 * 8 + 2
"""Days in which every possible date comes: eight years, where a century leaves out a leap day."""


class Rule(Protocol):
    """When something is due."""

    def after(self, moment: datetime) -> datetime:
        """The first due time after `moment`, in UTC."""

    def before(self, moment: datetime) -> datetime | None:
        """The last due time at or before `moment`, in UTC; None where there is none."""


class _Field(NamedTuple):
    name: str
    least: int
    most: int
    names: tuple[str, ...] = ()
    first: int = 0  # the number of the first name


_FIELDS: Final = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of the month", 1, 31),
    _Field("month", 1, 12, _MONTHS, 1),
    _Field("day of the week", 0, 7, _DAYS, 0),
)


class Cron:
    """A cron expression in a time zone. Raises `ConfigError` for what is none, or is never due."""

    def __init__(self, text: str, zone: str = "UTC") -> None:
        self.text = text
        self.zone = _zone(zone)
        parts = _NICKNAMES.get(text.strip().lower(), text).split()
        if len(parts) != len(_FIELDS):
            raise ConfigError(f"cron {text!r} has {len(parts)} fields; write minute hour day month weekday")
        sets = [_numbers(text, field, part) for field, part in zip(_FIELDS, parts, strict=True)]
        self._minutes, self._hours = sorted(sets[0]), sorted(sets[1])
        self._days, self._months = sets[2], sets[3]
        self._weekdays = {day % 7 for day in sets[4]}
        self._any_day, self._any_weekday = parts[2].startswith("*"), parts[4].startswith("*")
        self._real_time = parts[1].startswith("*")
        if not any(self._on(day) for day in _days_from(date(2000, 1, 1))):
            raise ConfigError(f"cron {text!r} names a day that never comes")

    def __repr__(self) -> str:
        return f"<Cron {self.text!r} in {self.zone}>"

    def after(self, moment: datetime) -> datetime:
        first = (moment.astimezone(self.zone) - timedelta(days=1)).date()
        for day in _days_from(first):
            for due in self._due_on(day):
                if due > moment:
                    return due
        raise ConfigError(f"cron {self.text!r} is never due after {moment.isoformat()}")

    def before(self, moment: datetime) -> datetime | None:
        last = (moment.astimezone(self.zone) + timedelta(days=1)).date()
        for back in range(_LONGEST):
            day = date.fromordinal(last.toordinal() - back)
            for due in reversed(self._due_on(day)):
                if due <= moment:
                    return due
        return None

    def _on(self, day: date) -> bool:
        if day.month not in self._months:
            return False
        by_date, by_weekday = day.day in self._days, day.isoweekday() % 7 in self._weekdays
        if self._any_day or self._any_weekday:
            return by_date and by_weekday
        return by_date or by_weekday

    def _due_on(self, day: date) -> list[datetime]:
        """The due times of a local day, in UTC, in order, each once."""
        if not self._on(day):
            return []
        found: set[datetime] = set()
        for hour in self._hours:
            for minute in self._minutes:
                local = datetime(day.year, day.month, day.day, hour, minute, tzinfo=self.zone)
                found |= self._moments(local)
        return sorted(found)

    def _moments(self, local: datetime) -> set[datetime]:
        """The moments that a local time stands for: none, one, or two where the clock is changed."""
        first, second = local.astimezone(UTC), local.replace(fold=1).astimezone(UTC)
        if first == second:
            return {first}
        if first < second:  # the clock is put back: the time comes twice
            return {first, second} if self._real_time else {first}
        # The clock is put forward over this time. Read by the offset before the change it lies after it, read
        # by the offset after it, before it.
        return set() if self._real_time else {_change_between(second, first, self.zone)}


def _change_between(before: datetime, after: datetime, zone: tzinfo) -> datetime:
    """The moment, to the second, at which the offset of a zone changes in a span of at most a day."""
    old = before.astimezone(zone).utcoffset()
    low, high = 0, int((after - before).total_seconds())
    while low < high:
        middle = (low + high) // 2
        if (before + timedelta(seconds=middle)).astimezone(zone).utcoffset() == old:
            low = middle + 1
        else:
            high = middle
    return before + timedelta(seconds=low)


class Every:
    """Every so often, counted in real time from `start` (1970 by default, so that all processes agree)."""

    def __init__(self, step: timedelta, start: datetime | None = None) -> None:
        if step < timedelta(seconds=1):
            raise ConfigError("every: write at least a second")
        if start is not None and start.tzinfo is None:
            raise ConfigError("start needs a time zone, such as datetime(2030, 1, 1, tzinfo=UTC)")
        self.step = step
        self.start = start or datetime(1970, 1, 1, tzinfo=UTC)

    def __repr__(self) -> str:
        return f"<every {self.step}>"

    def after(self, moment: datetime) -> datetime:
        passed = (moment - self.start) // self.step + 1
        return (self.start + max(passed, 0) * self.step).astimezone(UTC)

    def before(self, moment: datetime) -> datetime | None:
        if moment < self.start:
            return None
        return (self.start + (moment - self.start) // self.step * self.step).astimezone(UTC)


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ConfigError(
            f"no time zone {name!r}; write a name such as Europe/Berlin (install tzdata where there is none)"
        ) from None


def _days_from(first: date) -> Iterator[date]:
    return (date.fromordinal(first.toordinal() + number) for number in range(_LONGEST))


def _numbers(text: str, field: _Field, part: str) -> set[int]:
    """The numbers that one field of an expression stands for."""
    found: set[int] = set()
    for piece in part.split(","):
        span, slash, step = piece.partition("/")
        if slash and not (step.isascii() and step.isdigit() and int(step) > 0):
            raise _wrong(text, field, piece)
        if span == "*":
            low, high = field.least, min(field.most, 6) if field.name == "day of the week" else field.most
        else:
            begin, dash, end = span.partition("-")
            low = _number(text, field, begin)
            high = _number(text, field, end) if dash else field.most if slash else low
        if low > high:
            raise _wrong(text, field, piece)
        found |= set(range(low, high + 1, int(step) if slash else 1))
    return found


def _number(text: str, field: _Field, word: str) -> int:
    if word.lower() in field.names:
        return field.names.index(word.lower()) + field.first
    if word.isascii() and word.isdigit() and field.least <= int(word) <= field.most:
        return int(word)
    raise _wrong(text, field, word)


def _wrong(text: str, field: _Field, piece: str) -> ConfigError:
    return ConfigError(
        f"cron {text!r}: {piece!r} is no {field.name}; write {field.least} to {field.most}, a range, or *"
    )
