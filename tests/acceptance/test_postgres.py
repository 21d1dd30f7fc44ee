"""What is PostgreSQL's own: its clock, its dumps, what people see of the rows, workers' futures."""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import treadle
from tests.support import postgres
from tests.support.engines import ORGANIZATION, SOURCE, claim, create, work_id


@pytest.fixture
def schema() -> str:
    return postgres.fresh_schema()


@pytest.fixture
def db(schema: str) -> Iterator[treadle.Database]:
    with treadle.open(postgres.shared().url(schema)) as opened:
        opened.deploy(SOURCE)
        yield opened


def test_the_clock_is_the_server_s(
    db: treadle.Database, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host whose own clock is years off seals the time that every other host seals."""
    monkeypatch.setattr(time, "time_ns", lambda: 0)
    monkeypatch.setattr(time, "time", lambda: 0.0)
    with treadle.open(postgres.shared().url(schema)) as skewed:
        receipt = skewed.run(*create(1), principal="tests")
    ((now,),) = postgres.shared().ask("SELECT extract(epoch FROM clock_timestamp())::float8")
    assert abs(receipt.time.timestamp() - now) < 5
    assert db.run(*claim(1), principal="tests").outcome == "Claimed"


def test_people_read_views(db: treadle.Database, schema: str) -> None:
    db.run(*create(1), principal="tests").expect("Created")
    receipt = db.run(*claim(1), principal="tests")
    ((key, until, fence, revision),) = postgres.shared().ask(
        "SELECT work_id, lease_expires_at, lease_fence, treadle_revision "
        f'FROM {schema}."treadle_view_WorkItem"'
    )
    assert (key, fence, revision) == (work_id(1), 1, 2)
    assert until == receipt.fields["work"]["lease_expires_at"]
    assert postgres.shared().ask(f'SELECT count(*) FROM {schema}."WorkItem"') == [(1,)]


def test_a_dump_is_a_backup(db: treadle.Database, schema: str, tmp_path: Path) -> None:
    server, folder = postgres.shared(), postgres.binaries()
    assert folder is not None
    if not (folder / "pg_dump").exists():
        pytest.skip("pg_dump is not installed here")
    answers: list[Any] = db.run_many([create(number) for number in range(30)], principal="tests")
    words = ["-h", "127.0.0.1", "-p", str(server.port), "-U", "treadle"]
    dump = tmp_path / "work.dump"
    subprocess.run(
        [folder / "pg_dump", *words, "-Fc", f"--schema={schema}", f"--file={dump}", "postgres"], check=True
    )
    db.run(*create(99), principal="tests").expect("Created")
    server.ask(f"CREATE DATABASE restored_{schema} TEMPLATE template0 ENCODING 'UTF8'")
    subprocess.run([folder / "pg_restore", *words, "-d", f"restored_{schema}", dump], check=True)
    with treadle.open(server.url(schema).replace("/postgres?", f"/restored_{schema}?")) as restored:
        assert restored.verify().ok
        again: list[Any] = restored.run_many([create(number) for number in range(31)], principal="tests")
        assert [each.commit for each in again[:30]] == [each.commit for each in answers]
        assert [each.replayed for each in again] == [True] * 30 + [False]
        assert restored.row("WorkItem", (ORGANIZATION, work_id(99))) is None


def test_tasks_share_batches(schema: str) -> None:
    async def work() -> list[treadle.Receipt]:
        async with treadle.open_async(postgres.shared().url(schema)) as db:
            await db.deploy(SOURCE)
            me = db.acting_as("tests")
            return list(await asyncio.gather(*(me.run(*create(number)) for number in range(50))))

    receipts = asyncio.run(work())
    assert all(receipt.outcome == "Created" for receipt in receipts)
    assert sorted(receipt.commit for receipt in receipts) == list(range(2, 52))
