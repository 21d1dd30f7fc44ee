"""Bindings: what each finds, what its presence or absence answers, and what later clauses see."""

from __future__ import annotations

import pytest

from tests.support.machine import Machine, answer, images
from treadle.model.facts import RevisionFact

SOURCE = """
contract Counters version 1 {
  enum Phase { Open, Shut }
  entity Counter {
    key (house: u64, id: u64)
    field hits: u64
    field note: optional<string<20>>
    delete_policy no_inbound
  }
  entity Door {
    key (house: u64, id: u64)
    field phase: Phase
    field opened: u64
    delete_policy no_inbound
  }
  aggregate Counters { root Counter partition_by house conflict_key (house, id) }
  aggregate Doors { root Door partition_by house conflict_key (house, id) }
  workflow DoorLife {
    entity Door state phase initial Open
    transition Close from (Open) to Shut
    transition Reopen from (Shut) to Open
  }
  event Counted { partition_by (house) house: u64 hits: u64 note: optional<string<20>> }

  command Make {
    input key: string<128> input house: u64 input id: u64 input hits: u64
    idempotency_key key
    create Counter(house, id) as made else Exists { id: id }
    set made.hits = hits
    return Made { made: made }
  }
  command Look {
    input house: u64 input id: u64
    read Counter(house, id) as seen else Missing { id: id }
    return Seen { hits: seen.hits, note: seen.note }
  }
  command Hit {
    input key: string<128> input house: u64 input id: u64
    idempotency_key key
    init_or_mutate Counter(house, id) as counter initialize { hits: 0 }
    set counter.hits = counter.hits + 1
    return Counted { hits: counter.hits }
  }
  command Twice {
    input key: string<128> input house: u64 input id: u64 input by: u64
    idempotency_key key
    read Counter(house, id) as before else Missing { id: id }
    mutate Counter(house, id) as after else Missing { id: id }
    set after.hits = before.hits + by
    emit Counted { house: house, hits: after.hits, note: after.note }
    return Done { before: before.hits, after: after.hits }
  }
  command Swap {
    input key: string<128> input house: u64 input one: u64 input other: u64
    idempotency_key key
    mutate Counter(house, one) as a else NoOne {}
    mutate Counter(house, other) as b else NoOther {}
    set a.hits = a.hits + b.hits
    set b.hits = a.hits - b.hits
    return Swapped { a: a.hits, b: b.hits }
  }
  command Remove {
    input key: string<128> input house: u64 input id: u64
    idempotency_key key
    delete Counter(house, id) as gone else Missing { id: id }
    emit Counted { house: house, hits: gone.hits, note: gone.note }
    return Removed { gone: gone }
  }
  command Replace {
    input key: string<128> input house: u64 input id: u64
    idempotency_key key
    delete Counter(house, id) as gone else Missing { id: id }
    create Counter(house, id) as made else Exists { id: id }
    set made.hits = 1
    return Replaced {}
  }
  command Build {
    input key: string<128> input house: u64 input id: u64
    idempotency_key key
    init_or_mutate Door(house, id) as door initialize { opened: 0 }
    set door.opened = door.opened + 1
    return Built { door: door }
  }
  command Demolish {
    input key: string<128> input house: u64 input id: u64
    idempotency_key key
    delete Door(house, id) as door else NoDoor {}
    return Demolished { phase: door.phase }
  }
  command Stamp {
    input key: string<128> input house: u64
    service id: uuid_v7
    service at: transaction_time
    idempotency_key key
    read Counter(house, 1) as one else Missing { id: 1 }
    return Stamped { id: id, at: at, now: tx.time, day: tx.time.date }
  }
}
"""


@pytest.fixture
def machine() -> Machine:
    made = Machine(SOURCE)
    made.put("Counter", 1, 1, 5, "note", revision=3)
    made.put("Counter", 1, 2, 7, None, revision=9)
    return made


def test_a_read_gives_the_fields_and_writes_nothing(machine: Machine) -> None:
    verdict = machine.run("Look", house=1, id=1)
    assert (verdict.outcome, verdict.fields, verdict.changes) == ("Seen", (5, "note"), ())
    assert not machine.plan.commands["Look"].writes
    assert machine.plan.commands["Look"].key_input is None


