"""Before a worker begins: a role that may not run its commands, and a clock behind the last commit."""

from __future__ import annotations

import logging
from datetime import timedelta

import pytest

from tests.support import jobs
from tests.support.engines import START
from tests.support.serving import serving
from treadle import connect
from treadle.access.roles import Role
from treadle.errors import ConfigError
from treadle.store.memory import MemoryStore
from treadle.testing import ManualClock
from treadle.workers import Schedule, Worker

DESK = Role("desk", commands=("Queue", "Release"), queries=("OpenJobs",))


def worker() -> Worker:
    return Worker(lambda row, turn: None, name="w", **{**jobs.OPEN, **jobs.TURN})


def schedule() -> Schedule:
    return Schedule("nightly", command="Nightly", cron="@hourly", input={"shop": "Ulm", "number": 1})


def test_a_role_that_may_not_run_the_commands_is_named() -> None:
    with jobs.jobs(MemoryStore(), roles=[jobs.WORKER_ROLE, DESK]) as db:
        acting = db.acting_as("p", role="desk")
        with pytest.raises(ConfigError, match="^role desk may not run Claim and Finish; act in"):
            worker().check(acting)
        with pytest.raises(ConfigError, match="role desk may not run Nightly;"):
            schedule().check(acting)
        worker().check(db.acting_as("p", role="worker"))


def test_over_http_a_command_is_missing_or_not_for_this_token() -> None:
    with jobs.jobs(MemoryStore(), roles=[jobs.WORKER_ROLE, DESK]) as db, serving(db) as url:
        token = db.tokens.create("p", role="desk").text
        with (
            connect(url, token=token) as remote,
            pytest.raises(ConfigError, match="no command Claim that this token's role allows in"),
        ):
            worker().check(remote)


def test_time_that_stands_still_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    clock = ManualClock(START)
    with jobs.jobs(MemoryStore(), clock, [jobs.WORKER_ROLE, DESK]) as db, caplog.at_level(logging.WARNING):
        acting = jobs.service(db)
        jobs.queue(db, [1])
        worker().run(acting, until_idle=True)
        assert not caplog.records
        clock.advance(timedelta(hours=-1))
        worker().run(acting, until_idle=True)
        (said,) = caplog.messages
        assert "3600 s ahead of the clock" in said and "treadle clock reset" in said
