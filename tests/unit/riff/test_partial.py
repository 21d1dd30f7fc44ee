"""What can be made of a contract that is being written: its declarations, and the parser at a place."""

from __future__ import annotations

import pytest

from treadle.riff import syntax as s
from treadle.riff.parse import parse
from treadle.riff.partial import Block, before, open_blocks, salvage, unfinished

WHOLE = """contract Lamps version 3 {
  enum Colour { Red, Green }
  entity Lamp { key (lamp_id: uuid) field colour: Colour field watts: u64 }
  aggregate Lamps { root Lamp partition_by lamp_id conflict_key (lamp_id) }
  command Show {
    input lamp_id: uuid
    input least: u64
    read Lamp(lamp_id) as lamp else NoLamp {}
    require Bright: lamp.watts >= least else Dim {}
    return Shown { lamp: lamp }
  }
}
"""


def names(text: str) -> list[str]:
    found = salvage(parse(text))
    return [node.name.text for node in found.declarations] if found is not None else []


def command(text: str) -> s.CommandDecl:
    found = salvage(parse(text))
    assert found is not None
    return next(node for node in found.declarations if isinstance(node, s.CommandDecl))


def test_a_whole_text_is_what_it_is() -> None:
    parsed = parse(WHOLE)
    assert salvage(parsed) is parsed.tree


@pytest.mark.parametrize(
    "old, new",
    [
        ("input least: u64", "input least:"),
        ("lamp.watts >= least", "lamp."),
        ("return Shown", "retrun Shown"),
        ("  }\n}\n", ""),
        ("field watts: u64", "field watts: string<"),
        ("contract Lamps", "{ ( contract Lamps"),
        ("require Bright:", "set lamp. require Bright:"),
    ],
)
def test_what_is_broken_is_left_out_and_nothing_else(old: str, new: str) -> None:
    assert old in WHOLE
    assert names(WHOLE.replace(old, new, 1)) == ["Colour", "Lamp", "Lamps", "Show"]


def test_a_broken_clause_leaves_the_others() -> None:
    found = command(WHOLE.replace("require Bright: lamp.watts", "require Bright: 1x ! lamp"))
    kinds = [type(clause) for clause in found.clauses]
    assert kinds == [s.Input, s.Input, s.Binding, s.Return]


def test_bad_tokens_are_made_good() -> None:
    found = command(WHOLE.replace("lamp.watts >= least", "lamp.watts >= 12abc & true"))
    (require,) = [clause for clause in found.clauses if isinstance(clause, s.Require)]
    assert isinstance(require.expression, s.Chain) and require.expression.steps[0].operator == "&&"


@pytest.mark.parametrize(
    "text", ["", "x", "{" * 50, "\0", "contract", "contract X version 1 {" + "(" * 90, "x" * 2_000_000]
)
def test_any_text_gives_something_or_nothing(text: str) -> None:
    parsed = parse(text)
    found = salvage(parsed)
    assert found is None or found.declarations == ()
    driver = before(parsed.lexed, len(text))
    assert driver is None or open_blocks(driver)


def blocks(text: str) -> list[Block]:
    driver = before(parse(text).lexed, len(text))
    assert driver is not None
    return open_blocks(driver)


def test_the_blocks_that_are_open() -> None:
    found = blocks(WHOLE[: WHOLE.index(" >= least")])
    assert [block.kind for block in found] == ["", "CONTRACT", "COMMAND"]
    assert found[2].name is not None and found[2].name.text == "Show"
    assert [type(member) for member in found[2].members] == [s.Input, s.Input, s.Binding]
    assert len(found[1].members) == 3


def test_the_word_at_the_place_is_not_read() -> None:
    text = WHOLE[: WHOLE.index("Lamp(lamp_id)") + 2]
    (word,) = blocks(text)[2].tail
    assert word.text == "read", "`La` is being written"


def test_an_unfinished_command_has_what_its_open_blocks_bind() -> None:
    text = (
        WHOLE[: WHOLE.index("    require")]
        + "decide lamp { when true => apply { create Lamp(lamp_id) as other else X {} set other."
    )
    last = unfinished(blocks(text), len(text))
    assert isinstance(last, s.CommandDecl)
    assert [clause.name.text for clause in last.clauses if isinstance(clause, s.Binding)] == ["lamp", "other"]
    assert unfinished(blocks("contract X version 1 {"), 22) is None
