"""Access sets where something cannot be known beforehand, and bounds on rows."""

from __future__ import annotations

import pytest

from tests.support.machine import Machine, answer
from treadle import limits
from treadle.errors import InvalidInput

SOURCE = """
contract Wide version 1 {
  entity Page {
    key (book: u64, page: u64)
    field text: string<600000>
    field more: optional<string<600000>>
  }
  entity Stamp {
    key (book: u64, id: uuid)
    field at: timestamp
  }
  aggregate Pages { root Page partition_by book conflict_key (book, page) }
  aggregate Stamps { root Stamp partition_by book conflict_key (book, id) }

  command Write {
    input key: string<128> input book: u64 input page: u64 input text: string<600000>
    input more: optional<string<600000>>
    idempotency_key key
    init_or_mutate Page(book, page) as page_row initialize { text: "" }
    set page_row.text = text
    set page_row.more = more
    return Written {}
  }
  command Mark {
    input key: string<128> input book: u64
    service id: uuid_v7
    idempotency_key key
    create Stamp(book, id) as stamp else Exists {}
    set stamp.at = tx.time
    return Marked { id: id }
  }
}
"""

CARDS = """
contract Cards version 1 {
  enum Phase { New, Old }
  entity Card {
    key (box: i64, id: u64)
    field phase: Phase
    field a: u64
    field b: u64
    unique by_pair (box, a, b)
    unique by_phase (box, phase, id)
    delete_policy no_inbound
  }
  entity Slip { key (box: i64, id: u64) field a: u64 unique by_a (box, a) }
  aggregate Cards { root Card partition_by box / 10 conflict_key (box / 10, id + 1) }
  aggregate Slips { root Slip partition_by -box conflict_key (box, id) }
  workflow CardLife { entity Card state phase initial New transition Age from (New) to Old }

  command Make {
    input key: string<128> input box: i64 input id: u64
    idempotency_key key
    create Card(box, id) as card else Exists {}
    set card.a = card.id
    set card.b = 7 + 1
    return Made {}
  }
  command Age {
    input key: string<128> input box: i64 input id: u64 input revision: u64
    idempotency_key key
    mutate Card(box, id) as card else Missing {}
    transition Age on card revision revision stale Stale {} illegal Illegal {}
    return Aged {}
  }
  command Arms {
    input key: string<128> input box: i64 input id: u64 input a: u64 input other: u64
    idempotency_key key
    observe_or_initialize Slip(box, id) as slip initialize { a: 50 }
    decide slip {
      when a == 0 => no_effect
      when a == 1 => apply { }
      when a == 2 => apply { set slip.a = 60 }
      else => apply {
        create Slip(box, other) as made else Exists {}
        set made.a = a + 1
        set slip.a = a
      }
    }
    return Done {}
  }
  command Pick {
    input key: string<128> input box: i64 input id: u64 input a: u64
    idempotency_key key
    mutate Slip(box, id) as slip else Missing {}
    decide slip {
      when a == 0 => no_effect
      else => apply { set slip.a = a }
    }
    return Picked { slip: slip.a }
  }
  command Crosses {
    input key: string<128> input box: i64 input id: u64 input one: u64 input two: u64
    idempotency_key key
    observe_or_initialize Slip(box, id) as slip initialize { a: 0 }
    decide slip {
      when one == 0 => no_effect
      else => apply { set slip.a = one }
    }
    observe_or_initialize Slip(box, two) as other initialize { a: 0 }
    decide other {
      when two == 0 => no_effect
      else => apply { set other.a = two }
    }
    return Crossed {}
  }
}
"""


@pytest.fixture
def machine() -> Machine:
    return Machine(SOURCE)


def test_a_row_over_a_mebibyte_is_a_terminal_failure(machine: Machine) -> None:
    half = "x" * (limits.ROW_BYTES // 2)
    assert machine.run("Write", book=1, page=1, text=half, more=half[:-100]).success
    assert answer(machine.run("Write", book=1, page=1, text=half, more=half)) == "row_too_large"
    wide = "é" * (limits.ROW_BYTES // 4)
    assert answer(machine.run("Write", book=1, page=2, text=wide, more=wide)) == "row_too_large"
    assert machine.run("Write", book=1, page=2, text=wide).success


def test_a_key_may_be_a_service_value(machine: Machine) -> None:
    id = b"7" * 16
    verdict = machine.run("Mark", book=1, services=(id,))
    assert verdict.changes[0].key == (1, id)
    plan = machine.plan.commands["Mark"]
    assert list(plan.access(("k", 1), (id,), None).rows) == [("Stamp", (1, id))]
    assert plan.conflict_keys(("k", 1), (id,)) == (("Stamps", (1, id)),)


def entries(machine: Machine, command: str, **given: int) -> set[tuple[object, ...]]:
    """The values of the unique entries in a command's access set."""
    access = machine.plan.commands[command].access(machine.input(command, **given), (), None)
    return {unique[2] for unique in access.uniques}


@pytest.fixture
def cards() -> Machine:
    return Machine(CARDS)


def test_entries_are_computed_from_keys_constants_and_the_initial_state(cards: Machine) -> None:
    assert entries(cards, "Make", box=1, id=5) == {(1, 5, 8), (1, "New", 5)}
    assert not cards.plan.commands["Make"].ranges
    assert cards.run("Make", box=1, id=5).success


def test_a_transition_takes_the_entry_of_its_destination(cards: Machine) -> None:
    assert entries(cards, "Age", box=1, id=5, revision=1) == {(1, "Old", 5)}
    cards.run("Make", box=1, id=5)
    assert cards.run("Age", box=1, id=5, revision=2).outcome == "Stale"
    verdict = cards.run("Age", box=1, id=5, revision=1)
    assert verdict.taken == ((("Card", "by_phase", (1, "Old", 5)), (1, 5)),)
    assert cards.run("Age", box=1, id=5, revision=2).outcome == "Illegal"


def test_every_arms_entries_are_listed(cards: Machine) -> None:
    expected = {(1, 50), (1, 60), (1, 9), (1, 10)}
    assert entries(cards, "Arms", box=1, id=2, a=9, other=3) == expected
    assert not cards.plan.commands["Arms"].ranges
    for a in (0, 1, 2, 9):
        assert cards.run("Arms", box=a, id=2, a=a, other=3).success
    assert cards.run("Arms", box=9, id=4, a=9, other=5, apply=False).failure == "unique_conflict"
    assert entries(cards, "Pick", box=1, id=2, a=9) == {(1, 9)}
    assert cards.run("Pick", box=1, id=2, a=0).fields == (50,)


def test_two_observed_rows_of_one_command_may_not_be_one_row_twice(cards: Machine) -> None:
    assert answer(cards.run("Crosses", box=1, id=2, one=5, two=2)) == "duplicate_target"
    assert cards.run("Crosses", box=1, id=2, one=0, two=2).success, "only one of them is written"
    assert cards.run("Crosses", box=1, id=3, one=5, two=4).success


def test_partition_and_conflict_key_are_computed_and_may_be_out_of_range(cards: Machine) -> None:
    make, pick = cards.plan.commands["Make"], cards.plan.commands["Pick"]
    assert make.partition(cards.input("Make", box=-25, id=1)) == (-2,)
    assert make.conflict_keys(cards.input("Make", box=25, id=1)) == (("Cards", (2, 2)),)
    with pytest.raises(InvalidInput):
        make.conflict_keys(cards.input("Make", box=25, id=limits.U64_MAX))
    with pytest.raises(InvalidInput):
        pick.partition(cards.input("Pick", box=limits.I64_MIN, id=1, a=1))
