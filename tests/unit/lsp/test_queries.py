"""Texts of named queries in an editor: findings, names, what can be written, and their contract."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lsprotocol import types as lsp
from lsprotocol.types import Position, Range

from tests.support.effort import effort
from tests.support.shared import ROOT
from tests.unit.lsp.client import Editor, at
from tests.unit.lsp.test_suggest import filled
from treadle.lsp.contract_text import ContractText
from treadle.lsp.projects import contract_of
from treadle.lsp.query_text import QueryText
from treadle.lsp.query_words import QUERY_FORMS, QUERY_WORDS
from treadle.riffql.language import language
from treadle.riffql.parse import parse

PAGE = (ROOT / "docs/reference/riffql.md").read_text(encoding="utf-8")
SHOP = re.findall(r"^```riff\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[0]
QUERIES = "\n".join(re.findall(r"^```riffql\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
CONTRACT = ContractText(SHOP)

OVERVIEW = """query Overview($shop: Shop.shop_id, $state: JobState) {
  one shop from Shop where shop.shop_id == $shop else NoSuchShop
  many job from Job where job.shop_id == $shop && job.state == $state order by job.job_id take 20 after $next
  many sheet from Sheet where sheet.shop_id == job.shop_id && sheet.job_id == job.job_id take 3
  return Found {
    name: shop.name
    jobs: job { job_id title pin reveals job.pin sheets: sheet { number blank } }
  }
  outcomes Found | NoSuchShop
}
"""


def text(queries: str) -> QueryText:
    return QueryText(queries, CONTRACT)


def offset(queries: str, marked: str) -> int:
    before, after = marked.split("|")
    return queries.index(before + after) + len(before)


def test_the_examples_have_no_findings_and_every_name_is_known() -> None:
    found = text(QUERIES)
    assert found.diagnostics == (), found.compiled and found.compiled.render()
    assert text(OVERVIEW).diagnostics == ()
    named = {tuple(each.at) for each in found.names.occurrences}
    words = re.compile(r"\$?[A-Za-z_][A-Za-z0-9_]*")
    for token in found.parsed.lexed.tokens:
        if token.kind in ("IDENT", "PARAMETER") and words.fullmatch(token.text):
            assert (token.start, token.end) in named, token


@pytest.mark.parametrize(
    "marked, said",
    [
        ("$sh|op: Shop", "$shop: uuid"),
        ("== $sta|te order", "$state: JobState"),
        ("after $ne|xt", "$next: cursor"),
        ("many jo|b from", "reads `Job` by index `by_state` at `shop_id`, `state`"),
        ("query Over|view", "answers `Found`, `NoSuchShop`"),
        ("from Sh|op where", "entity Shop {"),
        ("sheet.job_|id ==", "field Sheet.job_id: uuid"),
        ("job_id ti|tle pin", "field Job.title: string<120>"),
        ("reveals job.pi|n", "secret"),
        ("else NoSuch|Shop", "an outcome of `Overview`"),
        ("ma|ny sheet", "The rows of a range of one index"),
        ("$state: Job|State", "enum JobState { Waiting, Printing, Done }"),
    ],
)
def test_what_is_said_of_a_name(marked: str, said: str) -> None:
    found = text(OVERVIEW).hover(offset(OVERVIEW, marked))
    assert found is not None and said in found.text


def test_where_names_come_from() -> None:
    found = text(OVERVIEW)
    own = found.definition(offset(OVERVIEW, "== jo|b.shop_id"))
    assert own is not None and own.here and OVERVIEW[own.at.start : own.at.end] == "job"
    other = found.definition(offset(OVERVIEW, "job_id ti|tle"))
    assert other is not None and not other.here and SHOP.startswith("title: string<120>", other.at.start)
    assert len(found.references(offset(OVERVIEW, "many jo|b from"))) == 8


@pytest.mark.parametrize(
    "marked, first",
    [
        ("|", ["query"]),
        ("query Q($shop: |", ["Shop", "Job"]),
        ("query Q($shop: Job.|", ["shop_id", "job_id", "state"]),
        ("query Q($shop: Job.shop_id) { |", ["many", "maybe", "one"]),
        ("query Q($shop: Job.shop_id) { many job from |", ["Shop", "Job", "Sheet", "Printer"]),
        ("query Q($shop: Job.shop_id) { many job from Job where |", ["$shop", "job"]),
        ("query Q($shop: Job.shop_id) { many job from Job where job.|", ["shop_id", "job_id", "state"]),
        ("query Q($shop: Job.shop_id) { many job from Job where job.sta|", ["shop_id", "job_id", "state"]),
        ("query Q($shop: Job.shop_id) { many job from Job where job.shop_id == |", ["$shop"]),
        ("query Q($shop: Job.shop_id) { many job from Job where job.shop_id == $s|", ["$shop"]),
        ("query Q { many job from Job where job.state == JobState.|", ["Waiting", "Printing", "Done"]),
        ("query Q { many job from Job where job.state == |", ["JobState.Waiting"]),
        ("query Q { many job from Job order by job.|", ["shop_id", "job_id"]),
        ("query Q { many job from Job take 5 return Found { jobs: |", ["job"]),
        ("query Q { many job from Job take 5 return Found { jobs: job { |", ["shop_id", "job_id", "state"]),
        ("query Q { many job from Job take 5 return Found { jobs: job { job_id |", ["shop_id", "job_id"]),
        ("query Q { maybe job from Job return Found { t: job.|", ["shop_id", "job_id", "state"]),
    ],
)
def test_what_can_be_written(marked: str, first: list[str]) -> None:
    place = marked.index("|")
    found = text(marked.replace("|", "")).suggestions(place)[1]
    assert [item.label for item in found][: len(first)] == first


def test_a_parameter_is_replaced_with_its_sign() -> None:
    start = "query Q($shop: Job.shop_id) { many job from Job where job.shop_id == "
    for written in ("$", "$sh"):
        extent, items = text(start + written).suggestions(len(start + written))
        assert (extent.start, extent.end) == (len(start), len(start + written))
        assert items[0].label == "$shop"


def test_every_word_has_a_meaning_and_every_form_is_of_the_grammar() -> None:
    words = {word for word in language().kinds if word[0].isalpha()}
    assert words <= set(QUERY_WORDS)
    for name, form in QUERY_FORMS.items():
        body = filled(form).replace("\\$", "$")
        whole = {
            "query": body.replace("{  }", "{ id }"),
            "return": f"query Q {{ many r from E take 1 {body.replace('{  }', '{ id }')} }}",
        }
        if name in ("one", "maybe", "many"):
            whole[name] = f"query Q {{ {body} return Found {{ }} }}"
        elif name in ("count", "sum", "min", "max"):
            whole[name] = f"query Q {{ many r from E return Found {{ n: {body} }} }}"
        if name in whole:
            assert parse(whole[name]).queries is not None, whole[name]


def test_without_a_contract_the_text_is_read_alone() -> None:
    alone = QueryText(OVERVIEW, None)
    assert alone.diagnostics == () and alone.formatted() is not None
    assert [each.code for each in QueryText("query Q { many }", None).diagnostics] == ["S004"]
    hover = alone.hover(offset(OVERVIEW, "many jo|b from"))
    assert hover is not None and "many job from Job" in hover.text


@settings(max_examples=effort(40), deadline=None)
@given(st.data())
def test_no_text_and_no_place_stops_it(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(OVERVIEW)))
    end = data.draw(st.integers(start, min(len(OVERVIEW), start + 30)))
    piece = data.draw(
        st.sampled_from(["", "{", "}", "$", "job.", '"', "//", "💡", "\x00", "where ", "return"])
    )
    changed = OVERVIEW[:start] + piece + OVERVIEW[end:]
    found = QueryText(changed, data.draw(st.sampled_from([CONTRACT, None])))
    for place in (start, start + len(piece), data.draw(st.integers(0, len(changed)))):
        extent, _ = found.suggestions(place)
        assert 0 <= extent.start <= extent.end == place
        found.hover(place)
        found.definition(place)
    assert isinstance(found.outline(), list)


# In an editor, with the contract beside.


def test_findings_follow_the_contract_as_it_is_open(tmp_path: Path) -> None:
    (tmp_path / "queries").mkdir()
    (tmp_path / "shop.riff").write_text(SHOP, encoding="utf-8")
    (tmp_path / "treadle.toml").write_text('[contract]\nsource = "shop.riff"\n')
    queries, contract = (tmp_path / "queries/jobs.riffq").as_uri(), (tmp_path / "shop.riff").as_uri()

    async def work() -> None:
        editor = Editor()
        await editor.begin(tmp_path, ["utf-32"])
        editor.open(queries, OVERVIEW, "riffq")
        assert await editor.diagnostics(queries, 1) == []
        line = OVERVIEW.splitlines().index(
            next(each for each in OVERVIEW.splitlines() if "jobs: job" in each)
        )
        column = OVERVIEW.splitlines()[line].index("title")
        spot = lsp.DefinitionParams(**at(queries, Position(line, column)))
        place = await editor.text_document_definition_async(spot)
        assert isinstance(place, lsp.Location) and place.uri == contract
        assert SHOP.splitlines()[place.range.start.line].strip() == "field title: string<120>"
        editor.open(contract, SHOP)
        await editor.diagnostics(contract, 1)
        row = SHOP.splitlines().index("    field blank: bool")
        editor.findings.pop(queries)
        editor.edit(contract, 2, Range(Position(row, 10), Position(row, 15)), "empty")
        while not (found := await editor.diagnostics(queries)):
            editor.findings.pop(queries)
        assert [each.code for each in found] == ["Q002"] and "blank" in found[0].message
        code = await editor.end()
        assert code == 0 and editor.said == []

    asyncio.run(work())


def test_which_contract_a_file_is_about(tmp_path: Path) -> None:
    (tmp_path / "app/queries").mkdir(parents=True)
    file = tmp_path / "app/queries/due.riffq"
    assert contract_of(file) is None
    (tmp_path / "app/one.riff").write_text("")
    assert contract_of(file) == tmp_path / "app/one.riff", "the only one above"
    (tmp_path / "app/two.riff").write_text("")
    assert contract_of(file) is None, "of two it cannot be known"
    (tmp_path / "treadle.toml").write_text('[contract]\nsource = "app/two.riff"\n')
    assert contract_of(file) == tmp_path / "app/two.riff", "the settings say which"
    (tmp_path / "treadle.toml").write_text("[contract\n")
    assert contract_of(file) is None
