"""Bulk commands: elements in order, all or nothing, one frame each, shared top-level rows."""

from __future__ import annotations

import pytest

from tests.support.machine import Machine, answer, images
from treadle import limits
from treadle.errors import TooLarge
from treadle.model.facts import RevisionFact

SOURCE = """
contract Yard version 1 {
  enum Phase { New, Old }
  entity Total { key (yard: u64) field count: u64 field sum: u64 }
  entity Crate { key (yard: u64, id: u64) field weight: u64 field next: u64 delete_policy no_inbound }
  entity Part { key (yard: u64, id: u64) field phase: Phase field at: timestamp }
  entity Note { key (yard: u64, id: u64) field text: string<20000> }
  aggregate Totals { root Total partition_by yard conflict_key (yard) }
  aggregate Crates { root Crate partition_by yard conflict_key (yard, id) }
  aggregate Parts { root Part partition_by yard conflict_key (yard, id) }
  aggregate Notes { root Note partition_by yard conflict_key (yard, id) }
  workflow PartLife { entity Part state phase initial New transition Age from (New) to Old }
  event Stored { partition_by (yard) yard: u64 id: u64 count: u64 }

  bulk command Store {
    input key: string<128> input yard: u64 input ids: list<u64, 1..100> input weight: u64
    idempotency_key key
    mutate Total(yard) as total else NoYard {}
    for id in ids {
      create Crate(yard, id) as crate else CrateExists { id: id }
      require NotHeavy: weight + id < 1000 else TooHeavy { id: id }
      set crate.weight = weight
      set crate.next = crate.weight + total.count
      emit Stored { yard: yard, id: id, count: crate.next }
    }
    require SomeWeight: weight != 0 else Weightless {}
    set total.count = total.count + 1
    set total.sum = total.sum + total.count
    return Stored_all { total: total }
  }
  bulk command Assemble {
    input key: string<128> input yard: u64 input ids: list<u64, 1..100>
    idempotency_key key
    for id in ids {
      create Part(yard, id) as part else PartExists { id: id }
      set part.at = tx.time
    }
    return Assembled {}
  }
  bulk command Touch {
    input key: string<128> input yard: u64 input ids: list<u64, 1..100>
    idempotency_key key
    for id in ids {
      mutate Crate(yard, id) as crate else NoCrate { id: id }
      decide crate {
        when crate.weight == 0 => no_effect
        when crate.weight > 500 => reject Heavy { id: id }
        else => apply { set crate.weight = crate.weight - 1 }
      }
      require Light: crate.weight < 99 else StillHeavy { id: id }
    }
    return Touched {}
  }
  bulk command Clear {
    input key: string<128> input yard: u64 input ids: list<u64, 1..100>
    idempotency_key key
    read Total(yard) as total else NoYard {}
    for id in ids {
      delete Crate(yard, id) as crate else NoCrate { id: id }
      emit Stored { yard: yard, id: crate.id, count: crate.weight }
    }
    return Cleared { count: total.count }
  }
  bulk command Register {
    input key: string<128> input yard: u64 input crates: list<Crate, 1..10>
    idempotency_key key
    for each in crates {
      create Crate(yard, each.id) as crate else CrateExists { id: each.id }
      set crate.weight = each.weight
      set crate.next = each.next
    }
    return Registered {}
  }
  bulk command Write {
    input key: string<128> input yard: u64 input ids: list<u64, 1..1024> input text: string<20000>
    idempotency_key key
    for id in ids {
      create Note(yard, id) as note else NoteExists { id: id }
      set note.text = text
      emit Stored { yard: yard, id: id, count: 0 }
    }
    return Written {}
  }
}
"""


@pytest.fixture
def machine() -> Machine:
    made = Machine(SOURCE)
    made.put("Total", 1, 0, 0, revision=5)
    return made


def test_elements_effects_come_before_the_commands_own(machine: Machine) -> None:
    verdict = machine.run("Store", yard=1, ids=(10, 11, 12), weight=2)
    assert verdict.fields == ((1, 1, 1),)
    assert images(verdict) == [(1, 1, 1), (1, 10, 2, 2), (1, 11, 2, 2), (1, 12, 2, 2)]
    assert [event.cells for event in verdict.events] == [(1, 10, 2), (1, 11, 2), (1, 12, 2)]
    assert verdict.changes[0].revision == 6


