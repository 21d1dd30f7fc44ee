"""A fleet of agents: all five lease operations, decisions that release or fence, quiet heartbeats."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

import treadle
from tests.support.lives import LAST_SECOND, START, Life, Place
from treadle.limits import U64_MAX

FLEET, ANN, BOB, NOBODY = UUID(int=1), UUID(int=11), UUID(int=12), UUID(int=99)


@pytest.fixture
def fleet(url: str) -> Iterator[Life]:
    life = Life(url, "agent_fleet", fleet=FLEET, worker=ANN, region="north", quiet=False, result="fine")
    yield life
    life.close()


def task(place: Place, number: int) -> dict[str, Any]:
    found = place.row("Task", FLEET, number)
    assert found is not None
    return found


def held(place: Place, number: int, /, **other: Any) -> dict[str, Any]:
    """The evidence of who holds a task now, with what is given in its place."""
    now = task(place, number)
    return {"task": number, "token": now["fence"], "revision": now["revision"]} | other


def claim(place: Place, number: int, seconds: int = 60) -> treadle.Receipt:
    return place.run(
        "Claim", "Claimed", task=number, seconds=seconds, revision=task(place, number)["revision"]
    )


def wrong_evidence(place: Place, command: str, number: int, **more: Any) -> None:
    """Evidence that is not the holder's; the task must be held, and stays as it is."""
    place.run(command, "NoTask", **held(place, number, task=99, **more))
    place.run(command, "Stale", **held(place, number, revision=99, **more))
    place.run(command, "NotHolder", **held(place, number, token=77, **more))
    place.run(command, "NotHolder", **held(place, number, worker=BOB, **more))


def beats(life: Life) -> None:
    ann = {"agent": ANN, "name": "ann"}
    assert life.run("Beat", "Beaten", **ann).fields["beats"] == 1
    assert life.row("Count", FLEET, "ann")["value"] == 1  # type: ignore[index]
    life.run("Beat", "NameCounted", agent=BOB, name="ann")
    assert life.row("Agent", FLEET, BOB) is None, "what was observed and not applied is not there"
    life.run("Beat", "Moved", **ann, region="south")
    life.place.later(seconds=1)
    assert life.run("Beat", "Beaten", **ann).fields == {"beats": 2, "seen": START + timedelta(seconds=1)}
    life.place.later(seconds=1)
    quiet = life.run("Beat", "Beaten", **ann, quiet=True)
    assert quiet.fields["seen"] == START + timedelta(seconds=1)
    assert life.row("Agent", FLEET, ANN)["revision"] == 2  # type: ignore[index]
    life.run("Beat", "Beaten", agent=BOB, name="bob")
    life.run("Retire", "NoAgent", agent=NOBODY)
    life.run("Retire", "Retired", agent=BOB)
    life.run("CountUp", "Nothing", name="ann", by_value=0)
    assert life.run("CountUp", "Counted", name="ann", by_value=2).fields == {"value": 3}
    assert life.run("CountUp", "Counted", name="new", by_value=-5).fields == {"value": -5}
    life.fails("CountUp", "invariant_violated", "Small", name="ann", by_value=1)
    life.fails("CountUp", "arithmetic", name="new", by_value=-(2**63))


def queue(life: Life) -> None:
    life.run("Enqueue", "Enqueued", tasks=[1, 2, 3], payload="x", first_token=0)
    life.run("Enqueue", "TaskExists", tasks=[4, 3], payload="x", first_token=0)
    life.run("Enqueue", "NoPayload", tasks=[4], payload="", first_token=0)
    life.fails("Enqueue", "duplicate_target", tasks=[4, 4], payload="x", first_token=0)
    assert life.row("Task", FLEET, 4) is None
    life.run("Enqueue", "Enqueued", tasks=[8], payload="x", first_token=U64_MAX)
    life.run("Claim", "NoAgent", task=1, seconds=60, revision=1, worker=NOBODY)
    life.run("Claim", "NoTask", task=99, seconds=60, revision=1)
    life.run("Claim", "Stale", task=1, seconds=60, revision=2)
    life.run("Claim", "BadTime", task=1, seconds=61, revision=1)
    life.run("Claim", "Exhausted", task=8, seconds=60, revision=1)
    taken = claim(life.place, 1)
    assert taken.fields["ticket"] == "open sesame" and (taken.fields["token"], taken.fields["attempts"]) == (
        1,
        1,
    )
    life.run("Claim", "Taken", task=1, seconds=60, revision=2)


