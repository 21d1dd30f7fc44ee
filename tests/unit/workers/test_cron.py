"""When something is due, to the minute, in zones that change their clocks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.errors import ConfigError
from treadle.workers.cron import Cron, Every, Rule


def at(text: str, zone: str = "UTC") -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)


def dues(rule: Rule, begin: str, count: int, zone: str = "UTC") -> list[str]:
    """The next due times after a local time, as local times with their offset."""
    moment, found = at(begin, zone), []
    for _ in range(count):
        moment = rule.after(moment)
        found.append(moment.astimezone(ZoneInfo(zone)).strftime("%m-%d %H:%M %z"))
    return found


@pytest.mark.parametrize(
    "text, begin, expected",
    [
        ("0 2 * * *", "2026-11-30T02:00", "2026-12-01T02:00"),
        ("0 2 * * *", "2026-11-30T01:59:59", "2026-11-30T02:00"),
        ("*/15 * * * *", "2026-11-30T23:46", "2026-12-01T00:00"),
        ("5,35 8-10 * * *", "2026-11-30T08:05", "2026-11-30T08:35"),
        ("0 0 29 2 *", "2026-03-01T00:00", "2028-02-29T00:00"),
        ("0 0 29 2 *", "2096-03-01T00:00", "2104-02-29T00:00"),
        ("0 0 31 * *", "2026-11-30T00:00", "2026-12-31T00:00"),
        ("0 12 * * mon-fri", "2026-11-27T12:00", "2026-11-30T12:00"),
        ("0 12 * * 7", "2026-11-30T00:00", "2026-12-06T12:00"),
        ("0 12 * * 0", "2026-11-30T00:00", "2026-12-06T12:00"),
        ("0 0 13 * fri", "2026-11-30T00:00", "2026-12-04T00:00"),
        ("0 0 13 * fri", "2026-12-11T00:00", "2026-12-13T00:00"),
        ("0 0 */10 * fri", "2026-12-01T00:00", "2026-12-11T00:00"),
        ("30 4 1 JAN,jul *", "2026-11-30T00:00", "2027-01-01T04:30"),
        ("10/20 * * * *", "2026-11-30T00:11", "2026-11-30T00:30"),
        ("0 9-17/4 * * *", "2026-11-30T09:00", "2026-11-30T13:00"),
        ("@hourly", "2026-11-30T08:00", "2026-11-30T09:00"),
        ("@Daily", "2026-11-30T08:00", "2026-12-01T00:00"),
        ("@weekly", "2026-11-30T08:00", "2026-12-06T00:00"),
        ("@monthly", "2026-11-30T08:00", "2026-12-01T00:00"),
        ("@yearly", "2026-11-30T08:00", "2027-01-01T00:00"),
    ],
)
def test_the_next_time(text: str, begin: str, expected: str) -> None:
    rule = Cron(text)
    assert rule.after(at(begin)) == at(expected)
    assert rule.before(at(expected)) == at(expected)
    assert rule.before(at(expected) - timedelta(microseconds=1)) != at(expected)


# Berlin puts its clock forward at 02:00 on 29 March 2026 and back at 03:00 on 25 October.


def test_a_time_that_is_skipped_is_due_at_the_change_once() -> None:
    rule = Cron("30 2 * * *", "Europe/Berlin")
    assert dues(rule, "2026-03-27T12:00", 4, "Europe/Berlin") == [
        "03-28 02:30 +0100",
        "03-29 03:00 +0200",
        "03-30 02:30 +0200",
        "03-31 02:30 +0200",
    ]
    several = Cron("0,20,40 2,3 * * *", "Europe/Berlin")
    assert dues(several, "2026-03-29T00:00", 4, "Europe/Berlin") == [
        "03-29 03:00 +0200",
        "03-29 03:20 +0200",
        "03-29 03:40 +0200",
        "03-30 02:00 +0200",
    ]


def test_a_time_that_comes_twice_is_due_the_first_time() -> None:
    rule = Cron("30 2 * * *", "Europe/Berlin")
    assert dues(rule, "2026-10-24T12:00", 2, "Europe/Berlin") == ["10-25 02:30 +0200", "10-26 02:30 +0100"]


def test_real_time_goes_on_through_both_changes() -> None:
    rule = Cron("*/30 * * * *", "Europe/Berlin")
    assert dues(rule, "2026-03-29T01:00", 3, "Europe/Berlin") == [
        "03-29 01:30 +0100",
        "03-29 03:00 +0200",
        "03-29 03:30 +0200",
    ]
    assert dues(rule, "2026-10-25T01:45", 5, "Europe/Berlin") == [
        "10-25 02:00 +0200",
        "10-25 02:30 +0200",
        "10-25 02:00 +0100",
        "10-25 02:30 +0100",
        "10-25 03:00 +0100",
    ]


def test_half_an_hour_and_midnight() -> None:
    lord_howe = Cron("15 2 * * *", "Australia/Lord_Howe")  # forward by half an hour at 02:00 on 4 October
    assert dues(lord_howe, "2026-10-03T12:00", 2, "Australia/Lord_Howe") == [
        "10-04 02:30 +1100",
        "10-05 02:15 +1100",
    ]
    beirut = Cron("0 0 * * *", "Asia/Beirut")  # forward at midnight: the day begins at one
    assert dues(beirut, "2026-03-28T12:00", 2, "Asia/Beirut") == ["03-29 01:00 +0300", "03-30 00:00 +0300"]


@given(
    st.sampled_from(["30 2 * * *", "*/7 * * * *", "0 0-3 * * *", "15 1,2,3 * 3,10 *", "59 23 * * sun"]),
    st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"]),
    st.datetimes(datetime(2025, 12, 1), datetime(2027, 1, 31)),
)
def test_after_and_before_agree(text: str, zone: str, moment: datetime) -> None:
    rule, now = Cron(text, zone), moment.replace(tzinfo=UTC)
    following = rule.after(now)
    assert following > now
    assert rule.before(following) == following
    previous = rule.before(following - timedelta(microseconds=1))
    assert previous is not None and previous <= now
    assert rule.after(previous) == following


@given(st.integers(1, 100_000), st.datetimes(datetime(1960, 1, 1), datetime(2060, 1, 1)))
def test_intervals_are_in_step_for_everybody(seconds: int, moment: datetime) -> None:
    rule, now = Every(timedelta(seconds=seconds)), moment.replace(tzinfo=UTC)
    following = rule.after(now)
    assert following > now and int(following.timestamp()) % seconds == 0
    if now >= datetime(1970, 1, 1, tzinfo=UTC):
        assert following - now <= timedelta(seconds=seconds)
        assert rule.before(following) == following
        assert rule.before(now) == following - timedelta(seconds=seconds)
    else:
        assert rule.before(now) is None


def test_an_interval_from_a_start() -> None:
    rule = Every(timedelta(hours=5), at("2026-11-30T08:10"))
    assert rule.after(at("2026-11-01T00:00")) == at("2026-11-30T08:10")
    assert rule.after(at("2026-11-30T08:10")) == at("2026-11-30T13:10")
    assert rule.before(at("2026-11-30T08:09")) is None


def test_due_times_of_a_year_are_in_order() -> None:
    rule, moment, found = Cron("*/20 2 * * *", "Europe/Berlin"), at("2026-01-01T00:00"), []
    while moment < at("2027-01-01T00:00"):
        moment = rule.after(moment)
        found.append(moment)
    assert all(one < other for one, other in pairwise(found))
    assert len(found) == 365 * 3 - 2 + 1, "three a day; on the day of the change one; the next year's first"


@pytest.mark.parametrize(
    "text",
    ["", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8",
     "a * * * *", "1-0 * * * *", "*/0 * * * *", "*/x * * * *", "1-2-3 * * * *", "-1 * * * *", "1, * * * *",
     "0 0 31 2 *", "0 0 30 feb *", "@reboot", "٣ * * * *", "* * * * funday"],
)  # fmt: skip
def test_what_is_no_expression(text: str) -> None:
    with pytest.raises(ConfigError):
        Cron(text)


@pytest.mark.parametrize("zone", ["Europe/Berln", "", "/etc/passwd", "../x"])
def test_what_is_no_zone(zone: str) -> None:
    with pytest.raises(ConfigError, match="time zone"):
        Cron("* * * * *", zone)


def test_what_is_no_interval() -> None:
    with pytest.raises(ConfigError):
        Every(timedelta(0))
    with pytest.raises(ConfigError):
        Every(timedelta(hours=1), datetime(2026, 1, 1))
    assert "Berlin" in repr(Cron("0 2 * * *", "Europe/Berlin")) and "1:00:00" in repr(
        Every(timedelta(hours=1))
    )
