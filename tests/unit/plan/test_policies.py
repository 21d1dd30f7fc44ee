"""Row policies: hidden rows look absent; a change that meets one is denied; the owner is not policed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.machine import Machine
from treadle.errors import Denied

SOURCE = """
contract Wards version 1 {
  enum Phase { Open, Closed }
  principal fact team: u64
  principal fact wards: list<u64, 0..9>
  principal fact nick: optional<string<20>>
  entity Ward {
    key (house: u64, ward: u64)
    field team: u64
    field name: string<20>
    unique by_name (house, name)
    delete_policy cascade { relationship Bed.in_ward using Bed.by_ward maximum 3 }
  }
  entity Bed {
    key (house: u64, bed: u64)
    field ward: u64
    field note: optional<string<20>>
    index by_ward (house, ward, bed)
    reference in_ward (house, ward) -> Ward (house, ward)
    delete_policy no_inbound
  }
  entity Plain { key (house: u64, id: u64) field team: u64 }
  entity Nurse { key (house: u64, id: u64) field team: u64 index by_team (house, team) }
  entity Shift { key (house: u64, id: u64) field team: u64 }
  aggregate Wards { root Ward partition_by house conflict_key (house, ward) }
  aggregate Beds { root Bed partition_by house conflict_key (house, bed) }
  aggregate Plains { root Plain partition_by house conflict_key (house, id) }
  aggregate Nurses { root Nurse partition_by house conflict_key (house, id) }
  aggregate Shifts { root Shift partition_by house conflict_key (house, id) }

  row policy OwnTeam on Ward {
    allow read when team == principal.team
    allow create when team == principal.team
    allow update when team == principal.team && name != "fixed"
    allow delete when team == principal.team
  }
  row policy OwnBeds on Bed {
    allow read when ward in principal.wards || note is null
    allow create when ward in principal.wards
    allow delete when ward in principal.wards
  }
  row policy Nameless on Plain {
    allow read when principal.nick is null
  }
  row policy Staffed on Shift {
    allow read when exists Nurse.by_team(house, team)
    allow create when exists Nurse.by_team(house, team)
  }

  command Look {
    input house: u64 input ward: u64
    read Ward(house, ward) as seen else NoWard {}
    return Seen { name: seen.name }
  }
  command Make {
    input key: string<128> input house: u64 input ward: u64 input team: u64 input name: string<20>
    idempotency_key key
    create Ward(house, ward) as made else Exists {} conflict by_name NameTaken {}
    set made.team = team
    set made.name = name
    return Made {}
  }
  command Rename {
    input key: string<128> input house: u64 input ward: u64 input team: u64 input name: string<20>
    idempotency_key key
    mutate Ward(house, ward) as changed else NoWard {}
    set changed.name = name
    set changed.team = team
    return Renamed {}
  }
  command Ensure {
    input key: string<128> input house: u64 input ward: u64 input team: u64 input name: string<20>
    idempotency_key key
    init_or_mutate Ward(house, ward) as ensured initialize { team: 0, name: "" }
    set ensured.team = team
    set ensured.name = name
    return Ensured {}
  }
  command Consider {
    input key: string<128> input house: u64 input ward: u64 input team: u64
    idempotency_key key
    observe_or_initialize Ward(house, ward) as seen initialize { team: 0, name: "none" }
    decide seen {
      when team == 0 => no_effect
      else => apply { set seen.team = team }
    }
    return Considered { name: seen.name }
  }
  command Drop {
    input key: string<128> input house: u64 input ward: u64
    idempotency_key key
    delete Ward(house, ward) as gone else NoWard {} cascade TooManyBeds {}
    return Dropped {}
  }
  command Glance {
    input house: u64 input id: u64
    read Plain(house, id) as seen else Missing {}
    return Seen {}
  }
  command Bedding {
    input key: string<128> input house: u64 input bed: u64
    idempotency_key key
    mutate Bed(house, bed) as changed else NoBed {}
    set changed.note = "seen"
    return Done {}
  }
  command Begin {
    input key: string<128> input house: u64 input id: u64 input team: u64
    idempotency_key key
    create Shift(house, id) as made else Exists {}
    set made.team = team
    return Begun {}
  }
}
"""
TEAM_5: dict[str, Any] = {"team": 5, "wards": (1, 2), "nick": None}


@pytest.fixture
def machine() -> Machine:
    made = Machine(SOURCE)
    made.put("Ward", 1, 1, 5, "mine")
    made.put("Ward", 1, 2, 6, "theirs")
    return made


def test_the_owner_is_not_policed(machine: Machine) -> None:
    assert machine.run("Look", house=1, ward=2).fields == ("theirs",)
    assert machine.run("Make", house=1, ward=2, team=9, name="x").outcome == "Exists"


def test_a_hidden_row_looks_absent(machine: Machine) -> None:
    assert machine.run("Look", house=1, ward=1, facts=TEAM_5).fields == ("mine",)
    assert machine.run("Look", house=1, ward=2, facts=TEAM_5).outcome == "NoWard"
    assert machine.run("Rename", house=1, ward=2, team=5, name="x", facts=TEAM_5).outcome == "NoWard"
    assert machine.run("Drop", house=1, ward=2, facts=TEAM_5).outcome == "NoWard"


def test_a_create_that_meets_a_hidden_row_is_denied(machine: Machine) -> None:
    assert machine.run("Make", house=1, ward=1, team=5, name="x", facts=TEAM_5).outcome == "Exists"
    for command in ("Make", "Ensure"):
        with pytest.raises(Denied):
            machine.run(command, house=1, ward=2, team=5, name="x", facts=TEAM_5)


def test_an_observed_hidden_row_is_absent_until_it_would_be_written(machine: Machine) -> None:
    assert machine.run("Consider", house=1, ward=2, team=0, facts=TEAM_5).fields == ("none",)
    with pytest.raises(Denied):
        machine.run("Consider", house=1, ward=2, team=5, facts=TEAM_5)
    assert machine.run("Consider", house=1, ward=1, team=5, facts=TEAM_5).fields == ("mine",)


def test_a_unique_held_by_a_hidden_row_is_denied(machine: Machine) -> None:
    assert machine.run("Make", house=1, ward=3, team=5, name="mine", facts=TEAM_5).outcome == "NameTaken"
    with pytest.raises(Denied):
        machine.run("Make", house=1, ward=3, team=5, name="theirs", facts=TEAM_5)


def test_the_result_has_to_be_allowed_too(machine: Machine) -> None:
    with pytest.raises(Denied):
        machine.run("Make", house=1, ward=3, team=6, name="x", facts=TEAM_5)
    with pytest.raises(Denied):
        machine.run("Rename", house=1, ward=1, team=6, name="x", facts=TEAM_5)
    with pytest.raises(Denied):
        machine.run("Rename", house=1, ward=1, team=5, name="fixed", facts=TEAM_5)
    assert machine.run("Rename", house=1, ward=1, team=5, name="ok", facts=TEAM_5).success


def test_a_row_that_may_be_read_and_not_changed(machine: Machine) -> None:
    machine.put("Ward", 1, 7, 5, "fixed")
    with pytest.raises(Denied):
        machine.run("Rename", house=1, ward=7, team=5, name="x", facts=TEAM_5)


def test_a_cascade_that_meets_a_hidden_row_is_denied(machine: Machine) -> None:
    machine.put("Bed", 1, 11, 1, "note")
    assert machine.run("Drop", house=1, ward=1, facts=TEAM_5, apply=False).success
    with pytest.raises(Denied):
        machine.run("Drop", house=1, ward=1, facts={**TEAM_5, "wards": ()})
    machine.put("Bed", 1, 11, 1, None)
    with pytest.raises(Denied):
        machine.run("Drop", house=1, ward=1, facts={**TEAM_5, "wards": ()})  # seen, but not to be deleted


def test_an_operation_without_a_rule_is_not_allowed(machine: Machine) -> None:
    machine.put("Bed", 1, 11, 9, None)
    machine.put("Bed", 1, 12, 9, "note")
    assert machine.run("Bedding", house=1, bed=12, facts=TEAM_5).outcome == "NoBed"
    with pytest.raises(Denied):
        machine.run("Bedding", house=1, bed=11, facts=TEAM_5)


def test_a_missing_fact_allows_nothing(machine: Machine) -> None:
    assert machine.run("Look", house=1, ward=1, facts={}).outcome == "NoWard"


def test_a_rule_may_ask_an_index(machine: Machine) -> None:
    with pytest.raises(Denied):
        machine.run("Begin", house=1, id=1, team=4, facts=TEAM_5)
    machine.put("Nurse", 1, 1, 4)
    assert machine.run("Begin", house=1, id=1, team=4, facts=TEAM_5).success
    assert machine.plan.commands["Begin"].ranges


def test_an_absent_optional_fact_is_null(machine: Machine) -> None:
    machine.put("Plain", 1, 1, 5)
    assert machine.run("Glance", house=1, id=1, facts={"team": 5}).outcome == "Seen"
    assert machine.run("Glance", house=1, id=1, facts={"nick": None}).outcome == "Seen"
    assert machine.run("Glance", house=1, id=1, facts={"nick": "x"}).outcome == "Missing"