def leases(life: Life) -> None:
    place = life.place
    wrong_evidence(place, "Renew", 1, seconds=60)
    life.run("Renew", "NotHolder", **held(place, 1), seconds=4)
    life.run("Renew", "Renewed", **held(place, 1), seconds=60)
    life.run("Expire", "NoTask", task=99, revision=1)
    life.run("Expire", "Stale", task=1, revision=1)
    life.run("Expire", "StillHeld", task=1, revision=task(place, 1)["revision"])
    wrong_evidence(place, "Start", 1)
    place.later(seconds=60)
    life.run("Start", "Lapsed", **held(place, 1))
    life.run("Renew", "Lapsed", **held(place, 1), seconds=60)
    life.run("Expire", "Expired", task=1, revision=task(place, 1)["revision"])
    assert claim(place, 1).fields["token"] == 2
    life.run("Start", "Started", **held(place, 1))
    life.run("Start", "NotReady", **held(place, 1))
    end = life.another(LAST_SECOND - timedelta(seconds=10))
    end.run("Beat", "Beaten", agent=ANN, name="ann")
    end.run("Enqueue", "Enqueued", tasks=[1], payload="x", first_token=0)
    claim(end, 1, 5)
    end.run("Renew", "Exhausted", **held(end, 1), seconds=60)


def reports(life: Life) -> None:
    place = life.place
    going, failed, done = ({"report": name} for name in ("Going", "Failed", "Succeeded"))
    claim(place, 2)
    life.run("Tell", "NotDoing", **held(place, 2), **going)
    wrong_evidence(place, "Tell", 1, **going)
    assert life.run("Tell", "Told", **held(place, 1), **going).fields["state"] == "Doing"
    wrong_evidence(place, "Tell", 1, **failed)
    assert life.run("Tell", "Told", **held(place, 1), **failed).fields == {
        "state": "Ready",
        "result": "failed",
    }
    assert claim(place, 1).fields["attempts"] == 3
    life.run("Start", "Started", **held(place, 1))
    life.run("Tell", "GiveUp", **held(place, 1), **failed)
    place.later(seconds=60)
    life.run("Tell", "Lapsed", **held(place, 1), **going)
    claim(place, 1)
    life.run("Tell", "Told", **held(place, 1), **done)
    before = task(place, 1)
    assert (before["state"], before["worker"], before["result"]) == ("Done", None, "fine")
    life.run("Tell", "Told", **held(place, 1), **done)
    assert task(place, 1) == before, "told twice is told once"


def scraps(life: Life) -> None:
    place = life.place
    wrong_evidence(place, "Scrap", 2)
    place.later(seconds=60)
    life.run("Scrap", "Lapsed", **held(place, 2))
    claim(place, 2)
    life.run("Scrap", "Scrapped", **held(place, 2))
    life.run("Enqueue", "Enqueued", tasks=[2], payload="again", first_token=5)
    assert task(place, 2)["revision"] > 3
    cells = (FLEET.bytes, 50, "Ready", "old", "t", None, None, 9, 2, None)
    place.restore("RestoreTasks", "TasksRestored", cells, revision=7)
    place.restore("RestoreTasks", "TaskExists", cells)
    assert claim(place, 50).fields["token"] == 10, "a restored token is never given again"


def test_every_outcome_and_three_versions(fleet: Life) -> None:
    beats(fleet)
    queue(fleet)
    leases(fleet)
    reports(fleet)
    scraps(fleet)
    fleet.check_reached()
    fleet.refuses(("(5, 60)", "(10, 60)"), says="TaskLife.work: its duration bounds become narrower")
    fleet.refuses(
        ("Ready, Doing, Done }", "Ready, Doing, Done, Lost }"),
        ("initial Ready", "initial Lost"),
        ("Start from (Ready)", "Start from (Ready, Lost)"),
        says="workflow TaskLife: its initial state",
    )
    second_version(fleet)
    third_version(fleet)
    fleet.check()


def second_version(life: Life) -> None:
    """Priorities and regions for tasks, while they are held; longer leases; agents found by region."""
    place = life.place
    claim(place, 2)
    before = task(place, 2)
    life.follow()
    assert task(place, 2) == before | {"priority": 10, "again": False}
    life.run("Renew", "Renewed", **held(place, 2), seconds=600)
    life.run("Start", "Started", **held(place, 2))
    life.run("CountUp", "Counted", name="ann", by_value=1)
    life.check_reached()


def third_version(life: Life) -> None:
    """Tasks belong to an agent that is there; names are unique; a finished task may be done again."""
    place = life.place
    life.follow()
    assert task(place, 2)["made_by"] == FLEET
    life.run("Enqueue", "Enqueued", tasks=[70], payload="x", first_token=0, made_by=ANN)
    life.run("Tell", "Told", **held(place, 2), report="Succeeded")
    life.check_reached()
