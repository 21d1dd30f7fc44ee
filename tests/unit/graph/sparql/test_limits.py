"""What is refused before the store's parser: each bound from both sides, and what is not counted."""

from __future__ import annotations

import re

import pytest

from tests.support.hostile import BOUNDS, FORMS
from treadle.errors import SparqlLimit
from treadle.graph.dataset import Index
from treadle.graph.query import Query
from treadle.graph.sparql import limits, tokens
from treadle.graph.sparql.update import compute_delta

QUERY = "SELECT * {{ {} }}"
STAR = " . ".join(f"?s <http://e/p{at}> ?v{at}" for at in range(64))
CONSTANT = " . ".join(f"<http://e/s> <http://e/p{at}> ?v{at}" for at in range(256))


def read(text: str) -> Query:
    return Query.read(text, now=0)


def update(text: str) -> None:
    compute_delta(Index(), text, now=0, labels="x")


def test_every_form_has_its_bounds() -> None:
    assert set(FORMS) == set(BOUNDS)


@pytest.mark.parametrize("name", FORMS)
def test_bounds(name: str) -> None:
    allowed, refused = BOUNDS[name]
    read(FORMS[name](allowed))
    with pytest.raises(SparqlLimit, match=r"at line 1, column \d+"):
        read(FORMS[name](refused))
    with pytest.raises(SparqlLimit):
        compute_delta(
            Index(), "INSERT { <a:a> <a:a> 1 } WHERE " + pattern(FORMS[name](refused)), now=0, labels="x"
        )


def pattern(query: str) -> str:
    """A query's pattern; a SELECT with columns as a subselect."""
    return query.removeprefix("SELECT *") if query.startswith("SELECT *") else f"{{ {query} }}"


@pytest.mark.parametrize(
    "text",
    [
        f"{{ {STAR} }} UNION {{ {STAR} }}",
        f"{STAR} OPTIONAL {{ {STAR} }} MINUS {{ {STAR} }} FILTER EXISTS {{ {STAR} }}",
        f"{{ SELECT * {{ {STAR} }} }} {{ SELECT ?s WHERE {{ {STAR} }} GROUP BY ?s HAVING(COUNT(*) > 1) }}",
        f"FILTER NOT EXISTS {{ {STAR} }} {STAR}",
        CONSTANT,
        f"{CONSTANT} OPTIONAL {{ {STAR} }}",
        "?s ?p ?o VALUES (?x ?y) { " + "(1 2)" * 10_000 + " }",
        "?s <http://f>/<http://g> ( ?a ?b ) FILTER <http://f>(?s) ?s (<http://f>|^<http://g>)* ?t",
    ],
    ids=["union", "optional", "subselects", "exists", "constant", "mixed", "values", "paths"],
)
def test_what_counts_apart(text: str) -> None:
    read(QUERY.format(text))


@pytest.mark.parametrize(
    "text",
    [
        f"{STAR} . ?x ?y ?z",
        f"{{ {STAR} }} ?x ?y ?z",
        f"{{ {{ {STAR} }} }} GRAPH ?g {{ ?x ?y ?z }}",
        f"GRAPH ?g {{ {STAR} }} {{ ?x ?y ?z }}",
        f"{STAR} ; <http://e/x> 1",
        f"{STAR} , 1",
        f"{STAR} . [ <http://e/x> 1 ]",
        f"{STAR} . ( 1 ) <http://e/x> 1",
        f"?x ?y ?z FILTER(?x) {STAR}",
        f"?x ?y ?z OPTIONAL {{ ?a ?b ?c }} {STAR}",
        f"?x ?y ?z BIND(1 AS ?q) {STAR}",
        f"?x ?y ?z VALUES ?q {{ 1 }} {STAR}",
        f"?x ?y ?z FILTER regex(?x, 'a') {STAR}",
        f"?x ?y ?z FILTER <http://f>(?x) {STAR}",
        f"{{ ?a ?b ?c }} UNION {{ ?d ?e ?f }} {STAR}",
        f"{{ SELECT * {{ ?a ?b ?c }} }} {STAR}",
        f'{{ {STAR} }} "UNION" ?y ?z',
        f"{CONSTANT} . <http://e/s> <http://e/p> 1",
        f"{CONSTANT[: len(CONSTANT) // 2].rsplit(' . ', 1)[0]} . ?x ?y ?z",
    ],
)
def test_what_counts_together(text: str) -> None:
    with pytest.raises(SparqlLimit, match="joined with one another"):
        read(QUERY.format(text))


