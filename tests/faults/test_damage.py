"""A file with a bit that flipped, or without its end, is found out: refused, or named by verification.

Random places of a whole file are damaged, one at a time. Whatever is neither refused nor named must hold
exactly what the sound file holds: then the damage is in space that nothing uses.
"""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

import treadle
from tests.support.effort import effort
from tests.support.engines import SOURCE, START, claim, create
from treadle.access.roles import Role
from treadle.errors import DatabaseCorrupt, StoreError
from treadle.testing import ManualClock

Damage = Callable[[bytearray], None]


@pytest.fixture
def sound(quick_path: Path) -> Path:
    """A database with rows, stubs, a token, roles, statements, and the end of a log."""
    path = quick_path / "sound.db"
    with treadle.open(path, clock=ManualClock(START)) as db:
        db.deploy(SOURCE, roles=[Role("worker", commands=("ClaimWork",))])
        for number in range(12):
            db.run(*create(number), principal="tests")
        db.tokens.create("svc", role="worker")
        for number in range(12):
            db.run(*claim(number), principal="tests")
        db.retention().log(through=9)
        db.graph.update("INSERT DATA { <urn:a> <urn:b> <urn:c> }", principal="tests")
    assert not path.with_name("sound.db-wal").exists()
    return path


def contents(path: Path) -> dict[str, Any]:
    """Everything that a file holds, without our code."""
    found: dict[str, Any] = {}
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        made: list[Any] = connection.execute("SELECT name, sql FROM sqlite_schema").fetchall()
        for name, text in made:
            found[name] = text
            if text and text.startswith("CREATE TABLE"):
                found[name] = text, sorted(map(repr, connection.execute(f'SELECT * FROM "{name}"')))
    finally:
        connection.close()
    return found


def examined(path: Path) -> str:
    """What becomes of one who opens a file and verifies it: refused, named, or nothing."""
    try:
        with treadle.open(path, clock=ManualClock(START), create=False) as db:
            return "nothing" if db.verify().ok else "named"
    except StoreError:
        return "refused"


def damaged(sound: Path, damage: Damage) -> str:
    folder = sound.parent / "damaged"
    folder.mkdir()
    path = folder / "some.db"
    data = bytearray(sound.read_bytes())
    damage(data)
    path.write_bytes(data)
    result = examined(path)
    if result == "nothing":
        assert contents(path) == contents(sound), "damage was served as good"
    shutil.rmtree(folder)
    return result


def test_a_bit_that_flipped(sound: Path) -> None:
    dice = random.Random()
    seen: Counter[str] = Counter()
    for _ in range(effort(300)):
        place, bit = dice.randrange(sound.stat().st_size), 1 << dice.randrange(8)

        def flip(data: bytearray, place: int = place, bit: int = bit) -> None:
            data[place] ^= bit

        try:
            seen[damaged(sound, flip)] += 1
        except BaseException as error:
            error.add_note(f"bit {bit:#x} at {place}")
            raise
    assert seen["refused"] and seen["named"], seen


def test_a_sector_that_was_lost(sound: Path) -> None:
    """A write that never came leaves zeros, or what stood there before."""
    dice = random.Random()
    for _ in range(effort(60)):
        place = dice.randrange(sound.stat().st_size // 512) * 512

        def lose(data: bytearray, place: int = place) -> None:
            data[place : place + 512] = bytes(512)

        damaged(sound, lose)


def test_an_end_that_is_missing(sound: Path) -> None:
    dice = random.Random()
    size = sound.stat().st_size
    some = {dice.randrange(1, size) for _ in range(effort(25))}
    for length in {1, 99, 100, 4_095, 4_096, size - 4_096, size - 1} | some:

        def cut(data: bytearray, length: int = length) -> None:
            del data[length:]

        assert damaged(sound, cut) != "nothing", length


@pytest.mark.parametrize("name", ["database", "digest.1", "digest.current", "retained.log", "roles"])
def test_a_setting_that_lost_its_name_is_not_made_anew(sound: Path, name: str) -> None:
    connection = apsw.Connection(str(sound))
    connection.execute("UPDATE treadle_settings SET name = name || '~' WHERE name = ?", (name,))
    connection.close()
    if name.startswith(("database", "digest")):
        with pytest.raises(DatabaseCorrupt, match="identity|digests|not as it was written"):
            treadle.open(sound)
    else:
        assert examined(sound) == "named"
