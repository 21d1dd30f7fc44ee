"""What a state takes in memory does not grow with it, when it is made, written and read."""

from __future__ import annotations

import tracemalloc
import zlib
from collections.abc import Iterator

import pytest

from tests.support.engines import SOURCE, open_on
from treadle.engine import parts
from treadle.engine.parts import Cutting
from treadle.engine.retained import Snapshot
from treadle.engine.state import Deployed
from treadle.model.facts import Row
from treadle.store.memory import MemoryStore
from treadle.store.sqlite import shelf
from treadle.verify import snapshot
from treadle.verify.receipts import ReceiptCheck
from treadle.verify.replay import Replay

ROWS = 1_000


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a short state is one that does not fit."""
    monkeypatch.setattr(shelf, "AT_HAND", 64 * 1024)
    monkeypatch.setattr(shelf, "PAGE", 100)
    monkeypatch.setattr(parts, "PART_BYTES", 4 * 1024)


def deployed() -> Deployed:
    db = open_on(MemoryStore())
    db.deploy(SOURCE)
    return db._engine.refresh().require()


def fill(replay: Replay, known: Deployed, count: int) -> None:
    """A state with so many rows, unique entries and last revisions of deleted rows."""
    replay.use(known.tables, [("WorkItem", "u")])
    width = len(known.tables["WorkItem"].columns) - known.tables["WorkItem"].key_count
    for number in range(count):
        key = (b"o" * 16, number.to_bytes(16))
        empty = ("Queued", None, None, 0, 0, *(None,) * (width - 5))
        replay.rows["WorkItem", key] = Row(number % 7 + 1, (*key, *empty[:width]), number + 1)
        replay.uniques["WorkItem", "u", (number,)] = key
        replay.revisions["WorkItem", (b"d" * 16, number.to_bytes(16))] = 3


def peak(known: Deployed, count: int) -> int:
    """The most memory while a state is made, encoded, compressed, and read back."""
    store = MemoryStore()
    with store.read() as tx:
        tracemalloc.start()
        try:
            replay, receipts = Replay(), ReceiptCheck(tx)
            fill(replay, known, count)
            made, again = Cutting(parts.ROWS, snapshot.items(replay, receipts, known)), Replay()
            again.use(known.tables, [("WorkItem", "u")])
            snapshot.load(map(zlib.decompress, made), again, receipts, known)
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert made.section.parts >= count // 300
        second = Cutting(parts.ROWS, snapshot.items(again, receipts, known))
        for _ in second:
            pass
        assert second.section == made.section and len(again.rows) == count
        replay.close()
        again.close()
        return most


def test_memory_is_bounded() -> None:
    known = deployed()
    peak(known, 10)  # what is made once
    once = peak(known, ROWS)
    fourfold = peak(known, 4 * ROWS)
    assert fourfold < 1.25 * once, (once, fourfold)


def test_the_same_whether_it_fits_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    known, store = deployed(), MemoryStore()

    def digest() -> Iterator[str]:
        with store.read() as tx:
            for at_hand in (0, 10**9):
                monkeypatch.setattr(shelf, "AT_HAND", at_hand)
                replay = Replay()
                fill(replay, known, 500)
                made = Cutting(parts.ROWS, snapshot.items(replay, ReceiptCheck(tx), known))
                assert sum(map(len, made)) > 0
                yield made.section.digest

    first, second = digest()
    assert first == second


def test_reading_holds_one_part() -> None:
    store, known = MemoryStore(), deployed()
    with store.read() as tx:
        replay = Replay()
        fill(replay, known, ROWS)
        made = Cutting(parts.ROWS, snapshot.items(replay, ReceiptCheck(tx), known))
        written = list(made)
    with store.write() as out:
        out.write_entries(parts.SPACE, [(parts.part_key(1, at), part) for at, part in enumerate(written)])
        out.commit()
    about = Snapshot(1, 0, "", made.section.digest, made.section.parts, "")
    with store.read() as tx:
        tracemalloc.start()
        size = sum(len(part) for part in parts.stored(tx, about))
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert most < 20 * parts.PART_BYTES < size / 2, (most, size)
