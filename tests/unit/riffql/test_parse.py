"""Reading query texts: any bytes give queries or diagnostics, and errors say what to write."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.calls import calls
from tests.support.effort import effort
from tests.unit.riffql.refusals import contract, found, query, unmark
from treadle.limits import DIAGNOSTICS
from treadle.riffql import compile_queries, format_queries
from treadle.riffql.language import language
from treadle.riffql.parse import parse

WHOLE = """// jobs that wait
query Waiting($shop: Job.shop, $states: list<State, 1..4>, $due: optional<timestamp>, $c: cursor) {
  one shop from Shop where shop.shop == $shop else Missing
  many job from Job
    where job.shop == shop.shop && job.state in $states && when $due { job.due <= $due } && job.size >= -0
    order by job.state desc, job.job desc take 100 after $c
  many line from Line where line.shop == job.shop && line.job == job.job && line.text != "\\u00e9" take 3
  many other from Job where other.shop == $shop group by other.state take 5
  maybe note from Job where note.shop == $shop && note.title == "x" && (note.note is not null)
  return Found {
    shop: shop { name revision },
    jobs: job { job pin reveals job.pin lines: line { text } }
    states: other { state n: count(other) urgent: any(other.urgent && other.size > 3) }
    title: note.title
  }
  outcomes Found | Missing
}
"""

SYNTAX = {
    "nothing": ("", "S005"),
    "no query": ("«S004:many»", None),
    "one equals sign": (query("many job from Job where job.shop «S004:=» $shop take 1"), None),
    "a word of SQL": (query("«S008:select» job from Job"), None),
    "limit": (query("many job from Job where job.shop == $shop «S008:limit» 10"), None),
    "clauses in another order": (
        query("many job from Job take 10 «S004:where» job.shop == $shop"),
        None,
    ),
    "no return": ("query A { many job from Job take 1 «S004:}»", None),
    "a dollar alone": (query("many job from Job where job.shop == «S003:$» take 1"), None),
    "a block comment": ("«S008:/* no */» " + query("many job from Job take 1"), None),
    "a number glued to letters": (query("many job from Job take «S003:10x»"), None),
    "a text without an end": (query('many job from Job where job.title == «S003:"abc take 1»'), None),
    "no brace at the end": ("query A { many job from Job take 1 return Found { jobs: job { job }", "S005"),
    "a path of two dots": (query("many job from Job where job..«S004:shop» == $shop take 1"), "any"),
    "something after": (query("many job from Job take 1", "jobs: job { job }") + "«S004:many»", None),
}


@pytest.mark.parametrize("case", SYNTAX)
def test_syntax_errors(case: str) -> None:
    text, code = SYNTAX[case]
    plain, expected = unmark(text)
    compiled = compile_queries(plain, contract())
    assert compiled.queries is None
    codes = [each.code for each in compiled.diagnostics]
    if code is None:
        assert found(compiled)[0] == expected[0], compiled.render()
    elif code != "any":
        assert codes == [code], compiled.render()
    assert all(each.message for each in compiled.diagnostics)


def test_one_mistake_leaves_the_rest_readable() -> None:
    """Each statement and each query has its own diagnostics."""
    text = (
        "query A { many job from where job.x == 1 take 1 one shop frm Shop return F { a: job { b } } }\n"
        "query B { maybe from Job return F { } }\n"
        "query C { many job from Job take ten return F { a: job { b } } }"
    )
    found_lines = {each.span.start.line for each in compile_queries(text, contract()).diagnostics}
    assert found_lines == {1, 2, 3}


def test_at_most_32_diagnostics() -> None:
    text = "\n".join(
        query("many job from Job where job.x == 1 take 1").replace("Try", f"Q{n}") for n in range(99)
    )
    assert len(compile_queries(text, contract()).diagnostics) == DIAGNOSTICS


def test_bounds_of_a_text() -> None:
    cases: dict[str, str | bytes] = {
        "S001": b" " * (1024 * 1024 + 1),
        "S002": "a " * 300_000,
        "S003": b"query \xff",
        "S006": query("many job from Job where " + "(" * 40 + "true" + ")" * 40 + " take 1"),
        "S007": query("many job from Job where " + " && ".join(["job.urgent"] * 2000) + " take 1"),
    }
    for code, text in cases.items():
        assert code in [each.code for each in compile_queries(text, contract()).diagnostics]


def test_a_byte_order_mark_is_skipped() -> None:
    assert compile_queries(b"\xef\xbb\xbf" + WHOLE.encode(), contract()).queries is not None


def test_the_whole_language_reads() -> None:
    compiled = compile_queries(WHOLE, contract())
    assert compiled.queries is not None, compiled.render()
    assert format_queries(format_queries(WHOLE) or "") == format_queries(WHOLE)


@given(st.text(max_size=200) | st.binary(max_size=200))
@settings(max_examples=effort(100), deadline=None)
def test_any_text_gives_queries_or_diagnostics(text) -> None:
    compiled = compile_queries(text, contract())
    assert (compiled.queries is None) == any(each.is_error for each in compiled.diagnostics)
    compiled.render()


WORDS = [
    *language().kinds,
    "job",
    "Job",
    "$shop",
    "State",
    "New",
    "3",
    '"a"',
    "\n",
    "shop",
    "$c",
    "1.5",
    "Found",
]


@given(st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join))
@settings(max_examples=effort(150), deadline=None)
def test_any_words_give_queries_or_diagnostics(text) -> None:
    compiled = compile_queries(text, contract())
    assert (compiled.queries is None) == any(each.is_error for each in compiled.diagnostics)


@given(st.data())
@settings(max_examples=effort(150), deadline=None)
def test_a_damaged_query_gives_queries_or_diagnostics(data) -> None:
    """A piece taken out, doubled or replaced anywhere."""
    start = data.draw(st.integers(0, len(WHOLE)))
    end = data.draw(st.integers(start, min(len(WHOLE), start + 30)))
    piece = data.draw(st.sampled_from(["", WHOLE[start:end] * 2, "}", "{", "$", *WORDS]))
    text = WHOLE[:start] + piece + WHOLE[end:]
    compiled = compile_queries(text, contract())
    assert (compiled.queries is None) == any(each.is_error for each in compiled.diagnostics)
    compiled.render()


def test_long_texts_take_linear_time() -> None:
    def cost(count: int) -> int:
        text = "\n".join(WHOLE.replace("Waiting", f"W{n}") for n in range(count))
        return calls(lambda: parse(text))

    parse(WHOLE)
    assert cost(80) < 8.5 * cost(10)  # eight times the text
