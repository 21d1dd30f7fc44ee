"""Query plans of SQLite, pinned: every statement seeks in its index, nothing scans, nothing sorts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.support.effort import effort
from tests.support.query_contract import SOURCE
from tests.support.query_forms import Form, forms
from treadle.database import Database
from treadle.engine.core import Engine
from treadle.errors import TooLarge
from treadle.model.facts import RowChange
from treadle.store.ids import SystemIds
from treadle.store.sqlite import open_database
from treadle.testing import ManualClock

SEEKS = re.compile(r'SEARCH \w+ USING (COVERING )?(INDEX "?[\w.]+"?|PRIMARY KEY) \(.+\)')
AROUND = {"CO-ROUTINE (subquery-1)", "SCAN (subquery-1)", "MATERIALIZE (subquery-1)"}
"""Counting up to a bound reads a subquery that seeks."""


class Explaining:
    """A connection that notes the plan of each statement on entity tables."""

    def __init__(self, connection: Any, plans: list[tuple[str, list[str]]]) -> None:
        self._connection = connection
        self._plans = plans

    def execute(self, text: str, values: Any = ()) -> Any:
        if "treadle_" not in text.split(" FROM ")[-1]:
            lines = [row[3] for row in self._connection.execute("EXPLAIN QUERY PLAN " + text, values)]
            self._plans.append((text, lines))
        return self._connection.execute(text, values)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


@pytest.fixture(scope="module")
def db(tmp_path_factory) -> Iterator[Database]:
    store = open_database(str(tmp_path_factory.mktemp("plans") / "work.db"))
    clock = ManualClock(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
    with Database(Engine(store, clock, SystemIds(), maximum_jump=None), "test") as opened:
        opened.deploy(SOURCE)
        fill(opened)
        yield opened


def fill(db: Database) -> None:
    """Enough rows for lists to have pages."""
    table = db._engine.state.require().tables["Item"]
    rows = [
        (
            0,
            n,
            n % 2 == 0,
            n,
            n,
            n,
            0,
            bytes([n]) * 16,
            n,
            n,
            f"n{n}",
            b"",
            "Red",
            (),
            None,
            n,
            n,
            n,
            n,
            None,
            n,
            "a",
            b"",
            "Blue",
            "t",
        )
        for n in range(20)
    ]
    with db._engine.store.write() as tx:
        tx.write_rows(
            table, [RowChange("Item", cells[:2], None, 1, cells) for cells in rows], [1] * len(rows)
        )
        tx.commit()


@pytest.fixture
def plans(db, monkeypatch) -> list[tuple[str, list[str]]]:
    """The plans of what is asked while the test runs."""
    noted: list[tuple[str, list[str]]] = []
    store: Any = db._engine.store
    enter = store.enter_read

    def explained() -> Any:
        connection, tx = enter()
        tx._db = Explaining(connection, noted)
        return connection, tx

    monkeypatch.setattr(store, "enter_read", explained)
    return noted


def asked(db: Database, query: str, parameters: dict[str, Any]) -> None:
    db.deploy(SOURCE, queries=query)
    codec = db._engine.state.require().codec
    named = next(iter(db._engine.state.queries))
    given_ = {one.name: codec.python(one.type)(parameters[one.name]) for one in named.parameters}
    try:
        for count, _ in enumerate(db.pages(named.name, given_)):
            if count == 3:
                break
    except TooLarge:
        pass


def check(plans: list[tuple[str, list[str]]]) -> None:
    for text, lines in plans:
        assert all(SEEKS.fullmatch(line) or line in AROUND for line in lines), (text, lines)
        assert sum("SEARCH" in line for line in lines) == 1, (text, lines)


PINNED = {
    "many i from Item where i.shop == $s order by i.id take 3 after $c": "PRIMARY KEY (shop=?)",
    "many i from Item where i.shop == $s && i.id > 3 order by i.id desc take 3": (
        "PRIMARY KEY (shop=? AND id>?)"
    ),
    "many i from Item take 3 after $c": "PRIMARY KEY (shop>?)",
    "many i from Item where i.shop == $s && i.colour == Colour.Red order by i.big take 3": (
        "INDEX Item.by_colour (shop=? AND colour=?)"
    ),
    "many i from Item where i.shop == $s && colour in (Colour.Red, Colour.Blue) order by i.big take 3": (
        "INDEX Item.by_colour (shop=? AND colour=?)"
    ),
    'many i from Item where i.shop == $s && i.name prefix "n" order by i.name take 3': (
        "INDEX Item.by_name (shop=? AND name>? AND name<?)"
    ),
    "many i from Item where i.o_colour is null order by i.o_at, i.o_big take 3": (
        "INDEX Item.by_o (o_colour=?)"
    ),
    "many i from Item order by i.o_colour, i.o_at, i.o_big take 3": "INDEX Item.by_o (o_colour=?)",
    "many i from Item where i.flag && i.o_amount is not null order by i.o_amount take 3 after $c": (
        "INDEX Item.by_present (flag=? AND o_amount>?)"
    ),
}


@pytest.mark.parametrize("statement", PINNED)
def test_the_pinned_plan(db, plans, statement: str) -> None:
    parameters = "($s: u64)" if "$s" in statement else ""
    asked(db, f"query One{parameters} {{ {statement} return F {{ i: i {{ id }} }} }}", {"s": 0})
    check(plans)
    first = plans[0][1][0]
    assert first.removeprefix("SEARCH Item USING ").replace('"', "") == PINNED[statement], first


def test_the_plan_of_aggregates(db, plans) -> None:
    query = """query One($s: u64) {
      many i from Item where i.shop == $s group by i.colour, i.big take 3 after $c
      many j from Item where j.shop == $s
      return F { g: i { colour n: count(i) s: sum(i.big) } n: count(j) most: max(j.big) s: sum(j.price) }
    }"""
    asked(db, query, {"s": 0})
    check(plans)
    texts = [text for text, _ in plans]
    assert any("GROUP BY" in text for text in texts) and any("count(*)" in text for text in texts)


@settings(
    max_examples=effort(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(forms())
def test_no_query_scans_or_sorts(db, plans, form: Form) -> None:
    plans.clear()
    asked(db, form.text, form.parameters)
    check(plans)
