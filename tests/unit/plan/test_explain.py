"""The plan of a command in words."""

from __future__ import annotations

import pytest

from tests.support.machine import planned
from tests.unit.plan import (
    test_bindings,
    test_decisions,
    test_deletes,
    test_invariants,
    test_loops,
    test_uniques,
)
from treadle.errors import UnknownName
from treadle.plan.explain import Section, explain

SOURCES = [
    each.SOURCE
    for each in (test_bindings, test_decisions, test_deletes, test_invariants, test_loops, test_uniques)
]


def told(source: str, command: str, section: Section) -> list[str]:
    lines = explain(planned(source), command)
    return ["  " * line.depth + line.text for line in lines if line.section == section]


@pytest.mark.parametrize("source", SOURCES)
def test_every_outcome_of_every_command_is_explained(source: str) -> None:
    plan = planned(source)
    for name, command in plan.commands.items():
        lines = explain(plan, name)
        checked = {line.outcome for line in lines if line.section == "checks"}
        failures = {outcome.name for outcome in command.outcomes.values() if not outcome.success}
        assert failures <= checked, name
        answered = [line.outcome for line in lines if line.section == "answers"]
        assert answered == list(command.outcomes)
        assert all(line.text and "\n" not in line.text for line in lines)


def test_checks_stand_in_the_order_in_which_they_decide() -> None:
    assert told(test_decisions.SOURCE, "Sit", "checks") == [
        "Seat(house, seat) is absent: NoSeat",
        "when token == 0: leave seat_row as it is",
        "otherwise: change seat_row",
        "  seat_row's revision is not revision: Stale",
        "  seat_row is not held by owner with token: NotYours",
        "  the lease has expired: Late",
        "  seat_row's revision is not revision: Stale",
        "  seat_row is not Free: TakenAlready",
    ]


def test_a_bulk_command_says_what_happens_for_each_element() -> None:
    assert told(test_loops.SOURCE, "Store", "checks") == [
        "Total(yard) is absent: NoYard",
        "for each id, in order",
        "  Crate(yard, id) is there already: CrateExists { id: id }",
        "  unless weight + id < 1000: TooHeavy { id: id }",
        "unless weight != 0: Weightless",
    ]
    assert "Crate(yard, id), for each element" in told(test_loops.SOURCE, "Store", "reads")


def test_writes_and_locks() -> None:
    assert told(test_bindings.SOURCE, "Twice", "writes") == [
        "Counter(house, id) as after, revision + 1",
        "  hits = before.hits + by",
        "event Counted { house: house, hits: after.hits, note: after.note }",
    ]
    assert (
        told(test_bindings.SOURCE, "Build", "writes")[0]
        == "Door(house, id) as door, revision + 1, or a new one"
    )
    assert told(test_bindings.SOURCE, "Twice", "locks") == [
        "partition house",
        "Counters (house, id) of Counter(house, id)",
    ]


def test_constraints_without_an_outcome_name_the_terminal_failure() -> None:
    checks = told(test_uniques.SOURCE, "Join", "checks")
    assert "unique by_name of member is taken: NameTaken { name: name }" in checks
    assert "unique by_badge of member is taken: terminal failure unique_conflict" in checks
    assert "invariant NotBelow is false: TooLow { balance: balance }" in told(
        test_invariants.SOURCE, "Open", "checks"
    )
    assert "more than 2 rows of Loan by of_book: TooManyLoans" in told(
        test_deletes.SOURCE, "DropBook", "checks"
    )


def test_tables_are_listed_with_what_was_renamed() -> None:
    assert told(test_deletes.SOURCE, "DropBoth", "tables") == ["Shelf is table Shelf", "Book is table Book"]


def test_an_unknown_command_names_the_nearest() -> None:
    with pytest.raises(UnknownName, match="nearest is Twice"):
        explain(planned(test_bindings.SOURCE), "Twic")


POLICED = """
contract Desk version 1 {
  principal fact teams: list<uuid, 0..8>
  entity Ticket {
    key (team_id: uuid, ticket_id: uuid)
    field title: string<40>
    field open: bool
    invariant Titled: open || title == title
    unique once (team_id, title)
  }
  aggregate Tickets { root Ticket partition_by team_id conflict_key (team_id, ticket_id) }
  row policy Mine on Ticket {
    allow read when team_id in principal.teams || open
    allow update when team_id in principal.teams
  }
  command Close {
    input key: uuid input team_id: uuid input ticket_id: uuid
    idempotency_key key
    mutate Ticket(team_id, ticket_id) as ticket else NoTicket {}
    set ticket.open = false
    return Closed {}
  }
  command Open {
    input key: uuid input team_id: uuid input ticket_id: uuid input title: string<40>
    idempotency_key key
    create Ticket(team_id, ticket_id) as ticket else TicketExists {}
    set ticket.open = true
    set ticket.title = title
    return Opened {}
  }
  reimport command Restore {
    input records: list<Ticket, 1..8>
    reconstitute Ticket from records else TicketExists {}
    return Restored {}
  }
}
"""


def test_row_policies_say_who_may() -> None:
    assert told(POLICED, "Close", "access") == [
        "read Ticket only when team_id in principal.teams || open; a row that this hides looks absent",
        "update Ticket only when team_id in principal.teams; else denied, and nothing is recorded",
    ]
    assert told(POLICED, "Open", "access") == ["create Ticket never; else denied, and nothing is recorded"]
    assert told(test_decisions.SOURCE, "Sit", "access") == []


def test_a_reimport_is_explained_too() -> None:
    lines = explain(planned(POLICED), "Restore")
    assert lines[0].text == "reimport command Restore, run by the operator's import alone"
    assert told(POLICED, "Restore", "checks") == [
        "Ticket is there already: TicketExists",
        "unique once is taken: terminal failure unique_conflict",
        "invariant Titled is false: terminal failure invariant_violated",
    ]
    assert [line.outcome for line in lines if line.section == "answers"] == ["TicketExists", "Restored"]


def test_a_unique_is_asked_only_where_its_fields_change() -> None:
    assert not [line for line in told(POLICED, "Close", "checks") if "unique" in line]
    assert "unique once of ticket is taken: terminal failure unique_conflict" in told(
        POLICED, "Open", "checks"
    )
    assert "  who holds unique once (team_id, title)" in told(POLICED, "Open", "reads")