def test_all_or_nothing(machine: Machine) -> None:
    machine.put("Crate", 1, 11, 1, 1)
    assert machine.run("Store", yard=1, ids=(10, 11), weight=2)[:2] == ("CrateExists", (11,))
    assert machine.row("Crate", 1, 10) is None


def test_each_elements_requirements_come_before_the_next_elements_bindings(machine: Machine) -> None:
    machine.put("Crate", 1, 11, 1, 1)
    assert machine.run("Store", yard=1, ids=(999, 11), weight=2)[:2] == ("TooHeavy", (999,))
    assert machine.run("Store", yard=1, ids=(11, 999), weight=2)[:2] == ("CrateExists", (11,))


def test_the_commands_own_requirements_come_after_all_elements(machine: Machine) -> None:
    assert machine.run("Store", yard=1, ids=(1001,), weight=0).outcome == "TooHeavy"
    assert machine.run("Store", yard=1, ids=(1,), weight=0).outcome == "Weightless"


def test_arithmetic_in_a_requirement_of_an_element(machine: Machine) -> None:
    assert answer(machine.run("Store", yard=1, ids=(2,), weight=2**64 - 1)) == "arithmetic"


def test_two_elements_on_one_row_are_a_duplicate_target(machine: Machine) -> None:
    assert answer(machine.run("Store", yard=1, ids=(10, 11, 10), weight=2)) == "duplicate_target"
    machine.put("Crate", 1, 7, 5, 0)
    assert answer(machine.run("Touch", yard=1, ids=(7, 7))) == "duplicate_target"
    assert answer(machine.run("Clear", yard=1, ids=(7, 7))) == "duplicate_target"


def test_revisions_count_the_passes(machine: Machine) -> None:
    verdict = machine.run("Assemble", yard=1, ids=(5, 3))
    assert verdict.revisions == (RevisionFact("part", 0, 1), RevisionFact("part", 1, 1))
    assert images(verdict)[0] == (1, 5, "New", machine.time)


def test_decisions_run_for_each_element(machine: Machine) -> None:
    for id, weight in ((1, 0), (2, 5), (3, 99), (4, 501), (5, 300)):
        machine.put("Crate", 1, id, weight, 0, revision=2)
    verdict = machine.run("Touch", yard=1, ids=(1, 2, 3))
    assert images(verdict) == [(1, 2, 4, 0), (1, 3, 98, 0)], "an element without effect writes nothing"
    assert machine.run("Touch", yard=1, ids=(1, 4))[:2] == ("Heavy", (4,))
    assert machine.run("Touch", yard=1, ids=(5, 4))[:2] == ("StillHeavy", (5,))


def test_deletes_in_a_loop(machine: Machine) -> None:
    machine.put("Crate", 1, 1, 8, 0)
    machine.put("Crate", 1, 2, 9, 0)
    verdict = machine.run("Clear", yard=1, ids=(2, 1))
    assert images(verdict) == [None, None]
    assert [event.cells for event in verdict.events] == [(1, 2, 9), (1, 1, 8)]


def test_elements_may_be_records(machine: Machine) -> None:
    verdict = machine.run("Register", yard=1, crates=((1, 4, 6, 8), (1, 5, 7, 9)))
    assert images(verdict) == [(1, 4, 6, 8), (1, 5, 7, 9)]


def test_the_access_set_and_conflict_keys_list_every_element(machine: Machine) -> None:
    plan = machine.plan.commands["Store"]
    input = machine.input("Store", yard=1, ids=(7, 8), weight=1)
    assert list(plan.access(input, (), None).rows) == [("Total", (1,)), ("Crate", (1, 7)), ("Crate", (1, 8))]
    assert plan.conflict_keys(input) == (("Totals", (1,)), ("Crates", (1, 7)), ("Crates", (1, 8)))
    assert plan.partition(input) == (1,)
    assert plan.bulk


def test_input_rows_and_events_together_are_bounded(machine: Machine) -> None:
    ids = tuple(range(1024))
    fits = (limits.COMMAND_BYTES // 1024) - 200
    assert machine.run("Write", yard=1, ids=ids, text="x" * fits).outcome == "Written"
    with pytest.raises(TooLarge, match="split it"):
        machine.run("Write", yard=2, ids=ids, text="x" * (fits + 200))
