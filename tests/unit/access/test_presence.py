"""What processes say of themselves, and what of it is read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.access.presence import Fires, beside, caps_in, fires_in, with_caps, with_next
from treadle.limits import NAME_BYTES

TEXT = st.text(st.characters(codec="utf-8"), max_size=40)
NAME = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,9}", fullmatch=True)


@given(TEXT, st.dictionaries(NAME, st.integers(1, 99), min_size=1))
def test_caps_are_read_as_they_were_said(name: str, caps: dict[str, int]) -> None:
    assert caps_in(beside(name, with_caps(caps))) == caps


@given(
    TEXT.filter(lambda name: "schedule=" not in name),
    TEXT.filter(bool),
    st.datetimes(min_value=datetime(1000, 1, 1), timezones=st.just(UTC)),
)
def test_schedules_are_read_as_they_were_said(name: str, schedule: str, due: datetime) -> None:
    said = with_next(schedule, due)
    assert said.isascii() and fires_in(beside(name, said)) == Fires(schedule, due)


def test_a_time_is_said_in_utc() -> None:
    due = datetime(2026, 12, 1, 2, 30, tzinfo=timezone(timedelta(hours=1)))
    assert with_next("nightly report", due) == "schedule=nightly%20report next=2026-12-01T01:30:00Z"


@pytest.mark.parametrize(
    "instance",
    [
        None,
        "",
        "host-7/4242",
        "caps=",
        "caps=A",
        "caps=A:-1",
        "caps=A:1;",
        "xcaps=A:1",
        "caps=1A:2",
        "caps=A:٣",
    ],
)
def test_what_says_nothing(instance: str | None) -> None:
    assert caps_in(instance) == {}


@pytest.mark.parametrize(
    "instance",
    [None, "", "schedule=a", "schedule=a next=1999-99-99T00:00:00Z", "next=2026-01-01T00:00:00Z"],
)
def test_what_fires_nothing(instance: str | None) -> None:
    assert fires_in(instance) is None


def test_an_instance_never_gets_too_long() -> None:
    name = "ä" * (NAME_BYTES // 2 - 4)
    assert beside(name, "caps=A:1") == name
    assert beside("", "caps=A:1") == "caps=A:1"
