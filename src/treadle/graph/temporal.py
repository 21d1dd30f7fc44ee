"""Canonical spellings of the XML Schema date, time and duration types, as the index writes them.

A date or time is an instant on the timeline of XML Schema 1.1 part 2 (section D.2) in fixed point, beside its
offset; text whose instant does not fit is no value for the index and gives None, as does text outside the
lexical space.  The proleptic Gregorian calendar with a year 0 is used throughout.  A year or a month of a
year stands at its last day, as XML Schema puts it.
"""

from __future__ import annotations

import re
from typing import Final

from treadle.graph.fixed_point import HIGHEST, LOWEST, ONE, fixed_point_text, parse_fixed_point

_YEAR: Final = r"(-?(?:[1-9][0-9]{4,}|[0-9]{4}))"
_MONTH: Final = r"(0[1-9]|1[0-2])"
_DAY: Final = r"(0[1-9]|[12][0-9]|3[01])"
_CLOCK: Final = r"([01][0-9]|2[0-4]):([0-5][0-9]):([0-5][0-9](?:\.[0-9]+)?)"
_ZONE: Final = r"(Z|[+-](?:0[0-9]|1[0-3]):[0-5][0-9]|[+-]14:00)?"

_DATE_TIME: Final = re.compile(f"{_YEAR}-{_MONTH}-{_DAY}T{_CLOCK}{_ZONE}")
_DATE: Final = re.compile(f"{_YEAR}-{_MONTH}-{_DAY}{_ZONE}")
_TIME: Final = re.compile(f"{_CLOCK}{_ZONE}")
_G_YEAR_MONTH: Final = re.compile(f"{_YEAR}-{_MONTH}{_ZONE}")
_G_YEAR: Final = re.compile(f"{_YEAR}{_ZONE}")
_G_MONTH_DAY: Final = re.compile(f"--{_MONTH}-{_DAY}{_ZONE}")
_G_MONTH: Final = re.compile(f"--{_MONTH}{_ZONE}")
_G_DAY: Final = re.compile(f"---{_DAY}{_ZONE}")
_DURATION: Final = re.compile(
    r"(-?)P(?:([0-9]+)Y)?(?:([0-9]+)M)?(?:([0-9]+)D)?"
    r"(?:T(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+\.?[0-9]*|\.[0-9]+)S)?)?"
)
_MONTH_DAYS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_YEAR_DIGITS: Final = 18
_I64: Final = 2**63
_MONTH_DIGITS: Final = 19  # of 2^63
_DAY_SECONDS: Final = 86_400


def canonical_date_time(text: str) -> str | None:
    """xsd:dateTime and xsd:dateTimeStamp."""
    match = _DATE_TIME.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second, zone = match.groups()
    clock = _clock(hour, minute, second)
    at = _instant(_year(year), int(month), int(day), clock, zone)
    if at is None or clock is None:
        return None
    days, rest = divmod(at + _minutes(zone) * 60 * ONE, _DAY_SECONDS * ONE)
    return f"{_date_text(days)}T{_clock_text(rest)}{_zone(zone)}"


def canonical_date(text: str) -> str | None:
    """xsd:date."""
    match = _DATE.fullmatch(text)
    if match is None:
        return None
    year, month, day, zone = match.groups()
    fits = _instant(_year(year), int(month), int(day), 0, zone) is not None
    return f"{_year_text(int(year))}-{month}-{day}{_zone(zone)}" if fits else None


def canonical_time(text: str) -> str | None:
    """xsd:time; 24:00:00 is 00:00:00."""
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    hour, minute, second, zone = match.groups()
    clock = _clock(hour, minute, second)
    return None if clock is None else f"{_clock_text(clock % (_DAY_SECONDS * ONE))}{_zone(zone)}"


def canonical_g_year_month(text: str) -> str | None:
    """xsd:gYearMonth."""
    match = _G_YEAR_MONTH.fullmatch(text)
    if match is None:
        return None
    year, month, zone = match.groups()
    number = _year(year)
    if number is None or _instant(number, int(month), _month_days(number, int(month)), 0, zone) is None:
        return None
    return f"{_year_text(number)}-{month}{_zone(zone)}"


def canonical_g_year(text: str) -> str | None:
    """xsd:gYear."""
    match = _G_YEAR.fullmatch(text)
    if match is None:
        return None
    year, zone = match.groups()
    number = _year(year)
    if number is None or _instant(number, 12, 31, 0, zone) is None:
        return None
    return f"{_year_text(number)}{_zone(zone)}"


def canonical_g_month_day(text: str) -> str | None:
    """xsd:gMonthDay; the index knows no 29 February without a year, so that text is kept as it is."""
    match = _G_MONTH_DAY.fullmatch(text)
    if match is None or int(match.group(2)) > _MONTH_DAYS[int(match.group(1)) - 1]:
        return None
    return f"--{match.group(1)}-{match.group(2)}{_zone(match.group(3))}"


def canonical_g_month(text: str) -> str | None:
    """xsd:gMonth."""
    match = _G_MONTH.fullmatch(text)
    return None if match is None else f"--{match.group(1)}{_zone(match.group(2))}"


def canonical_g_day(text: str) -> str | None:
    """xsd:gDay."""
    match = _G_DAY.fullmatch(text)
    return None if match is None else f"---{match.group(1)}{_zone(match.group(2))}"


def canonical_duration(text: str) -> str | None:
    """xsd:duration."""
    parts = _duration(text)
    if parts is None or parts == (None, None):
        return None
    return _duration_text(parts[0] or 0, parts[1] or 0)


