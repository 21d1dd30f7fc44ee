"""Queries from asyncio: the same answers, and a wait that blocks neither the loop nor a thread."""

from __future__ import annotations

import asyncio
import time

import pytest

from tests.unit.queries.conftest import SHOP, World
from treadle.asynchronous import AsyncDatabase
from treadle.errors import Busy


def test_queries_and_pages(world: World) -> None:
    for number in range(1, 6):
        world.add(number)

    async def main() -> None:
        db = AsyncDatabase(world.db)
        page = await db.query("Jobs", {"shop": SHOP})
        assert page == world.db.query("Jobs", {"shop": SHOP})
        sizes = [[job["size"] for job in page.rows] async for page in db.pages("Jobs", {"shop": SHOP})]
        assert sizes == [[1, 2, 3], [4, 5]]
        acting = db.acting_as("ann", facts={"name": "bob"})
        assert (await acting.query("Jobs", {"shop": SHOP})).rows == []
        await db.release()

    asyncio.run(main())


def test_many_waits_hold_no_thread(world: World) -> None:
    """More queries wait for a commit than there are threads; the commit comes, and all answer."""
    commit = world.add(1) + 1

    async def main() -> None:
        db = AsyncDatabase(world.db)
        waiting = [asyncio.create_task(db.query("Jobs", {"shop": SHOP}, at_least=commit)) for _ in range(20)]
        await asyncio.sleep(0.05)
        assert not any(task.done() for task in waiting)
        world.add(2)
        pages = await asyncio.gather(*waiting)
        assert all(len(page.rows) == 2 and page.commit >= commit for page in pages)
        await db.release()

    asyncio.run(main())


def test_a_commit_that_does_not_come(world: World) -> None:
    commit = world.add(1)

    async def main() -> None:
        db = AsyncDatabase(world.db)
        began = time.monotonic()
        with pytest.raises(Busy, match="is not here yet"):
            await db.query("Jobs", {"shop": SHOP}, at_least=commit + 9, timeout=0.05)
        assert time.monotonic() - began < 5
        await db.release()

    asyncio.run(main())
