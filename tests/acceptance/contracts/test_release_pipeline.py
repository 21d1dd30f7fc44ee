"""A release pipeline: decisions on a row, approvals in bulk, a cascade, an invariant of root and child."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from tests.support.lives import Life, Place

ORG = UUID(int=1)


@pytest.fixture
def pipeline(url: str) -> Iterator[Life]:
    life = Life(url, "release_pipeline", org=ORG, product="loom", most=1)
    yield life
    life.close()


def release(place: Place, number: int, product: str = "loom") -> dict[str, Any]:
    found = place.row("Release", ORG, product, number)
    assert found is not None
    return found


def advance(life: Life, number: int, to: str, expect: str = "Stands", revision: int = 0) -> None:
    wanted = revision or release(life.place, number)["revision"]
    life.run("Advance", expect, number=number, to=to, revision=wanted)


def products(life: Life) -> None:
    life.run("AddProduct", "ProductAdded")
    life.run("AddProduct", "ProductExists")
    life.run("SetGate", "NoProduct", product="none", gate="Open")
    life.run("SetGate", "NothingToShut", gate="Shut")
    life.run("Cut", "NoProduct", product="none", number=1, build=b"0")
    for number in (1, 2, 3):
        life.run("Cut", "Cut", number=number, build=bytes([number]))
    assert life.row("Product", ORG, "loom")["revision"] == 4  # type: ignore[index]
    assert life.run("SetGate", "GateIs", gate="Shut").fields["gate"] == "Shut"
    assert life.run("SetGate", "GateIs", gate="Shut").revisions == {}
    life.run("Cut", "GateShut", number=4, build=b"4")
    life.run("SetGate", "GateIs", gate="Open")
    life.run("Cut", "ReleaseExists", number=3, build=b"4")
    life.run("Cut", "BuildTaken", number=4, build=b"\1")
    life.run("Cut", "OutOfOrder", number=9, build=b"9")
    life.run("Look", "Seen")
    life.run("Look", "NoProduct", product="none")


def advances(life: Life) -> None:
    life.run("Advance", "NoProduct", product="none", number=1, to="Tested", revision=1)
    life.run("Advance", "NoRelease", number=9, to="Tested", revision=1)
    advance(life, 1, "Draft")
    assert release(life.place, 1)["revision"] == 1, "what has no effect writes nothing"
    advance(life, 1, "Tested", "Stale", revision=7)
    advance(life, 1, "Tested")
    advance(life, 1, "Tested", "NotDraft")
    life.run("Approve", "NoProduct", product="none", numbers=[1])
    life.run("Approve", "NoRelease", numbers=[1, 9])
    life.run("Approve", "NotTested", numbers=[1, 2])
    life.run("Approve", "TooMany", numbers=[1], most=9)
    assert release(life.place, 1)["approvals"] == 0, "all or nothing"
    advance(life, 2, "Tested")
    life.run("Approve", "Approved", numbers=[1, 2])
    life.fails("Approve", "duplicate_target", numbers=[1, 1])
    advance(life, 1, "Staged", "NeedsApproval")
    life.run("Approve", "Approved", numbers=[1])
    advance(life, 1, "Released", "NotStaged")
    advance(life, 1, "Staged")
    advance(life, 1, "Staged", "NotTested")
    life.run("SetGate", "GateIs", gate="Shut")
    advance(life, 1, "Released", "GateShut")
    life.run("SetGate", "GateIs", gate="Open")
    advance(life, 1, "Released")
    assert release(life.place, 1)["note"] == "tested"


def ends(life: Life) -> None:
    life.run("RollBack", "NoRelease", number=9, revision=1)
    life.run("RollBack", "Stale", number=1, revision=1)
    life.run("RollBack", "NotOut", number=3, revision=1)
    life.run("RollBack", "RolledBack", number=1, revision=release(life.place, 1)["revision"])
    life.run("DropProduct", "NoProduct", product="none")
    life.run("DropProduct", "TooManyReleases")
    life.run("AddProduct", "ProductAdded", product="reel")
    life.run("Cut", "Cut", product="reel", number=1, build=b"reel")
    dropped = life.run("DropProduct", "ProductDropped", product="reel")
    assert dropped.fields == {"releases": 1} and life.row("Release", ORG, "reel", 1) is None
    life.run("AddProduct", "ProductAdded", product="reel")
    again = life.run("Cut", "Cut", product="reel", number=1, build=b"reel")
    assert again.revisions["release"] == 2, "a release that comes back goes on after the one that went"
    life.place.restore("RestoreProducts", "ProductsRestored", (ORG.bytes, "old", "Shut", 9))
    life.place.restore("RestoreProducts", "ProductExists", (ORG.bytes, "old", "Shut", 9))


def test_every_outcome_and_three_versions(pipeline: Life) -> None:
    products(pipeline)
    advances(pipeline)
    ends(pipeline)
    pipeline.check_reached()
    pipeline.refuses(
        ("conflict one_build BuildTaken {}", ""),
        ("    unique one_build (org, build)\n", ""),
        says="Cut.BuildTaken.*record",
    )
    pipeline.refuses(
        ("    to: Stage\n", ""), (", to: row.stage", ""), says="event Moved: its field to is removed"
    )
    second_version(pipeline)
    third_version(pipeline)
    pipeline.check()


def second_version(life: Life) -> None:
    """A channel for each release, given to those that are there; shipping past the stage."""
    before = [release(life.place, number) for number in (1, 2, 3)]
    life.follow()
    for old in before:
        new = release(life.place, old["number"])
        assert new == old | {"channel": "Stable", "weight": new["weight"]} and str(new["weight"]) == "2.50"
    life.run("Cut", "Cut", number=4, build=b"four")
    advance(life, 4, "Draft", "NotTested")
    advance(life, 4, "Tested")
    advance(life, 4, "Draft")
    assert release(life.place, 4)["stage"] == "Released", "an early release ships past the stage"
    life.check_reached()


def third_version(life: Life) -> None:
    """The product says since when, releases are found by weight, and a look goes that has no key."""
    life.follow()
    life.reached -= {("Look", "Seen"), ("Look", "NoProduct")}
    since = life.row("Product", ORG, "loom")["since"]  # type: ignore[index]
    assert since == life.place.clock_time
    life.run("Cut", "BuildTaken", number=5, build=b"four")
    life.run("Cut", "Cut", number=5, build=b"five")
    life.check_reached()