def canonical_year_month_duration(text: str) -> str | None:
    """xsd:yearMonthDuration."""
    parts = _duration(text)
    if parts is None or parts[0] is None or parts[1] is not None:
        return None
    return _duration_text(parts[0], 0) if parts[0] else "P0M"


def canonical_day_time_duration(text: str) -> str | None:
    """xsd:dayTimeDuration."""
    parts = _duration(text)
    if parts is None or parts[1] is None or parts[0] is not None:
        return None
    return _duration_text(0, parts[1])


def _year(text: str) -> int | None:
    """The year's number, None when it has too many digits for any instant to fit."""
    return int(text) if len(text) <= _YEAR_DIGITS else None


def _year_text(year: int) -> str:
    return f"-{-year:04d}" if year < 0 else f"{year:04d}"


def _minutes(zone: str | None) -> int:
    if zone is None or zone == "Z":
        return 0
    minutes = int(zone[1:3]) * 60 + int(zone[4:6])
    return -minutes if zone[0] == "-" else minutes


def _zone(zone: str | None) -> str:
    if zone is None:
        return ""
    return zone if _minutes(zone) else "Z"


def _clock(hour: str, minute: str, second: str) -> int | None:
    """The fixed-point seconds since midnight; hour 24 only as 24:00:00."""
    seconds = parse_fixed_point(second)
    if seconds is None or (hour == "24" and (minute != "00" or seconds)):
        return None
    return (int(hour) * 3600 + int(minute) * 60) * ONE + seconds


def _clock_text(clock: int) -> str:
    minutes, second = divmod(clock, 60 * ONE)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:{fixed_point_text(second, width=2)}"


def _leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _month_days(year: int, month: int) -> int:
    return 29 if month == 2 and _leap(year) else _MONTH_DAYS[month - 1]


def _instant(year: int | None, month: int, day: int, clock: int | None, zone: str | None) -> int | None:
    """The place on the timeline, None where there is no such day or it does not fit in fixed point."""
    if year is None or clock is None or day > _month_days(year, month):
        return None
    seconds = _days_before(year, month, day) * _DAY_SECONDS - _minutes(zone) * 60
    whole = seconds * ONE
    if not LOWEST <= whole <= HIGHEST:
        return None
    return whole + clock if LOWEST <= whole + clock <= HIGHEST else None


def _days_before(year: int, month: int, day: int) -> int:
    """Days from 0001-01-01 to this one."""
    past = year - 1
    days = 365 * past + past // 4 - past // 100 + past // 400
    return days + sum(_month_days(year, m) for m in range(1, month)) + day - 1


def _date_text(days: int) -> str:
    """The date that lies so many days after 0001-01-01."""
    cycle, rest = divmod(days, 146_097)
    year = 400 * cycle + 1 + min(rest // 36_524, 3) * 100
    rest -= min(rest // 36_524, 3) * 36_524
    year += rest // 1_461 * 4
    rest %= 1_461
    year += min(rest // 365, 3)
    rest -= min(rest // 365, 3) * 365
    month = 1
    while rest >= _month_days(year, month):
        rest -= _month_days(year, month)
        month += 1
    return f"{_year_text(year)}-{month:02d}-{rest + 1:02d}"


class _Beyond(Exception):
    """A part of a duration, or their sum, is outside what the index holds."""


def _duration(text: str) -> tuple[int | None, int | None] | None:
    """Months and fixed-point seconds, each None where the text has no such part; None: not a duration."""
    match = _DURATION.fullmatch(text)
    if match is None:
        return None
    sign, years, months, days, hours, minutes, seconds = match.groups()
    factor = -1 if sign else 1
    try:
        return _months(years, months, factor), _seconds(days, hours, minutes, seconds, factor)
    except _Beyond:
        return None


def _months(years: str | None, months: str | None, sign: int) -> int | None:
    """The number of months, None without any part."""
    if years is None and months is None:
        return None
    total = 0
    for text, factor in ((years, 12), (months, 1)):
        digits = (text or "0").lstrip("0") or "0"
        if len(digits) > _MONTH_DIGITS or int(digits) >= _I64:
            raise _Beyond
        value = sign * int(digits) * factor
        total += value
        if not (-_I64 <= value < _I64 and -_I64 <= total < _I64):
            raise _Beyond
    return total


def _seconds(
    days: str | None, hours: str | None, minutes: str | None, seconds: str | None, sign: int
) -> int | None:
    """The fixed-point seconds, None without any part."""
    parts = ((days, _DAY_SECONDS), (hours, 3600), (minutes, 60), (seconds, 1))
    if all(text is None for text, _ in parts):
        return None
    total = 0
    for text, factor in parts:
        number = parse_fixed_point(text or "0")
        if number is None:
            raise _Beyond
        value = number * sign * factor
        total += value
        if not (LOWEST <= value <= HIGHEST and LOWEST <= total <= HIGHEST):
            raise _Beyond
    return total


def _duration_text(months: int, seconds: int) -> str:
    if not months and not seconds:
        return "PT0S"
    sign = "-" if months < 0 or seconds < 0 else ""
    years, months = divmod(abs(months), 12)
    whole = abs(seconds) // ONE
    days, hours, minutes = whole // _DAY_SECONDS, whole % _DAY_SECONDS // 3600, whole % 3600 // 60
    rest = abs(seconds) - (days * _DAY_SECONDS + hours * 3600 + minutes * 60) * ONE
    date = _part(years, "Y") + _part(months, "M") + _part(days, "D")
    clock = _part(hours, "H") + _part(minutes, "M") + (f"{fixed_point_text(rest)}S" if rest else "")
    return f"{sign}P{date}T{clock}" if clock else f"{sign}P{date}"


def _part(value: int, unit: str) -> str:
    return f"{value}{unit}" if value else ""
