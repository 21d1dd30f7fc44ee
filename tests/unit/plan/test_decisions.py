"""Decisions: the first arm that holds, its creates and effects at once, what later clauses see of them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.machine import Machine, answer, images
from treadle.model.facts import RevisionFact

SOURCE = """
contract Seats version 1 {
  enum Phase { Free, Taken }
  entity Hall { key (house: u64, hall: u64) field sold: u64 field most: u64 }
  entity Ticket { key (house: u64, hall: u64, number: u64) field price: u64 delete_policy no_inbound }
  entity Seat {
    key (house: u64, seat: u64)
    field phase: Phase
    field owner: optional<uuid>
    field until: optional<timestamp>
    field fence: u64
  }
  aggregate Halls { root Hall child Ticket partition_by house conflict_key (house, hall) }
  aggregate Seats { root Seat partition_by house conflict_key (house, seat) }
  workflow SeatLife {
    entity Seat state phase initial Free
    transition Take from (Free) to Taken
    lease hold { owner owner expires_at until fencing_token fence duration_seconds (1, 60) }
  }
  event Sold { partition_by (house) house: u64 number: u64 }

  command Sell {
    input key: string<128> input house: u64 input hall: u64 input number: u64
    idempotency_key key
    observe_or_initialize Hall(house, hall) as hall_row initialize { sold: 0, most: 2 }
    decide hall_row {
      when hall_row.sold >= hall_row.most => reject SoldOut { hall: hall }
      when number == 0 => no_effect
      else => apply {
        create Ticket(house, hall, number) as ticket else TicketExists { number: number }
        set ticket.price = hall_row.sold + 1
        set hall_row.sold = hall_row.sold + 1
        emit Sold { house: house, number: number }
      }
    }
    require NotThirteen: hall_row.sold != 13 else Unlucky {}
    return Answered { sold: hall_row.sold }
  }
  command Bump {
    input key: string<128> input house: u64 input hall: u64 input by: u64
    idempotency_key key
    mutate Hall(house, hall) as hall_row else NoHall {}
    decide hall_row {
      when by == 0 => no_effect
      when by > 100 => reject TooMuch {}
      else => apply { set hall_row.most = hall_row.most + by }
    }
    return Bumped { most: hall_row.most }
  }
  command Sit {
    input key: string<128> input house: u64 input seat: u64
    input owner: uuid input token: u64 input revision: u64
    idempotency_key key
    mutate Seat(house, seat) as seat_row else NoSeat {}
    decide seat_row {
      when token == 0 => no_effect
      else => apply {
        lease fence hold on seat_row owner owner fencing_token token revision revision
          stale Stale {} invalid NotYours {} expired Late {}
        transition Take on seat_row revision revision stale Stale {} illegal TakenAlready {}
      }
    }
    return Sat { phase: seat_row.phase }
  }
  command Peek {
    input key: string<128> input house: u64 input seat: u64
    input owner: uuid input token: u64 input revision: u64
    idempotency_key key
    mutate Seat(house, seat) as seat_row else NoSeat {}
    decide seat_row {
      when seat_row.phase == Phase.Taken => reject TakenAlready {}
      else => no_effect
    }
    lease fence hold on seat_row owner owner fencing_token token revision revision
      stale Stale {} invalid NotYours {} expired Late {}
    return Peeked {}
  }
}
"""
OWNER = b"a" * 16


@pytest.fixture
def machine() -> Machine:
    return Machine(SOURCE)


def test_an_observed_absent_row_is_made_by_an_arm_that_applies(machine: Machine) -> None:
    verdict = machine.run("Sell", house=1, hall=1, number=7)
    assert verdict.fields == (1,)
    assert images(verdict) == [(1, 1, 1, 2), (1, 1, 7, 1)], "the observed row first, then the arm's creates"
    assert [change.revision for change in verdict.changes] == [1, 1]
    assert [event.cells for event in verdict.events] == [(1, 7)]


def test_no_effect_leaves_an_absent_row_absent(machine: Machine) -> None:
    verdict = machine.run("Sell", house=1, hall=1, number=0)
    assert (verdict.outcome, verdict.fields, verdict.changes) == ("Answered", (0,), ())
    assert machine.row("Hall", 1, 1) is None


def test_an_observed_present_row_adds_one_revision_only_if_applied(machine: Machine) -> None:
    machine.put("Hall", 1, 1, 0, 5, revision=4)
    assert machine.run("Sell", house=1, hall=1, number=0).changes == ()
    assert machine.run("Sell", house=1, hall=1, number=1).changes[0].revision == 5


def test_the_first_arm_that_holds_decides(machine: Machine) -> None:
    machine.put("Hall", 1, 1, 2, 2)
    assert machine.run("Sell", house=1, hall=1, number=0)[:2] == ("SoldOut", (1,))


def test_an_arms_create_answers_presence(machine: Machine) -> None:
    machine.put("Ticket", 1, 1, 7, 1)
    assert machine.run("Sell", house=1, hall=1, number=7)[:2] == ("TicketExists", (7,))
    assert machine.run("Sell", house=1, hall=1, number=0).outcome == "Answered", "the arm was not taken"


def test_requirements_see_decided_images(machine: Machine) -> None:
    machine.put("Hall", 1, 1, 12, 50)
    assert machine.run("Sell", house=1, hall=1, number=5).outcome == "Unlucky"
    assert machine.run("Sell", house=1, hall=1, number=0).outcome == "Answered"


def test_a_decided_mutate_binding_writes_only_if_applied(machine: Machine) -> None:
    machine.put("Hall", 1, 1, 0, 5, revision=4)
    assert machine.run("Bump", house=1, hall=1, by=0)[:4] == ("Bumped", (5,), True, ())
    assert machine.run("Bump", house=1, hall=1, by=101).outcome == "TooMuch"
    assert machine.run("Bump", house=1, hall=1, by=3).changes[0].revision == 5
    assert machine.run("Bump", house=1, hall=9, by=3).outcome == "NoHall"


def test_lease_and_transition_inside_an_arm(machine: Machine) -> None:
    machine.put("Seat", 1, 1, "Free", OWNER, machine.time + 1, 3, revision=8)
    evidence: dict[str, Any] = {"house": 1, "seat": 1, "owner": OWNER, "revision": 8}
    assert machine.run("Sit", **evidence, token=0).changes == ()
    assert machine.run("Sit", **evidence, token=4).outcome == "NotYours"
    verdict = machine.run("Sit", **evidence, token=3)
    assert (verdict.fields, verdict.revisions) == (("Taken",), (RevisionFact("seat_row", None, 9),))
    evidence["revision"] = 9
    assert machine.run("Sit", **evidence, token=3).outcome == "TakenAlready"
    machine.time += 1
    assert machine.run("Sit", **evidence, token=3).outcome == "Late"


def test_a_lease_operation_at_the_top_level_writes_in_any_arm(machine: Machine) -> None:
    machine.put("Seat", 1, 1, "Free", OWNER, machine.time + 1, 3, revision=8)
    verdict = machine.run("Peek", house=1, seat=1, owner=OWNER, token=3, revision=8)
    assert verdict.revisions == (RevisionFact("seat_row", None, 9),)
    assert verdict.changes[0].cells == (1, 1, "Free", OWNER, machine.time + 1, 3)


def test_a_decision_comes_before_effects_at_the_top_level(machine: Machine) -> None:
    machine.put("Seat", 1, 1, "Taken", OWNER, machine.time, 3, revision=8)
    assert machine.run("Peek", house=1, seat=1, owner=OWNER, token=3, revision=0).outcome == "TakenAlready"


def test_the_access_set_is_the_union_of_the_arms(machine: Machine) -> None:
    plan = machine.plan.commands["Sell"]
    access = plan.access(machine.input("Sell", house=1, hall=2, number=0), (), None)
    assert set(access.rows) == {("Hall", (1, 2)), ("Ticket", (1, 2, 0))}
    assert answer(machine.run("Sell", house=1, hall=2, number=0)) == "Answered"
