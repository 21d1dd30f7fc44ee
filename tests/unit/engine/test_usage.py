"""What stands in a successor's way is what is stored: each refusal with and without what depends on it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

import treadle
from tests.support.depot import STORE, Depot, Edit, box_id, edited, without
from treadle.access.roles import Role
from treadle.engine.deployment import DeployJob
from treadle.engine.usage import Looked
from treadle.errors import ContractError
from treadle.testing import ManualClock

START = datetime(2031, 5, 1, tzinfo=UTC)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
def depot(clock: ManualClock) -> Iterator[Depot]:
    with treadle.open(":memory:", clock=clock) as db:
        yield Depot(db)


def finished(depot: Depot, number: int, kind: str = "Small") -> None:
    """A box that was added, claimed and finished, which emits its event."""
    depot.add(number, kind)
    depot.claim(number)
    depot.held("Finish", "Finished", number)


def token(depot: Depot, seconds: int = 100) -> str:
    roles = [Role("worker", commands=("AddBox",))]
    depot.db.deploy(edited(version=1), roles=roles)
    granted = depot.db.tokens.create(
        "p", role="worker", facts={"region": "north"}, valid_for=timedelta(seconds=seconds)
    )
    return granted.token.id


NO_EVENT = (without("  event Packed"), without("    emit Packed", "\n"))
NO_LABELS = (
    without("  entity Label"),
    without("  aggregate Labels", "}\n"),
    without("  bulk command AddLabels"),
    without("  reimport command"),
    without("  row policy", "}\n"),
)
NO_ODD = (("Small, Large, Odd", "Small, Large"),)
NO_FINISH_FROM_NEW = (("Finish from (New, Open)", "Finish from (Open)"),)
NO_FACT = (("principal fact region: string<20>", ""), ("text == principal.region", 'text == "x"'))
BOX = f"Box({STORE}, {box_id(1)})"

CASES: dict[str, tuple[tuple[Edit, ...], Callable[[Depot], object], str]] = {
    "an entity with rows": (NO_LABELS, lambda d: d.label(1), rf"entity Label: .*used by Label\({STORE}, "),
    "a field with rows": (
        (("    field note: optional<string<40>>\n", ""),),
        lambda d: d.add(1),
        f"used by {re.escape(BOX)}",
    ),
    "a type with rows": (
        (("note: optional<string<40>>", "note: optional<string<80>>"),),
        lambda d: d.add(1),
        "Box.note: its type",
    ),
    "a command with receipts": (
        (without("  bulk command AddLabels"),),
        lambda d: d.label(1),
        r"AddLabels: .*used by record \d+",
    ),
    "an outcome with receipts": (
        (("else BoxExists { box_id: box_id } conflict", "else StoreMissing {} conflict"),),
        lambda d: (d.add(1), d.run("AddBox", "BoxExists", box_id=box_id(1), kind="Small", weight=7)),
        "AddBox.BoxExists",
    ),
    "an event that is stored": (NO_EVENT, lambda d: finished(d, 1), r"event Packed: .*used by event \d+:0"),
    "a variant in a row": (NO_ODD, lambda d: d.add(1, "Odd"), rf"Kind.Odd: .*used by {re.escape(BOX)}"),
    "a variant in an input only": (
        NO_ODD,
        lambda d: (d.add(1), d.run("AddBox", "WeightTaken", box_id=box_id(2), kind="Odd", weight=1)),
        r"used by record \d+\)",
    ),
    "a row that may still take a way": (
        NO_FINISH_FROM_NEW,
        lambda d: d.add(1),
        rf"BoxLife.Finish: .*used by {re.escape(BOX)}\)",
    ),
    "a receipt of a way that was taken": (
        NO_FINISH_FROM_NEW,
        lambda d: finished(d, 1),
        r"BoxLife.Finish: .*used by record \d+\)",
    ),
    "a fact that a token carries": (NO_FACT, token, r"principal fact region: .*used by token "),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_refused_while_something_depends_on_it(depot: Depot, name: str) -> None:
    edits, use, says = CASES[name]
    depot.open()
    use(depot)
    head = depot.db.head
    with pytest.raises(ContractError, match=says) as caught:
        depot.db.deploy(edited(*edits))
    assert caught.value.code == "contract_incompatible"
    found = depot.db.compare(edited(*edits))
    assert not found.possible and re.search(says, "; ".join(map(str, found.refused)))
    assert depot.db.head == head and depot.db.version == 1


@pytest.mark.parametrize("name", CASES)
def test_it_is_deployed_where_nothing_does(depot: Depot, name: str) -> None:
    edits, _, _ = CASES[name]
    depot.open()
    assert depot.db.compare(edited(*edits)).possible
    assert depot.db.deploy(edited(*edits)) == 2
    depot.add(1)
    assert depot.db.verify().ok


def test_other_variants_outcomes_and_ways_do_not_count(depot: Depot) -> None:
    depot.open()
    depot.add(1, "Large")
    depot.claim(1)
    depot.held("Finish", "Finished", 1)
    edits = (*NO_ODD, ("else BoxExists { box_id: box_id } conflict", "else StoreMissing {} conflict"),
             ("    transition Start from (New) to Open\n", ""))  # fmt: skip
    found = depot.db.compare(edited(*edits))
    assert found.possible, found.refused
    again = depot.db.compare(edited(("    transition Again from (Done) to Open\n", "")))
    assert [change.where for change in again.refused] == ["BoxLife.Again"], "a finished box may still go on"


def test_at_most_three_are_named(depot: Depot) -> None:
    depot.open()
    for number in range(1, 6):
        depot.add(number, "Odd")
    (change,) = depot.db.compare(edited(*NO_ODD)).refused
    assert len(change.found) == 4 and change.found[-1] == "…"
    assert all(name.startswith("Box(") for name in change.found[:3])


def test_a_token_that_has_expired_depends_on_nothing(depot: Depot, clock: ManualClock) -> None:
    token(depot, seconds=10)
    assert not depot.db.compare(edited(*NO_FACT)).possible
    clock.advance(timedelta(seconds=11))
    assert depot.db.deploy(edited(*NO_FACT)) == 2


def test_a_pruned_receipt_depends_on_nothing(depot: Depot, clock: ManualClock) -> None:
    depot.open()
    depot.label(1)
    edits = (without("  bulk command AddLabels"),)
    assert not depot.db.compare(edited(*edits)).possible
    clock.advance(timedelta(days=400))
    depot.db.retention().receipts(older_than=timedelta(days=300))
    assert depot.db.compare(edited(*edits)).possible


def test_a_way_whose_beginning_was_dropped_counts_as_taken(depot: Depot) -> None:
    """The record before says where a row came from; where the log no longer has it, nobody can say."""
    depot.open()
    depot.add(1)
    depot.claim(1)
    early = depot.db.head[0]
    depot.held("Finish", "Finished", 1)
    (found,) = depot.db.compare(edited(*NO_FINISH_FROM_NEW)).refused[0].found
    depot.db.retention().log(through=early)
    assert depot.db.compare(edited(*NO_FINISH_FROM_NEW)).refused[0].found == (found,)
    assert depot.db.verify().ok


def test_what_was_written_since_the_look_is_looked_at_in_the_deployment(depot: Depot) -> None:
    """The look outside the lock is as of a record; the deployment itself reads what came after it."""
    depot.open()
    proposal = depot.db._proposal(edited(*NO_ODD), None, None, None, depot.db.acting_as("owner").caller)
    looked = Looked(depot.db._engine.state.require().identity, depot.db.head[0])
    depot.add(1, "Odd")
    with pytest.raises(ContractError, match=rf"Kind.Odd: .*{re.escape(BOX)}"):
        depot.db._one(DeployJob(proposal._replace(looked=looked)), None)
    stale = looked._replace(identity="00" * 32, number=10**9)
    with pytest.raises(ContractError, match="Kind.Odd"):
        depot.db._one(DeployJob(proposal._replace(looked=stale)), None)


def test_what_no_longer_holds_it_does_not_count(depot: Depot) -> None:
    """A row is looked at as it is; that it once had the variant is in receipts only."""
    depot.open()
    depot.add(1, "Odd")
    found = depot.db.compare(edited(*NO_ODD)).refused[0].found
    assert found == (BOX, "record 3")


def test_an_empty_entity_may_change_in_every_way(depot: Depot) -> None:
    depot.open()
    edits = (
        ("label_id: uuid)\n    field text: string<20>", "label_id: u64)\n    field size: u64"),
        ("set made.text = label.text", "set made.size = 1"),
        ("text == principal.region", "size == 1"),
    )
    assert depot.db.deploy(edited(*edits)) == 2
    labels = [{"store_id": STORE, "label_id": 7, "size": 3}]
    assert depot.run("AddLabels", "LabelsAdded", labels=labels).ok
    row = depot.db.row("Label", (STORE, 7))
    assert row is not None and row.fields["size"] == 1
    assert depot.db.verify().ok


def test_an_entity_that_went_may_come_back(depot: Depot) -> None:
    depot.open()
    assert depot.db.deploy(edited(*NO_LABELS)) == 2
    assert depot.db.deploy(edited(version=3)) == 3
    depot.label(1)
    assert depot.db.row("Label", (STORE, UUID(int=1))) is not None
    assert depot.db.verify().ok


def test_a_unique_that_went_may_come_back(depot: Depot) -> None:
    depot.open()
    depot.add(1)
    gone = edited(
        ("    unique by_weight (store_id, weight)\n", ""),
        (" conflict by_weight WeightTaken {}", ""),
        version=2,
    )
    assert depot.db.deploy(gone) == 2
    depot.run("AddBox", "Added", box_id=box_id(2), kind="Small", weight=1)
    assert depot.db.verify().ok
    with pytest.raises(ContractError, match="needs a migration"):
        depot.db.deploy(edited(version=3))
    with pytest.raises(ContractError, match="unique by_weight is taken by another row"):
        depot.db.deploy(edited(version=3), migration="migrate 2 to 3 { unique Box.by_weight }")
    depot.claim(2)
    depot.held("Weigh", "Weighed", 2, weight=2)
    assert depot.db.deploy(edited(version=3), migration="migrate 2 to 3 { unique Box.by_weight }") == 3
    depot.run("AddBox", "WeightTaken", box_id=box_id(3), kind="Small", weight=1)
    assert depot.db.verify().ok
