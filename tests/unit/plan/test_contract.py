"""The hand-made contract that these tests and the engine's use says what its text says."""

from __future__ import annotations

import msgspec

from tests.support.contracts import SOURCE, work_contract
from treadle.model.contract import decode, encode
from treadle.plan import build
from treadle.riff import compile_contract


def test_the_compiler_makes_the_same_values_of_the_text() -> None:
    compiled = compile_contract(SOURCE)
    assert compiled.contract is not None, compiled.render()
    by_hand = msgspec.structs.replace(work_contract(), identity=compiled.contract.identity)
    assert compiled.contract == by_hand


def test_a_plan_can_be_built_from_the_stored_form() -> None:
    assert set(build(decode(encode(work_contract()))).commands) == set(build(work_contract()).commands)