def test_the_patterns_of_one_update_share_the_tokens() -> None:
    one = "INSERT { <a:a> <a:a> 1 } WHERE { " + "?s ?p ?o . " * 60 + "}"
    with pytest.raises(SparqlLimit, match="4096 tokens"):
        update(" ; ".join([one] * 20))
    update("INSERT DATA { " + "<a:a> <a:a> 1 . " * 5_000 + "}")


def test_templates_are_data() -> None:
    template = " . ".join(f"?s <http://e/p{at}> ?o" for at in range(2_000))
    read(f"CONSTRUCT {{ {template} }} WHERE {{ ?s ?p ?o }}")
    update(f"INSERT {{ {template} }} WHERE {{ ?s ?p ?o }}")


def test_too_many_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "TOKENS", 100)
    update("INSERT DATA { " + "<a:a> <a:a> 1 . " * 24 + "}")
    with pytest.raises(SparqlLimit, match="more than 100 tokens"):
        update("INSERT DATA { " + "<a:a> <a:a> 1 . " * 25 + "}")


def test_too_long_and_too_many() -> None:
    with pytest.raises(SparqlLimit, match="longer than"):
        read("#" * (limits.TEXT_CHARACTERS + 1))
    with pytest.raises(SparqlLimit, match="operations"):
        update("CLEAR DEFAULT;" * (limits.OPERATIONS + 1))
    with pytest.raises(SparqlLimit, match="nested deeper"):
        compute_delta(
            Index(), f"INSERT DATA {{ <a:a> <a:a> {'[ <a:a> ' * 100} 1 {']' * 100} }}", now=0, labels="x"
        )


def test_the_place_is_the_callers() -> None:
    text = "SELECT *\n{\n# comment\n  ?s ?p ?o\n  " + "\n  ".join(["OPTIONAL { ?s ?p ?o }"] * 51) + "\n}"
    with pytest.raises(SparqlLimit) as refused:
        read(text)
    assert re.search(r"line 55, column 3", str(refused.value))


@pytest.mark.parametrize(
    "expression, fits",
    [
        ("CONCAT(" + ",".join(["?o"] * 400) + ")", True),
        ("CONCAT(CONCAT(" + ",".join(["?o"] * 100) + ")," + ",".join(["?o"] * 100) + ")", True),
        ("REPLACE(?o, 'a', ?s)", True),
        ("REPLACE(REPLACE(?o, 'a', ?s), 'a', ?s)", False),
        ("REPLACE(REPLACE(REPLACE(?o, 'a', 'b'), 'b', 'c'), 'c', 'd')", True),
        ("REPLACE(?o, '.', '" + "a" * 5_000 + "')", False),
    ],
)
def test_strings_that_an_expression_builds(expression: str, fits: bool) -> None:
    for text in (f"?s ?p ?o FILTER({expression})", f"?s ?p ?o BIND({expression} AS ?x)"):
        if fits:
            read(QUERY.format(text))
        else:
            with pytest.raises(SparqlLimit, match="could build a string"):
                read(QUERY.format(text))


def test_growth_is_followed_through_subselects_and_in_any_order() -> None:
    grow = "CONCAT(?{0}, ?{0}, ?{0}, ?{0}, ?{0}, ?{0}, ?{0}, ?{0})"
    text = "SELECT * { ?s ?p ?a }"
    for inner, outer in ("ab", "ba", "ab", "ba", "ab"):
        text = f"SELECT ({grow.format(inner)} AS ?{outer}) {{ {{ {text} }} }}"
    with pytest.raises(SparqlLimit, match="could build a string"):
        read(text)
    with pytest.raises(SparqlLimit, match="could build a string"):
        read("SELECT (GROUP_CONCAT(?y) AS ?z) { SELECT (GROUP_CONCAT(?x) AS ?y) { ?s ?p ?x } }")
