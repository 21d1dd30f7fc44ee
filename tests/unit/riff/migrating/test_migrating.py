"""Migration texts: what is read, what is refused and with which words, and that reading is total."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.depot import SOURCE, compiled, edited
from tests.support.shared import ROOT
from treadle.model import contract as m
from treadle.model import migration as migrations
from treadle.model import types as t
from treadle.model.migration import Migration, Need
from treadle.plan import evolution
from treadle.riff.migrating import Change, Compiled, compile_migration, draft, generate
from treadle.riff.migrating.language import TABLE
from treadle.riff.migrating.parse import parse

FIELDS = """field weight: u64
    field size: u64
    field price: money<EUR>
    field label: string<40>
    field other: Kind
    field seen: timestamp
    field day: date
    field open: bool
    field secret code: optional<string<8>>
    field plain: optional<string<8>>
    field field: optional<u64>"""
SETS = """set box.weight = weight
    set box.size = 1
    set box.price = 1.00
    set box.label = "x"
    set box.other = kind
    set box.seen = tx.time
    set box.day = tx.time.date
    set box.open = true"""
AFTER = edited(
    ("field weight: u64", FIELDS),
    ("set box.weight = weight", SETS),
    ("reveals box.pin", "reveals box.pin reveals box.code"),
)
WHOLE = """migrate 1 to 2 {
  field Box.size = weight * 2 + 1
  field Box.price = 12.5
  field Box.label = "none"
  field Box.other = Kind.Large
  field Box.seen = tx.time
  field Box.day = tx.time.date
  field Box.open = state == BoxState.New && weight > 3
}
"""


def change(after: str = AFTER) -> Change:
    before, successor = compiled(SOURCE), compiled(after)
    return Change(before, successor, evolution.needs(before, successor))


def read(text: str, after: str = AFTER) -> Compiled:
    return compile_migration(text, change(after))


def good(text: str, after: str = AFTER) -> Migration:
    found = read(text, after)
    assert found.migration is not None, found.render()
    return found.migration


def test_every_type_that_has_a_literal_or_a_field_to_take_it_from() -> None:
    found = good(WHOLE)
    fills = {fill.field: fill.value for fill in found.fills}
    assert (found.before, found.after) == (1, 2)
    assert fills["price"] == m.Literal("1250", t.Money("EUR"))
    assert fills["other"] == m.Variant("Kind", "Large", t.Enum("Kind"))
    assert fills["seen"] == m.TxTime(t.TIMESTAMP)
    assert isinstance(fills["open"], m.Binary) and isinstance(fills["day"], m.DatePart)
    assert fills["label"] == m.Literal("none", t.String(40))
    assert found.covers(Need("field", "Box", "size")) and not found.covers(Need("index", "Box", "size"))
    assert migrations.decode(migrations.encode(found)) == found


def test_layout_and_comments_do_not_change_what_it_is() -> None:
    other = "// why\n" + WHOLE.replace("\n  field", " // so\n\n field")
    assert good(other).identity == good(WHOLE).identity != good(WHOLE.replace("2 + 1", "2 + 2")).identity


def test_an_optional_field_may_be_filled_and_a_keyword_may_be_a_name() -> None:
    found = good(WHOLE.replace("}\n", '  field Box.field = weight\n  field Box.plain = "a" }\n'))
    assert [fill.field for fill in found.fills][-2:] == ["field", "plain"]
    assert found.covers(Need("field", "Box", "field"))


def test_members_of_every_kind_are_named() -> None:
    after = edited(
        ("index by_kind (store_id, kind)", "index by_kind (store_id, weight) REFERENCE"),
        ("REFERENCE", "reference of_store (store_id) -> Store (store_id)"),
        ("invariant Heavy", "unique alone (store_id, box_id)\n    invariant Heavy"),
        ("invariant Fits: weight <= most", "invariant Fits: weight < most"),
    )
    text = (
        "migrate 1 to 2 { index Box.by_kind unique Box.alone reference Box.of_store invariant Stores.Fits }"
    )
    assert good(text, after).needs == (
        ("index", "Box", "by_kind"),
        ("unique", "Box", "alone"),
        ("reference", "Box", "of_store"),
        ("invariant", "Stores", "Fits"),
    )


REFUSED = {
    "": ("S005", "write `migrate`"),
    "migrate one to 2 {}": ("S004", "write a version"),
    "migrate 1 to 2 { drop Box.x }": ("S004", "`drop` cannot stand here; write `field`, `index`"),
    "migrate 1 to 2 { field Box.size 3 }": ("S004", "`3` cannot stand here; write `=`"),
    "migrate 1 to 2 { field Box.size = }": ("S004", "write an expression"),
    "migrate 1 to 2 { field Box.size = 1": ("S005", "the text ends too early"),
    "migrate 1 to 2 {} migrate 2 to 3 {}": ("S004", "one text holds one migration"),
    "migrate 1 to 2 { field Box.size = 1a }": ("S003", "`1a` is not a number"),
    "migrate 1 to 2 { field Box.size = " + "(" * 40 + "1" + ")" * 40 + " }": ("S006", "nests deeper"),
    "migrate 0 to 2 {}": ("M001", "version 1 is in force; write `1`"),
    "migrate 1 to 3 {}": ("M001", "the contract has version 2; write `2`"),
    "migrate 1 to 2 { index Box.by_kind }": ("M002", "is not among what needs a migration; remove it"),
    "migrate 1 to 2 { field Bax.size = 1 }": ("M002", "no entity `Bax` has rows"),
    "migrate 1 to 2 { field Box.sise = 1 }": ("M002", "Box has no new field `sise`; the nearest is size"),
    "migrate 1 to 2 { field Box.note = null }": ("M002", "Box.note is there already, and a migration"),
    "migrate 1 to 2 { field Box.state = BoxState.Open }": ("M002", "Box.state is there already"),
    "migrate 1 to 2 { field Box.fence = 7 }": ("M002", "Box.fence is there already"),
    "migrate 1 to 2 { field Box.size = 1 field Box.size = 2 }": ("M003", "stands twice"),
    "migrate 1 to 2 {}": ("M004", "write also `field Box.size = …`, `field Box.price = …`"),
    "migrate 1 to 2 { field Box.size = true }": ("C006", "this is bool, but u64 is needed here"),
    "migrate 1 to 2 { field Box.size = 1.5 }": ("C006", "u64 is needed"),
    "migrate 1 to 2 { field Box.size = null }": ("C006", "u64 is never null"),
    "migrate 1 to 2 { field Box.size = -1 }": ("C006", "does not fit u64"),
    "migrate 1 to 2 { field Box.size = wieght }": ("C004", "in its rows; the nearest is weight"),
    "migrate 1 to 2 { field Box.size = price }": ("C004", "Box has no field `price` in its rows"),
    "migrate 1 to 2 { field Box.seen = tx.now }": ("C004", "write `tx.time`"),
    "migrate 1 to 2 { field Box.seen = tx }": ("C004", "write `tx.time`"),
    "migrate 1 to 2 { field Box.other = Kind.Blue }": ("C004", "enum Kind has no variant `Blue`"),
    "migrate 1 to 2 { field Box.day = weight.date }": ("C004", "`.date` is the day of a timestamp"),
    "migrate 1 to 2 { field Box.open = note is null }": ("C007", "stands in row policies only"),
    "migrate 1 to 2 { field Box.plain = pin }": ("C046", "plain is not secret and would tell a secret field"),
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_refused(text: str) -> None:
    code, says = REFUSED[text]
    found = read(text)
    assert found.migration is None
    messages = [one.message for one in found.diagnostics if one.code == code]
    assert any(says in message for message in messages), found.render()


def test_every_code_of_its_own_is_explained_and_tested() -> None:
    said = (ROOT / "src/treadle/riff/migrating/check.py").read_text(encoding="utf-8")
    codes = set(re.findall(r'"(M\d{3})"', said))
    page = (ROOT / "docs/explain/evolution.md").read_text(encoding="utf-8")
    assert codes == set(re.findall(r"^\| (M\d{3}) \|", page, re.MULTILINE))
    assert codes == {code for code, _ in REFUSED.values() if code.startswith("M")}


def test_a_secret_may_become_another_secret() -> None:
    found = good(WHOLE.replace("}\n", "  field Box.code = pin }\n"))
    assert found.fills[-1].field == "code"


def test_one_run_tells_all() -> None:
    fills = "field Box.size = true index Box.no field Box.label = ) unique Box.alone"
    text = f"migrate 3 to 4 {{ {fills} }}"
    assert [one.code for one in read(text).diagnostics] == ["S004"]
    codes = [one.code for one in read(text.replace(")", "weight")).diagnostics]
    assert codes == ["M004", "M001", "M001", "C006", "M002", "C006", "M002"]


@pytest.mark.parametrize(
    "source", [b"\xff", "\ud800", b"\xef\xbb\xbf" + WHOLE.encode(), WHOLE.replace("\n", "\r\n")]
)
def test_bytes_and_line_ends(source: str | bytes) -> None:
    found = compile_migration(source, change())
    assert (found.migration is None) == (len(source) < 9)


@given(
    st.text(max_size=60)
    | st.lists(st.sampled_from(WHOLE.split() + ["}", "{", "(", "==", "||", "-", "!"]), max_size=40).map(
        " ".join
    )
)
def test_any_text_gives_a_tree_or_diagnostics(text: str) -> None:
    parsed = parse(text)
    assert (parsed.tree is None) == bool(parsed.diagnostics)
    found = compile_migration(text, change())
    assert (found.migration is None) == bool(found.diagnostics)
    found.render()


def test_the_draft_is_the_migration_once_values_are_written() -> None:
    needs = evolution.needs(compiled(SOURCE), compiled(AFTER))
    text = draft(1, 2, needs)
    assert text.startswith("migrate 1 to 2 {\n  field Box.size = …\n") and text.count("…") == 7
    lines = dict(line.split(" = ", 1) for line in WHOLE.splitlines() if " = " in line)
    completed = "\n".join(
        f"{line.split(' = ')[0]} = {lines[line.split(' = ')[0]]}" if "…" in line else line
        for line in text.splitlines()
    )
    assert good(completed).identity == good(WHOLE).identity


def test_the_table_is_the_grammars() -> None:
    assert generate.make() == TABLE.read_bytes()


def test_reading_a_migration_needs_no_lark() -> None:
    program = (
        "import sys; sys.modules['lark'] = None; from treadle.riff.migrating.parse import parse;"
        "assert parse('migrate 1 to 2 {}').tree"
    )
    subprocess.run([sys.executable, "-c", program], env={"PYTHONPATH": ":".join(sys.path)}, check=True)
