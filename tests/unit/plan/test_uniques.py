"""Uniques: released before taken, conflicts by outcome or by name, across rows of one command."""

from __future__ import annotations

import pytest

from tests.support.machine import Machine, answer

SOURCE = """
contract Members version 1 {
  enum Phase { Fresh, Known }
  entity Member {
    key (club: u64, id: u64)
    field name: string<20>
    field badge: u64
    unique by_name (club, name)
    unique by_badge (club, badge)
    delete_policy no_inbound
  }
  aggregate Members { root Member partition_by club conflict_key (club, id) }

  command Join {
    input key: string<128> input club: u64 input id: u64 input name: string<20> input badge: u64
    idempotency_key key
    create Member(club, id) as member else Exists {}
      conflict by_name NameTaken { name: name }
    set member.name = name
    set member.badge = badge
    return Joined {}
  }
  command Rename {
    input key: string<128> input club: u64 input id: u64 input name: string<20>
    idempotency_key key
    mutate Member(club, id) as member else Missing {}
    set member.name = name
    return Renamed {}
  }
  command Swap {
    input key: string<128> input club: u64 input one: u64 input other: u64
    input first: string<20> input second: string<20>
    idempotency_key key
    mutate Member(club, one) as a else Missing {} conflict by_name FirstTaken {}
    mutate Member(club, other) as b else Missing {} conflict by_name SecondTaken {}
    set a.name = first
    set b.name = second
    return Swapped {}
  }
  command Succeed {
    input key: string<128> input club: u64 input old: u64 input id: u64
    input name: string<20> input badge: u64
    idempotency_key key
    create Member(club, id) as made else Exists {} conflict by_name NameTaken { name: name }
    delete Member(club, old) as gone else Missing {}
    set made.name = name
    set made.badge = badge
    return Succeeded {}
  }
  command Touch {
    input key: string<128> input club: u64 input id: u64 input badge: u64
    idempotency_key key
    init_or_mutate Member(club, id) as member initialize { name: "nobody", badge: 0 }
    set member.badge = badge
    return Touched {}
  }
  bulk command JoinAll {
    input key: string<128> input club: u64 input ids: list<u64, 1..9> input name: string<20>
    idempotency_key key
    for id in ids {
      create Member(club, id) as member else Exists {} conflict by_badge BadgeTaken { id: id }
      set member.name = name
      set member.badge = id + 1
    }
    return Joined {}
  }
}
"""


@pytest.fixture
def machine() -> Machine:
    made = Machine(SOURCE)
    made.put("Member", 1, 1, "ann", 10)
    made.put("Member", 1, 2, "bob", 20)
    return made


def test_a_create_takes_its_entries(machine: Machine) -> None:
    verdict = machine.run("Join", club=1, id=3, name="cat", badge=30)
    assert verdict.taken == (
        (("Member", "by_name", (1, "cat")), (1, 3)),
        (("Member", "by_badge", (1, 30)), (1, 3)),
    )
    assert verdict.released == ()


def test_a_taken_entry_answers_the_declared_outcome_or_fails_by_name(machine: Machine) -> None:
    assert machine.run("Join", club=1, id=3, name="ann", badge=30)[:2] == ("NameTaken", ("ann",))
    assert answer(machine.run("Join", club=1, id=3, name="cat", badge=20)) == "unique_conflict:by_badge"
    assert machine.run("Join", club=2, id=3, name="ann", badge=20).success, (
        "another partition is another entry"
    )


def test_a_row_may_keep_its_own_entry(machine: Machine) -> None:
    verdict = machine.run("Rename", club=1, id=1, name="ann")
    assert (verdict.success, verdict.taken, verdict.released) == (True, (), ())


def test_a_change_releases_the_old_entry_and_takes_the_new(machine: Machine) -> None:
    verdict = machine.run("Rename", club=1, id=1, name="amy")
    assert verdict.released == (("Member", "by_name", (1, "ann")),)
    assert verdict.taken == ((("Member", "by_name", (1, "amy")), (1, 1)),)
    assert answer(machine.run("Rename", club=1, id=2, name="amy")) == "unique_conflict:by_name"
    assert machine.run("Join", club=1, id=3, name="ann", badge=30).success, "a released entry is free"


def test_two_rows_may_swap_their_entries(machine: Machine) -> None:
    verdict = machine.run("Swap", club=1, one=1, other=2, first="bob", second="ann")
    assert verdict.success
    assert set(verdict.released) == {ref for ref, _ in verdict.taken}
    assert machine.view.uniques["Member", "by_name", (1, "ann")] == (1, 2)


def test_two_rows_of_one_command_cannot_take_one_entry(machine: Machine) -> None:
    assert machine.run("Swap", club=1, one=1, other=2, first="new", second="new").outcome == "SecondTaken"
    assert machine.run("Swap", club=1, one=1, other=2, first="bob", second="bob").outcome == "FirstTaken"


def test_the_conflict_of_the_binding_that_takes_is_answered(machine: Machine) -> None:
    machine.put("Member", 1, 3, "cat", 30)
    assert machine.run("Swap", club=1, one=1, other=2, first="cat", second="x").outcome == "FirstTaken"
    assert machine.run("Swap", club=1, one=1, other=2, first="x", second="cat").outcome == "SecondTaken"


def test_a_deleted_rows_entries_are_free_within_the_command(machine: Machine) -> None:
    verdict = machine.run("Succeed", club=1, old=1, id=5, name="ann", badge=10)
    assert verdict.success
    assert machine.view.uniques["Member", "by_badge", (1, 10)] == (1, 5)


def test_init_or_mutate_lists_the_entry_of_either_way(machine: Machine) -> None:
    assert machine.run("Touch", club=1, id=7, badge=70).success
    assert machine.run("Touch", club=1, id=7, badge=71).success
    assert answer(machine.run("Touch", club=1, id=8, badge=80)) == "unique_conflict:by_name"


def test_elements_of_one_command_conflict_with_each_other(machine: Machine) -> None:
    assert answer(machine.run("JoinAll", club=1, ids=(30, 31), name="dup")) == "unique_conflict:by_name"
    assert machine.run("JoinAll", club=1, ids=(9,), name="dup")[:2] == ("BadgeTaken", (9,))
    assert machine.run("JoinAll", club=1, ids=(30,), name="dup").success


def test_an_entry_that_cannot_be_computed_is_left_out_of_the_access_set(machine: Machine) -> None:
    verdict = machine.run("JoinAll", club=1, ids=(2**64 - 1,), name="x")
    assert answer(verdict) == "arithmetic"