def test_absence_and_presence_answer_with_their_payload(machine: Machine) -> None:
    assert machine.run("Look", house=1, id=8).fields == (8,)
    assert machine.run("Make", house=1, id=2, hits=0)[:3] == ("Exists", (2,), False)


def test_a_created_row_has_nulls_where_nothing_is_set(machine: Machine) -> None:
    verdict = machine.run("Make", house=1, id=3, hits=4)
    assert verdict.fields == ((1, 3, 4, None),)
    assert machine.row("Counter", 1, 3) == (1, (1, 3, 4, None), 1)
    assert verdict.revisions == (), "an entity without a workflow reports no revision"


def test_init_or_mutate_writes_either_way(machine: Machine) -> None:
    assert machine.run("Hit", house=1, id=4).fields == (1,)
    assert machine.run("Hit", house=1, id=4).fields == (2,)
    assert machine.row("Counter", 1, 4) == (2, (1, 4, 2, None), 2)


def test_a_read_of_a_written_row_sees_it_before_the_command(machine: Machine) -> None:
    verdict = machine.run("Twice", house=1, id=1, by=10)
    assert verdict.fields == (5, 15)
    assert [event.cells for event in verdict.events] == [(1, 15, "note")]
    assert verdict.events[0].partition == (1,)


def test_effects_run_in_source_order_on_the_working_copy(machine: Machine) -> None:
    assert machine.run("Swap", house=1, one=1, other=2).fields == (12, 5)
    assert machine.fields("Counter", 1, 2) == {"house": 1, "id": 2, "hits": 5, "note": None}


def test_bindings_answer_in_source_order(machine: Machine) -> None:
    assert machine.run("Swap", house=1, one=8, other=9).outcome == "NoOne"
    assert machine.run("Swap", house=1, one=1, other=9).outcome == "NoOther"


def test_two_writing_bindings_on_one_row_are_a_duplicate_target(machine: Machine) -> None:
    assert answer(machine.run("Swap", house=1, one=1, other=1)) == "duplicate_target"
    assert machine.run("Swap", house=1, one=8, other=8).outcome == "NoOne", "the first binding decides first"
    assert answer(machine.run("Replace", house=1, id=1)) == "duplicate_target"
    assert machine.run("Replace", house=1, id=8).outcome == "Missing"


def test_a_deleted_rows_fields_are_those_before(machine: Machine) -> None:
    verdict = machine.run("Remove", house=1, id=1)
    assert verdict.fields == ((1, 1, 5, "note"),)
    assert images(verdict) == [None]
    assert verdict.changes[0].revision == 3
    assert verdict.events[0].cells == (1, 5, "note")
    assert machine.row("Counter", 1, 1) is None


def test_an_initializer_gets_the_initial_state_and_revisions_are_told(machine: Machine) -> None:
    verdict = machine.run("Build", house=1, id=1)
    assert verdict.fields == ((1, 1, "Open", 1),)
    assert verdict.revisions == (RevisionFact("door", None, 1),)


def test_a_re_created_row_goes_on_after_its_predecessor(machine: Machine) -> None:
    for _ in range(3):
        machine.run("Build", house=1, id=1)
    gone = machine.run("Demolish", house=1, id=1)
    assert (gone.changes[0].revision, gone.revisions) == (3, ())
    assert machine.run("Build", house=1, id=1).revisions == (RevisionFact("door", None, 4),)


def test_service_values_and_the_sealed_time(machine: Machine) -> None:
    verdict = machine.run("Stamp", house=1, services=(b"7" * 16, machine.time))
    assert verdict.fields == (b"7" * 16, machine.time, machine.time, machine.time // 86_400_000_000)
    assert machine.plan.commands["Stamp"].services[0].kind == "uuid_v7"


def test_arithmetic_ends_the_command_without_a_wrap(machine: Machine) -> None:
    machine.put("Counter", 1, 6, 2**64 - 1, None)
    assert answer(machine.run("Hit", house=1, id=6)) == "arithmetic"
    assert answer(machine.run("Twice", house=1, id=6, by=1)) == "arithmetic"
    assert machine.fields("Counter", 1, 6) == {"house": 1, "id": 6, "hits": 2**64 - 1, "note": None}
