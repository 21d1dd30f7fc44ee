"""Which index serves which query, and the declaration that a refusal prints."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.effort import effort
from tests.unit.riffql.refusals import CONTRACT, contract, many, query
from treadle.model.query import Access
from treadle.riff import compile_contract
from treadle.riffql import compile_queries


def access(text: str) -> Access:
    compiled = compile_queries(text, contract())
    assert compiled.queries is not None, compiled.render()
    return compiled.queries[0].statements[0].access


def described(found: Access) -> str:
    """Index, fixed fields, walk, what bounds it, and what is left over."""
    bounds = " ".join(f"{one.field} {one.op}" for one in found.ranges)
    rest = " ".join(f"{one.field} {one.op}" for one in found.rest)
    fixed = " ".join(f"{one.field}{'*' if one.op == 'in' else ''}" for one in found.fixed)
    return f"{found.kind} {found.name}: {fixed} | {' '.join(found.walk)} | {bounds} | {rest}"


P = "$shop: Job.shop"

CHOICES = {
    many(""): "index : shop | job |  | ",
    many("state == State.New"): "index by_state: shop state | job |  | ",
    many("state in (State.New)"): "index by_state: shop state* | job |  | ",
    many("size > 3"): "index : shop | job |  | size >",
    many("size > 3", "order by size take 1"): "index by_size: shop | size job | size > | ",
    many("when $s { size > $s }", "order by size take 1", f"{P}, $s: optional<u64>"): (
        "index by_size: shop | size job | size > | "
    ),
    many("when $s { size == $s }", "order by size take 1", f"{P}, $s: optional<u64>"): (
        "index by_size: shop | size job |  | size =="
    ),
    many("size == 3"): "index by_size: shop size | job |  | ",
    many("note is null"): "index by_note: shop note | job |  | ",
    many("note != $n", parameters=f"{P}, $n: Job.note"): "index : shop | job |  | note !=",
    many('note prefix "a"', "order by note take 1"): "index by_note: shop | note job | note prefix | ",
    many("due is not null", "order by due take 1"): "index by_due: shop | due job |  | due is not null",
    many("due < tx.time", "order by due take 1"): "index by_due: shop | due job | due < | ",
    many(
        "job == $job && size == 1", "take 1", f"{P}, $job: Job.job"
    ): "index by_size: shop size job |  |  | ",
    many("state == State.New && state == State.Busy"): "index by_state: shop state | job |  | state ==",
    many("state in (State.New) && state == State.Busy"): "index by_state: shop state | job |  | state in",
    query(
        "maybe job from Job where job == $j && shop == $shop && urgent",
        "j: job { size }",
        f"{P}, $j: Job.job",
    ): ("key : shop job |  |  | urgent =="),
    query(
        "maybe job from Job where shop == $shop && title == $t", "j: job { size }", f"{P}, $t: Job.title"
    ): ("unique one_title: shop title |  |  | "),
    query("many job from Job where shop == $shop && urgent in (true)", "n: count(job)"): (
        "index : shop | job |  | urgent in"
    ),
    query("many job from Job where shop == $shop && size > 3", "n: count(job)"): (
        "index by_size: shop | size job | size > | "
    ),
    query("many job from Job where shop == $shop group by state take 3", "g: job { state }"): (
        "index by_state: shop | state job |  | "
    ),
    query("many job from Job where shop == $shop group by shop, state take 3", "g: job { state }"): (
        "index by_state: shop | state job |  | "
    ),
    "query All { many shop from Shop take 3 return F { s: shop } }": "index :  | shop |  | ",
}


@pytest.mark.parametrize("text", CHOICES)
def test_the_index_that_is_chosen(text: str) -> None:
    assert described(access(text)) == CHOICES[text]


def test_too_many_ranges_make_a_filter() -> None:
    """`in` leads to an index only while its values multiply to few ranges."""
    text = many("size in $sizes", "order by job take 3", f"{P}, $sizes: list<u64, 0..65>")
    assert described(access(text)) == "index : shop | job |  | size in"
    fewer = text.replace("65", "64")
    assert described(access(fewer)) == "index by_size: shop size* | job |  | "


SUGGESTED = {
    many("title == $t", parameters=f"{P}, $t: Job.title"): "index by_shop_title (shop, title)",
    many("", "order by made desc take 3"): "index by_shop_made (shop, made)",
    many('title prefix "a"', "order by title take 3"): (
        "index by_shop_title (shop, title) text_key(title, binary_utf8_v1)"
    ),
    many("urgent && state == State.New", "order by due, size take 3"): (
        "index by_shop_state_urgent_due_size (shop, state, urgent, due, size)"
    ),
    query("many job from Job where urgent take 3 after $c", "j: job { job }", ""): "index by_urgent (urgent)",
    query("many job from Job where shop == $shop group by urgent, state take 3", "g: job { urgent }"): (
        "index by_shop_urgent_state (shop, urgent, state)"
    ),
    query("many job from Job order by job take 3", "j: job { size }", ""): "index by_job (job)",
}


def extended(declaration: str) -> str:
    return CONTRACT.replace("    index by_state", f"    {declaration}\n    index by_state", 1)


def suggestion(text: str) -> str:
    compiled = compile_queries(text, contract())
    assert [each.code for each in compiled.diagnostics if each.is_error] == ["Q007"], compiled.render()
    found = re.fullmatch(r"add to entity Job: `(.*)`", compiled.diagnostics[0].help)
    assert found is not None, compiled.render()
    return found[1]


@pytest.mark.parametrize("text", SUGGESTED)
def test_the_suggested_index(text: str) -> None:
    assert suggestion(text) == SUGGESTED[text]


FIELDS = ["state", "size", "urgent", "title", "note", "owner", "due", "made", "price", "job"]


@given(
    st.lists(st.sampled_from(FIELDS), unique=True, max_size=3),
    st.lists(st.sampled_from(FIELDS), unique=True, max_size=3),
)
@settings(max_examples=effort(60), deadline=None)
def test_a_suggested_index_serves(equal, order) -> None:
    """Whatever is asked, either an index serves, or one does after the printed declaration was added."""
    conditions = " && ".join(f"{name} == ${name}" for name in equal)
    parameters = ", ".join(["$shop: Job.shop", *(f"${name}: Job.{name}" for name in equal)])
    by = f"order by {', '.join(order)} " if order else ""
    text = many(conditions, f"{by}take 3", parameters)
    if compile_queries(text, contract()).queries is not None:
        return
    compiled = compile_contract(extended(suggestion(text)))
    assert compiled.contract is not None, compiled.render()
    assert compile_queries(text, compiled.contract).queries is not None
