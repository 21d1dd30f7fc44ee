"""One layout, comments kept; identity is of what a query says, not of how it is laid out."""

from __future__ import annotations

import hashlib

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.effort import effort
from tests.support.query_forms import forms
from tests.unit.riffql.refusals import contract
from tests.unit.riffql.test_parse import WHOLE
from treadle.model import query as model
from treadle.model.query import Query
from treadle.riffql import compile_queries, format_queries
from treadle.riffql.parse import parse


def compiled(text: str) -> tuple[Query, ...]:
    found = compile_queries(text, contract())
    assert found.queries is not None, found.render()
    return found.queries


TEXT = """query A($shop: Job.shop) {
  many job from Job where job.shop == $shop take 3
  return F { a: job { job } }
}"""


def test_layout_comments_and_commas_do_not_count() -> None:
    other = (
        "// before\n\nquery A (\n$shop :Job . shop ,)\n{ many job from Job // here\n"
        " where job.shop==$shop take 3\n"
        "return F { a: job { job, }, }\n} // after\n"
    )
    assert compiled(other)[0].identity == compiled(TEXT)[0].identity
    assert compiled(other)[0].text == compiled(TEXT)[0].text


def test_what_is_said_counts() -> None:
    changed = [
        TEXT.replace("take 3", "take 4"),
        TEXT.replace("A(", "B("),
        TEXT.replace("job.shop ==", "shop =="),
    ]
    identities = {compiled(text)[0].identity for text in [TEXT, *changed]}
    assert len(identities) == 4


def test_the_identity_is_the_hash_of_the_tokens() -> None:
    tokens = [
        "query",
        "A",
        "(",
        "$shop",
        ":",
        "Job",
        ".",
        "shop",
        ")",
        "{",
        "many",
        "job",
        "from",
        "Job",
        "where",
        "job",
        ".",
        "shop",
        "==",
        "$shop",
        "take",
        "3",
        "return",
        "F",
        "{",
        "a",
        ":",
        "job",
        "{",
        "job",
        "}",
        "}",
        "}",
    ]
    data = b"treadle riffql source 1\n" + "".join(f"{token}\n" for token in tokens).encode()
    one = compiled(TEXT)[0]
    assert one.identity == hashlib.sha256(data).hexdigest()
    assert one.module_hash == bytes.fromhex(one.identity) and len(one.module_hash) == 32


def test_an_identity_is_a_querys_own() -> None:
    both = compiled(TEXT + TEXT.replace("query A", "query B"))
    assert both[0].identity == compiled(TEXT)[0].identity != both[1].identity


def test_the_layout_keeps_comments() -> None:
    text = (
        "// one\n// two\nquery A($shop: Job.shop) { // three\n  many job from Job // four\n    // five\n"
        "    where job.shop == $shop take 3\n  // six\n  return F { a: job { job } } // seven\n"
        "} // eight\n\n// nine\n"
    )
    formatted = format_queries(text)
    assert formatted is not None
    assert [line.split("// ")[1] for line in formatted.split("\n") if "//" in line] == (
        ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    )
    assert format_queries(formatted) == formatted


def test_a_text_that_cannot_be_read_is_not_formatted() -> None:
    assert format_queries("query A {") is None


def test_the_one_layout() -> None:
    assert format_queries(WHOLE) == (
        """// jobs that wait
query Waiting($shop: Job.shop, $states: list<State, 1..4>, $due: optional<timestamp>, $c: cursor) {
  one shop from Shop
    where shop.shop == $shop
    else Missing
  many job from Job
    where job.shop == shop.shop && job.state in $states && when $due { job.due <= $due } && job.size >= -0
    order by job.state desc, job.job desc
    take 100 after $c
  many line from Line
    where line.shop == job.shop && line.job == job.job && line.text != "\\u00e9"
    take 3
  many other from Job
    where other.shop == $shop
    group by other.state
    take 5
  maybe note from Job
    where note.shop == $shop && note.title == "x" && (note.note is not null)
  return Found {
    shop: shop { name revision }
    jobs: job { job pin reveals job.pin lines: line { text } }
    states: other { state n: count(other) urgent: any(other.urgent && other.size > 3) }
    title: note.title
  }
  outcomes Found | Missing
}
"""
    )


@given(forms())
@settings(max_examples=effort(80), deadline=None)
def test_the_layout_changes_nothing_that_is_said(form) -> None:
    before = parse(form.text)
    formatted = format_queries(form.text)
    assert formatted is not None and before.queries == parse(formatted).queries
    assert format_queries(formatted) == formatted


@given(st.sampled_from(compiled(WHOLE) + compiled(TEXT)))
@settings(max_examples=2)
def test_a_checked_query_comes_back_from_its_stored_form(query) -> None:
    assert model.decode(model.encode(query)) == query
    assert model.encode(model.decode(model.encode(query))) == model.encode(query)
