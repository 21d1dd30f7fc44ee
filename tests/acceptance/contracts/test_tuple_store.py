"""A tuple store: what was seen is compared before anything changes, one by one and in bulk."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

import treadle
from tests.support.lives import START, Life

SPACE, OTHER, ANN = UUID(int=1), UUID(int=2), UUID(int=11)
SOON = START + timedelta(hours=1)


@pytest.fixture
def store(url: str) -> Iterator[Life]:
    life = Life(url, "tuple_store", space=SPACE, watcher=ANN, keep=False, fresh=b"new")
    yield life
    life.close()


def entry(life: Life, name: str) -> dict[str, Any]:
    found = life.row("Entry", SPACE, name)
    assert found is not None
    return found


def item(name: str, value: bytes, version: int = 0, **given: Any) -> dict[str, Any]:
    """An entry as a record of a list."""
    fields = {"space": SPACE, "name": name, "kind": "Blob", "value": value, "version": version}
    return fields | {"expires": None} | given


def puts(life: Life) -> None:
    life.run("Open", "Opened", most=3)
    life.run("Open", "SpaceExists", most=3)
    life.run("Put", "NoSpace", space=OTHER, name="a", value=b"1", seen=0)
    assert life.run("Put", "Stands", name="a", value=b"1", seen=0).fields == {"version": 1, "value": b"1"}
    life.run("Put", "Seen", name="a", value=b"2", seen=0)
    life.run("Put", "Seen", name="none", value=b"2", seen=7)
    assert life.row("Entry", SPACE, "none") is None
    life.run("Put", "Stands", name="a", value=b"1", seen=1)
    assert entry(life, "a")["revision"] == 1, "the same value is no change"
    for version in (1, 2):
        life.run("Put", "Stands", name="a", value=bytes([version]), seen=version, was=version)
    life.run("Put", "Full", name="a", value=b"9", seen=3)


def swaps(life: Life) -> None:
    life.run("Swap", "NoSpace", space=OTHER, name="a", old=b"", new=b"")
    life.run("Swap", "NoEntry", name="none", old=b"", new=b"")
    life.run("Swap", "Differs", name="a", old=b"?", new=b"!")
    life.run("Swap", "Swapped", name="a", old=b"\2", new=b"\2")
    assert entry(life, "a")["version"] == 3
    swapped = life.run("Swap", "Swapped", name="a", old=b"\2", new=b"x")
    assert swapped.fields["entry"]["version"] == 4
    assert life.row("Watch", SPACE, "a", ANN)["seen"] == 3  # type: ignore[index]
    life.run("Swap", "WatchedAlready", name="a", old=b"x", new=b"y")
    life.run("Swap", "Swapped", name="a", old=b"x", new=b"x")
    life.run("Swap", "Full", name="a", old=b"x", new=b"z", watcher=OTHER)
    assert entry(life, "a")["value"] == b"x"


def bulks(life: Life) -> None:
    life.run("PutAll", "NoSpace", space=OTHER, entries=[item("p", b"1", space=OTHER)])
    life.run("PutAll", "AllPut", entries=[item("p", b"1"), item("q", b"1", 2, expires=SOON)])
    life.run("PutAll", "Older", entries=[item("p", b"2"), item("q", b"2", 1)])
    life.run("PutAll", "NoName", entries=[item("p", b"2"), item("", b"2")])
    life.run("PutAll", "AllPut", keep=True, entries=[item("p", b"3"), item("r", b"3")])
    assert (entry(life, "p")["value"], entry(life, "r")["value"]) == (b"1", b"3")
    life.fails("PutAll", "duplicate_target", entries=[item("p", b"4"), item("p", b"5")])
    life.run("Touch", "NoSpace", space=OTHER, names=["a"], expires=SOON)
    life.run("Touch", "Touched", names=["a", "t"], expires=SOON)
    assert entry(life, "t") | {"revision": 0} == item("t", b"new", kind="Text", expires=SOON) | {
        "revision": 0
    }
    life.fails("Touch", "duplicate_target", names=["a", "a"], expires=SOON)


def takes(life: Life) -> None:
    life.run("Peek", "NoEntry", name="none")
    assert life.run("Peek", "Peeked", name="a").fields["entry"]["value"] == b"x"
    life.run("Take", "NoEntry", name="none", seen=0)
    life.run("Take", "Seen", name="p", seen=4)
    assert life.run("Take", "Taken", name="a", seen=4).fields == {"value": b"x", "version": 4}
    assert life.row("Watch", SPACE, "a", ANN) is None
    life.run("Open", "Opened", space=OTHER, most=9)
    life.run("Put", "Stands", space=OTHER, name="w", value=b"0", seen=0)
    for number in range(3):
        given = {"old": b"%d" % number, "new": b"%d" % (number + 1), "watcher": UUID(int=50 + number)}
        life.run("Swap", "Swapped", space=OTHER, name="w", **given)
    life.run("Take", "TooManyWatches", space=OTHER, name="w", seen=4)
    life.run("Close", "NotEmpty")
    life.run("Close", "NoSpace", space=ANN)
    life.run("Open", "Opened", space=ANN, most=1)
    life.run("Close", "Closed", space=ANN)
    cells = (SPACE.bytes, "back", "Text", b"1", 5, None)
    life.place.restore("RestoreEntries", "EntriesRestored", cells)
    life.place.restore("RestoreEntries", "EntryExists", cells)


def test_every_outcome_and_three_versions(store: Life) -> None:
    puts(store)
    swaps(store)
    bulks(store)
    takes(store)
    store.check_reached()
    store.refuses(
        ("field version: u64", "field version: u64\n    field size: u64"),
        ("version: 0, expires: null }", "version: 0, size: 1, expires: null }"),
        ("version: entry.version, expires", "version: entry.version, size: 1, expires"),
        ("value: fresh, version: 0 }", "value: fresh, size: 1, version: 0 }"),
        says=r"PutAll: its inputs change \(entries\)",
    )
    store.refuses(
        ("name: string<60>, watcher: uuid", "name: string<60>, nr: u64, watcher: uuid"),
        ("create Watch(space, name, watcher)", "create Watch(space, name, 0, watcher)"),
        says="entity Watch: its key",
    )
    second_version(store)
    third_version(store)
    store.check()


def second_version(life: Life) -> None:
    """A hint for entries, optional so that whole entries may still be put; watches since when."""
    life.follow()
    assert (entry(life, "back")["hint"], entry(life, "q")["hint"]) == (105, 102)
    life.run("PutAll", "AllPut", entries=[item("p", b"7"), item("u", b"7", hint=3)])
    assert (entry(life, "p")["hint"], entry(life, "u")["hint"]) == (100, None)
    life.check_reached()


def third_version(life: Life) -> None:
    """A reference under another name is checked as a new one; a watch of oneself has an outcome."""
    life.follow()
    life.run("Swap", "OwnWatch", name="p", old=b"7", new=b"8", watcher=SPACE)
    life.check_reached()


def test_events_tell_what_was_put(store: Life) -> None:
    store.run("Open", "Opened", most=3)
    store.run("Put", "Stands", name="a", value=b"1", seen=0, was=7)
    (put,) = [event for one in store.place.db.log() for event in one.events]
    assert put == ("Put", {"space": SPACE, "name": "a", "version": 1, "was": 7})
    with pytest.raises(treadle.InvalidInput):
        store.run("Put", "", name="a" * 61, value=b"1", seen=0)
