"""SPARQL's terminals, longest match, and what is no token."""

from __future__ import annotations

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.errors import SparqlSyntax
from treadle.graph.query import Query
from treadle.graph.sparql.tokens import FUNCTIONS, KEYWORDS, Source, tokenize


def tokens(text: str) -> list[tuple[str, str]]:
    return [(token.kind, token.value) for token in tokenize(Source(text))]


@pytest.mark.parametrize(
    "text, expected",
    [
        ("", []),
        ("# a comment\n\t ", []),
        ("select?s", [("word", "SELECT"), ("var", "s")]),
        ("$x ?é ?1a", [("var", "x"), ("var", "é"), ("var", "1a")]),
        ("a", [("word", "a")]),
        ("ex:a.b.c.", [("name", "ex:a.b.c"), ("punct", ".")]),
        (":: : a-b:c", [("name", "::"), ("name", ":"), ("name", "a-b:c")]),
        ("ex:p\\,q%41x", [("name", "ex:p\\,q%41x")]),
        ("ex:a...", [("name", "ex:a"), ("punct", "."), ("punct", "."), ("punct", ".")]),
        ("_:b.1. _:x:y", [("blank", "b.1"), ("punct", "."), ("blank", "x"), ("name", ":y")]),
        ("<http://x/#y>", [("iri", "http://x/#y")]),
        ("<a\\u0041>", [("iri", "aA")]),
        ("?a<?b&&?c>3", [("var", "a"), ("iri", "?b&&?c"), ("number", "3")]),
        ("?a< ?b", [("var", "a"), ("punct", "<"), ("var", "b")]),
        ("?a<=?b", [("var", "a"), ("punct", "<="), ("var", "b")]),
        (
            "1.5 1 .5e1 1.e-2 +1 -1.0",
            [("number", text) for text in ["1.5", "1", ".5e1", "1.e-2", "+1", "-1.0"]],
        ),
        ("1.", [("number", "1"), ("punct", ".")]),
        ("true-1", [("word", "TRUE"), ("number", "-1")]),
        ("'a\\n\\\"'\"b'\"", [("string", 'a\n"'), ("string", "b'")]),
        ("'''a'b''c\n'''", [("string", "a'b''c\n")]),
        ('""', [("string", "")]),
        ('""""a"""', [("string", '"a')]),
        ('"x"@en-GB^^<a:b>', [("string", "x"), ("lang", "en-GB"), ("punct", "^^"), ("iri", "a:b")]),
        ('"#" <a:#b> # c', [("string", "#"), ("iri", "a:#b")]),
        ("{|}||&&!=", [("punct", value) for value in ("{", "|", "}", "||", "&&", "!=")]),
    ],
)
def test_tokens(text: str, expected: list[tuple[str, str]]) -> None:
    assert tokens(text) == expected


@pytest.mark.parametrize(
    "text, line, column, message",
    [
        ("SELECT * {\n  FOO }", 2, 3, "'FOO' is no SPARQL 1.1 keyword"),
        ("é\nSERVICE", 1, 1, "'é' is no SPARQL"),
        ("  SERVICE <x:y>", 1, 3, "SERVICE is not part of this version"),
        ("x:y\r\n service", 2, 2, "SERVICE is not part"),
        ("LATERAL", 1, 1, "write a subselect"),
        ("'abc\n'", 1, 1, "no end on its line"),
        ("'''abc", 1, 1, "no end"),
        ("'a\\qb'", 1, 3, "unknown escape"),
        ("'\\ud800'", 1, 2, "stands for no character"),
        ("'\\u0000'", 1, 2, "stands for no character"),
        ("'\\U00110000'", 1, 2, "stands for no character"),
        ("<a\\u0020b>", 1, 1, "no IRI may hold"),
        ("S\\u0045RVICE", 1, 1, "'S' is no SPARQL"),
        ("ex:a \\u0041", 1, 6, "strings and IRIs only"),
        ("a\x00", 1, 2, "NUL and lone surrogates"),
        ("'\ud800'", 1, 2, "NUL and lone surrogates"),
        ("_ x", 1, 1, "is no SPARQL 1.1 keyword"),
        ("~", 1, 1, "begins no SPARQL token"),
        ("ſELECT", 1, 1, "no SPARQL 1.1 keyword"),
        ("1.5x", 1, 4, "'x' is no SPARQL"),
    ],
)
def test_what_is_no_token(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(SparqlSyntax, match=message) as refused:
        tokenize(Source(text))
    assert (refused.value.line, refused.value.column) == (line, column)


@given(st.text(max_size=80))
def test_any_text_is_answered(text: str) -> None:
    source = Source(text)
    try:
        places = [source.place(token.start) for token in tokenize(source)]
    except SparqlSyntax as refused:
        places = [(refused.line or 0, refused.column or 0)]
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for line, column in places:
        assert 1 <= line <= len(lines) and 1 <= column <= len(lines[line - 1]) + 1


LONG = ["a" * 200_000, "ex:" + "a." * 100_000 + "~", '"""' + '"' * 100_001 + "\\", "<" + "a" * 200_000]


@pytest.mark.timeout(
    20
)  # a fraction of a second where time follows length, hours where it follows its square
@pytest.mark.parametrize("text", LONG, ids=["word", "name", "string", "iri"])
def test_time_follows_the_length(text: str) -> None:
    with pytest.raises(SparqlSyntax):
        tokenize(Source(text))


def test_every_function_is_one_that_the_store_reads() -> None:
    """Called with a blank before the arguments, which the store does not read everywhere by itself."""
    store = ox.Store()
    no_arguments = {"RAND", "NOW", "UUID", "STRUUID"}
    two = "LANGMATCHES CONTAINS STRSTARTS STRENDS STRBEFORE STRAFTER STRLANG STRDT SAMETERM REGEX SUBSTR"
    aggregates = {"COUNT", "SUM", "MIN", "MAX", "AVG", "SAMPLE", "GROUP_CONCAT"}
    for name in sorted(FUNCTIONS):
        count = (
            0 if name in no_arguments else 2 if name in two.split() else 3 if name in ("IF", "REPLACE") else 1
        )
        arguments = " , ".join(["?o"] * count)
        call = f"{name} ( {arguments} )"
        pattern = "?s ?p ?o" if name in aggregates else f"?s ?p ?o BIND ( {call} AS ?x )"
        head = f"({call} AS ?x)" if name in aggregates else "*"
        text = f"SELECT {head} {{ {pattern} }}"
        emitted = Query.read(text, now=0).text
        store.query(emitted)
    assert FUNCTIONS < KEYWORDS
