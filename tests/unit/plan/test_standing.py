"""What requirements and decisions say of a row: what the command answers, wherever that is said for sure."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.view import DictView
from treadle.model.contract import Contract
from treadle.model.facts import Row, Sealed
from treadle.plan import build
from treadle.plan.answers import Answer, answers
from treadle.riff import compile_contract

SOURCE = """
contract Doors version 1 {
  enum State { Waiting, Open, Shut }

  entity Door {
    key (id: u64)
    field state: State
    field due: timestamp
    field count: u64
  }
  aggregate Doors { root Door partition_by id conflict_key (id) }

  command Claim {
    input request_key: string<64>
    input id: u64
    idempotency_key request_key
    mutate Door(id) as x else Missing {}
    require Waiting: x.state == State.Waiting else Closed {}
    require Due: x.due <= tx.time else Early {}
    set x.count = x.count + 1
    return Claimed {}
  }

  command Ask {
    input request_key: string<64>
    input id: u64
    input least: u64
    idempotency_key request_key
    mutate Door(id) as x else Missing {}
    require Enough: x.state == State.Waiting && x.count >= least else Few {}
    set x.count = x.count + 1
    return Asked {}
  }

  command Turn {
    input request_key: string<64>
    input id: u64
    idempotency_key request_key
    mutate Door(id) as x else Missing {}
    decide x {
      when x.state == State.Shut => reject Locked {}
      when x.count - 3 >= 2 => no_effect
      else => apply { set x.state = State.Open }
    }
    require Opened: x.state == State.Open else NotOpen {}
    return Turned {}
  }
}
"""
COMPILED = compile_contract(SOURCE).contract
assert COMPILED is not None
CONTRACT: Contract = COMPILED
PLAN = build(CONTRACT)
NOW = 1_700_000_000_000_000


def answered(state: str, due: int, count: int) -> dict[str, tuple[Answer, Any]]:
    """What is said of each command, beside what it does answer."""
    row = Row(7, (1, state, due, count))
    view = DictView(CONTRACT)
    view.put("Door", row.cells, row.revision)
    found = {}
    for answer in answers(PLAN, "Door", row, NOW):
        plan = PLAN.commands[answer.command]
        given = {"request_key": "k", "id": 1, "least": 0}
        verdict = plan.evaluate(tuple(given[one.name] for one in plan.inputs), Sealed(NOW), view)
        found[answer.command] = (answer, verdict.failure or verdict.outcome)
    return found


@pytest.mark.parametrize("state", ["Waiting", "Open", "Shut"])
@pytest.mark.parametrize("due", [NOW - 1, NOW, NOW + 1])
@pytest.mark.parametrize("count", [0, 3, 5])
def test_what_is_said_for_sure_is_what_the_command_answers(state: str, due: int, count: int) -> None:
    found = answered(state, due, count)
    for answer, truth in found.values():
        if answer.certain:
            assert answer.outcome == truth
    assert found["Claim"][0].certain, "the row and the time decide it alone"
    assert found["Ask"][0].certain == (state != "Waiting"), "only then its input is not asked for"


def test_a_requirement_says_itself() -> None:
    claim, _ = answered("Shut", NOW, 0)["Claim"]
    assert (claim.outcome, claim.certain, claim.success) == ("Closed", True, False)
    assert claim.reason == "requirement Waiting does not hold: x.state == State.Waiting"


def test_an_arm_decides_and_one_that_changes_the_row_leaves_the_rest_open() -> None:
    turn, _ = answered("Shut", NOW, 0)["Turn"]
    assert (turn.outcome, turn.certain) == ("Locked", True) and "State.Shut" in turn.reason
    turn, _ = answered("Waiting", NOW, 0)["Turn"]
    assert (turn.outcome, turn.certain) == ("arithmetic", True), "u64 does not go below zero"
    turn, _ = answered("Waiting", NOW, 5)["Turn"]
    assert (turn.outcome, turn.certain) == ("NotOpen", True)
    turn, truth = answered("Waiting", NOW, 3)["Turn"]
    assert (turn.outcome, turn.certain, truth) == ("Turned", False, "Turned")
