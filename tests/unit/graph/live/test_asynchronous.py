"""The graph from asyncio: the same answers and errors, and a loop that is never blocked."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import treadle
from tests.support.graphs import ENFORCED, advance_text, insert, loop
from tests.support.workflows import Release

RELEASE = Release()


def test_what_the_graph_does_is_awaited(tmp_path: Path) -> None:
    async def main() -> None:
        async with treadle.open_async(tmp_path / "g.db", graph=ENFORCED) as db:
            assert (await db.graph.capabilities())["processing"] == "enabled"
            await db.graph.update(insert(RELEASE.setup()), principal="owner")
            acting = db.acting_as("ann").graph
            assert (await acting.load("<urn:a> <urn:b> <urn:c> .", graph="urn:g")).asserted == 1
            assert await acting.query("ASK { GRAPH <urn:g> { <urn:a> <urn:b> <urn:c> } }") is True
            assert [one.statements for one in await db.graph.graphs()] == [len(RELEASE.setup()), 1]
            assert await db.graph.export(graph="urn:g", format="ntriples") == "<urn:a> <urn:b> <urn:c> .\n"
            with pytest.raises(treadle.Refused) as caught:
                await acting.update(f"DELETE WHERE {{ {RELEASE.run.n3()} a ?type }}")
            assert caught.value.reason == "run_immutable"
            with pytest.raises(treadle.InvalidInput):
                await db.graph.update("CLEAR ALL")

    asyncio.run(main())


def test_of_many_tasks_one_advances_and_the_loop_goes_on(tmp_path: Path) -> None:
    async def main() -> None:
        async with treadle.open_async(tmp_path / "g.db", graph=ENFORCED) as db:
            await db.graph.update(insert(RELEASE.setup()), principal="owner")
            beats = 0

            async def beat() -> None:
                nonlocal beats
                while True:
                    beats += 1
                    await asyncio.sleep(0.001)

            beating = asyncio.create_task(beat())
            text = advance_text(loop(RELEASE, 0))
            tasks = [db.acting_as(f"a{n}").graph.update(text) for n in range(20)]
            done = await asyncio.gather(*tasks)
            beating.cancel()
            assert sorted(one.asserted for one in done) == [0] * 19 + [12]
            assert beats > 1

    asyncio.run(main())
