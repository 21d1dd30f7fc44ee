"""What inputs feed is read off the contract: keys, evidence, fields, and which fields share values."""

from __future__ import annotations

from pathlib import Path

from tests.support.shared import ROOT
from treadle.model.contract import Contract
from treadle.riff import compile_contract
from treadle.simulation.flows import Bound, Classes, Feed, Slot, flows


def contract(name: str) -> Contract:
    path: Path = ROOT / "tests/data" / name
    made = compile_contract(path.read_bytes(), path.name)
    assert made.contract is not None
    return made.contract


LIBRARY = contract("library.riff")


def test_a_claim_s_inputs() -> None:
    (take,) = (one for one in LIBRARY.commands if one.name == "Take")
    found = flows(LIBRARY, take)
    assert found.bound == (Bound("mutate", "it", "Book", (Slot("branch"), Slot("book"))),)
    assert found.looped == ()
    assert found.feeds == {
        Slot("branch"): (Feed("key", "it", "Book", "branch"),),
        Slot("book"): (Feed("key", "it", "Book", "book"),),
        Slot("expected_revision"): (Feed("revision", "it", "Book"),),
        Slot("reader_id"): (Feed("owner", "it", "Book", "reader"),),
        Slot("seconds"): (Feed("duration", "it", "Book", "", (5, 900)),),
    }
    assert found.owner_of("it") is None, "a claim asks for no holder"


def test_who_must_hold_the_lease() -> None:
    (remove,) = (one for one in LIBRARY.commands if one.name == "Remove")
    assert flows(LIBRARY, remove).owner_of("it") == "reader"
    assert flows(LIBRARY, remove).feeds[Slot("token")] == (Feed("token", "it", "Book", "fence"),)


def test_the_elements_of_a_loop_have_slots_of_their_own() -> None:
    depot = contract("depot.riff")
    looped = {one.name: flows(depot, one) for one in depot.commands if one.loop is not None}
    assert looped
    for found in looped.values():
        assert found.looped
        slots = {slot for bound in found.looped for slot in bound.key if slot is not None}
        assert any(slot.field is not None for slot in slots)


def test_references_and_shared_inputs_make_classes() -> None:
    classes = Classes(LIBRARY, {one.name: flows(LIBRARY, one) for one in LIBRARY.commands})
    assert classes.of("Book", "branch") == classes.of("Branch", "branch")
    assert classes.of("Book", "book") != classes.of("Book", "branch")
    assert classes.of("Book", "pin") == ("Book", "pin")
