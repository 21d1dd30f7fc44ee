"""A ticket desk: leases, a policy for each team, secret telephone numbers, a restricted delete."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from tests.support.lives import LAST_SECOND, Life, Place
from treadle.limits import U64_MAX

DESK, ANN, BOB, NOBODY = UUID(int=1), UUID(int=11), UUID(int=12), UUID(int=99)
RATE = """  command Rate {
    input key: string<64>
    input desk: uuid
    input ticket: uuid
    input agent: uuid
    input token: u64
    input revision: u64
    input weight: u64
    idempotency_key key
    mutate Ticket(desk, ticket) as row else NoTicket {} violates Light TooHeavy {}
    lease renew handling on row owner agent fencing_token token duration_seconds weight revision revision
      stale Stale {} invalid NotHolder {} expired Lapsed {} exhausted Exhausted {}
    set row.weight = weight
    return Rated { weight: row.weight, opened_on: row.opened_on }
  }

  command Show {"""


@pytest.fixture
def desk(url: str) -> Iterator[Life]:
    life = Life(url, "ticket_desk", desk=DESK, agent=ANN)
    yield life
    life.close()


def write(place: Place, subject: str, team: str = "north", token: int = 0) -> UUID:
    fields = place.run("Write", "Written", team=team, subject=subject, phone="555", first_token=token).fields
    found: UUID = fields["ticket"]
    return found


def row(place: Place, ticket: UUID) -> dict[str, Any]:
    found = place.row("Ticket", DESK, ticket)
    assert found is not None
    return found


def held(place: Place, ticket: UUID, /, **other: Any) -> dict[str, Any]:
    """The evidence of who holds a ticket now, with what is given in its place."""
    now = row(place, ticket)
    return {"ticket": ticket, "token": now["token"], "revision": now["revision"]} | other


def take(place: Place, ticket: UUID, seconds: int = 600) -> None:
    place.run("Take", "Held", ticket=ticket, seconds=seconds, revision=row(place, ticket)["revision"])


def lease_outcomes(place: Place, command: str, ticket: UUID, **more: Any) -> None:
    """The outcomes of evidence that is not the holder's; the ticket must be held, and stays as it is."""
    place.run(command, "NoTicket", **held(place, ticket, ticket=NOBODY, **more))
    place.run(command, "Stale", **held(place, ticket, revision=99, **more))
    place.run(command, "NotHolder", **held(place, ticket, token=77, **more))
    place.run(command, "NotHolder", **held(place, ticket, agent=BOB, **more))


def first_version(life: Life) -> tuple[UUID, UUID]:
    place = life.place
    life.run("OpenTeam", "TeamOpened", team="north")
    life.run("OpenTeam", "TeamExists", team="north")
    life.run("OpenTeam", "TeamOpened", team="south")
    life.run("CloseTeam", "NoTeam", team="east")
    life.run("CloseTeam", "TeamClosed", team="south")
    life.run("OpenTeam", "TeamOpened", team="south")
    one, two = write(place, "printer"), write(place, "door", "south")
    life.run("CloseTeam", "HasTickets", team="north")
    life.run("Write", "NoTeam", team="east", subject="x", phone="", first_token=0)
    life.run("Write", "NoSubject", team="north", subject="", phone="", first_token=0)
    life.run("Write", "Duplicate", team="north", subject="door", phone="", first_token=0)
    assert life.row("Team", DESK, "north")["opened"] == 1, "failures change nothing"  # type: ignore[index]
    replies(life, one)
    leaving(life, one)
    others(life)
    return one, two


def replies(life: Life, one: UUID) -> None:
    place = life.place
    life.run("Take", "NoTicket", ticket=NOBODY, seconds=600, revision=1)
    life.run("Take", "Stale", ticket=one, seconds=600, revision=9)
    life.run("Take", "BadTime", ticket=one, seconds=59, revision=1)
    answer = life.run("Take", "Held", ticket=one, seconds=60, revision=1)
    assert answer.fields["ticket"]["phone"] == "555" and answer.fields["ticket"]["token"] == 1
    life.run("Take", "Taken", ticket=one, seconds=60, revision=2, agent=BOB)
    lease_outcomes(place, "Reply", one)
    life.run("Hear", "NotWaiting", **held(place, one))
    place.later(seconds=60)
    life.run("Reply", "Lapsed", **held(place, one))
    take(place, one)
    for number in range(1, 4):
        life.run("Reply", "Replied", **held(place, one))
        life.run("Reply", "NotOpen", **held(place, one))
        lease_outcomes(place, "Hear", one)
        life.run("Hear", "Heard", **held(place, one))
        assert row(place, one)["replies"] == number
    life.run("Reply", "TooManyReplies", **held(place, one))


def leaving(life: Life, one: UUID) -> None:
    """Closing and dropping, and what keeps from it."""
    place = life.place
    other = write(place, "lamp")
    take(place, other)
    life.run("Drop", "NotClosed", **held(place, other))
    life.run("Close", "NoTicket", **held(place, other, ticket=NOBODY))
    life.run("Close", "Stale", **held(place, other, revision=99))
    life.run("Close", "NotHolder", **held(place, other, token=9))
    life.run("Close", "Closed", **held(place, other))
    life.run("Show", "Shown", ticket=other)
    life.run("Show", "NoTicket", ticket=NOBODY)
    take(place, other)
    life.run("Close", "AlreadyClosed", **held(place, other))
    lease_outcomes(place, "Drop", other)
    place.later(seconds=600)
    life.run("Drop", "Lapsed", **held(place, other))
    take(place, other)
    life.run("Drop", "Dropped", **held(place, other))
    take(place, one, 3600)
    place.later(seconds=3600)
    life.run("Hear", "NotWaiting", **held(place, one))
    take(place, one)
    life.run("Close", "Closed", **held(place, one))


def others(life: Life) -> None:
    """Outcomes that need a place of their own: ids that repeat, counters and times at their end."""
    place = life.another()
    place.run("OpenTeam", "TeamOpened", team="north")
    ticket = write(place, "last", token=U64_MAX)
    place.run("Take", "Exhausted", ticket=ticket, seconds=60, revision=1)
    waiting = write(place, "waiting")
    take(place, waiting, 60)
    place.run("Reply", "Replied", **held(place, waiting))
    place.later(seconds=60)
    place.run("Hear", "Lapsed", **held(place, waiting))
    place.same_ids(ticket.bytes)
    place.run("Write", "TicketExists", team="north", subject="again", phone="", first_token=0)
    cells = (DESK.bytes, UUID(int=500).bytes, "Waiting", "north", "old", "High", None, "1", None, None, 7, 2)
    place.restore("RestoreTickets", "Restored", cells, revision=5)
    place.restore("RestoreTickets", "TicketExists", cells)
    assert row(place, UUID(int=500))["revision"] == 6
    place.run("Take", "Held", ticket=UUID(int=500), seconds=60, revision=6, by="ann")
    end = life.another(LAST_SECOND)
    end.run("OpenTeam", "TeamOpened", team="north")
    end.run("Take", "Exhausted", ticket=write(end, "late"), seconds=3600, revision=1)


def policies(life: Life, one: UUID, two: UUID) -> None:
    """Each team sees its own tickets; what is hidden looks absent, what is seen may still be denied."""
    place = life.place
    north = {"team": "north"}
    life.run("Show", "Shown", ticket=one, by="ann", facts=north)
    life.run("Show", "NoTicket", ticket=two, by="ann", facts=north)
    evidence = {"ticket": two, "seconds": 60, "revision": 1}
    life.run("Take", "NoTicket", by="ann", facts=north, **evidence)
    life.run("Take", "Held", by="bob", facts={"team": "south"}, **evidence)
    place.denied("Write", team="north", subject="door", phone="", first_token=0, by="ann", facts=north)
    cells = (DESK.bytes, UUID(int=501).bytes, "Open", "north", "big", "High", None, "1", None, None, 7, 2)
    place.restore("RestoreTickets", "Restored", cells)
    place.denied("Take", by="ann", facts=north, ticket=UUID(int=501), seconds=60, revision=2)


def test_every_outcome_and_three_versions(desk: Life) -> None:
    one, two = first_version(desk)
    desk.check_reached()
    policies(desk, one, two)
    desk.refuses(("Low, Normal, High", "Low, High"), ("Urgency.Normal", "Urgency.Low"), says="Urgency.Normal")
    desk.refuses(
        ("  transition Ask from (Open) to Waiting\n", ""),
        ("transition Ask on row revision revision stale Stale {} illegal NotOpen { state: row.state }", ""),
        says="TicketLife.Ask: .*record",
    )
    second_version(desk, one, two)
    third_version(desk, one, two)
    desk.check()


def second_version(life: Life, one: UUID, two: UUID) -> None:
    place = life.place
    before = row(place, two)
    life.follow()
    assert row(place, one)["weight"] == 4
    assert {name: row(place, two)[name] for name in before} == before, "the lease is held as before"
    life.run("Rate", "Rated", weight=60, agent=ANN, **held(place, two))
    lease_outcomes(place, "Rate", two, weight=60)
    life.run("Rate", "TooHeavy", weight=7200, **held(place, two))
    life.run("Rate", "NotHolder", weight=7201, **held(place, two))
    place.later(seconds=60)
    life.run("Rate", "Lapsed", weight=60, **held(place, two))
    end = life.another(LAST_SECOND.replace(minute=0))
    end.run("OpenTeam", "TeamOpened", team="north")
    late = write(end, "late")
    take(end, late, 30)
    end.run("Rate", "Exhausted", weight=7000, **held(end, late))
    life.check_reached()


def third_version(life: Life, one: UUID, two: UUID) -> None:
    place = life.place
    take(place, two, 30)
    life.run("Rate", "Rated", weight=40, **held(place, two))
    life.follow()
    assert life.row("Team", DESK, "north")["lead"] == "north"  # type: ignore[index]
    boss = {"team": "south", "level": 4}
    life.run("Close", "Closed", by="bob", facts=boss, **held(place, two))
    place.denied(
        "Take",
        by="bob",
        facts={"team": "south", "level": 3},
        ticket=two,
        seconds=60,
        revision=row(place, two)["revision"],
    )
    assert life.run("Show", "Shown", ticket=one).fields["weight"] == 4
    life.check_reached()
