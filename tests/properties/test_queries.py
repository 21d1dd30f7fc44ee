"""Every form of a named query, over random rows, on every store: the same as an evaluation over lists."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice, pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, note, settings
from hypothesis import strategies as st

from tests.support.effort import effort
from tests.support.query_contract import SOURCE, entity, few
from tests.support.query_forms import REVISION, Form, Overflow, Rows, forms
from tests.support.stores import KINDS
from treadle.database import Database
from treadle.engine.core import Engine
from treadle.errors import TooLarge
from treadle.model.facts import RowChange
from treadle.store.ids import SystemIds
from treadle.testing import ManualClock


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: kind.name)
def db(request, tmp_path_factory) -> Iterator[Database]:
    """A database of each kind with the contract; the examples replace its rows and queries."""
    kind = request.param(tmp_path_factory.mktemp("queries"))
    kind.skip_unless_available()
    clock = ManualClock(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
    store = kind.open()
    with Database(Engine(store, clock, SystemIds(), maximum_jump=None), "test") as opened:
        opened.deploy(SOURCE)
        yield opened
    kind.remove()


def row_of(name: str) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.tuples(*(st.sampled_from(few(member.type)) for member in entity(name).members))


def by_key(count: int) -> Any:
    return lambda rows: list({cells[:count]: cells for cells in rows}.values())


def by_unique(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return list({(cells[0], cells[7]): cells for cells in rows}.values())


ITEMS = st.lists(row_of("Item"), max_size=30).map(by_key(2)).map(by_unique)
LINES = st.lists(row_of("Line"), max_size=20).map(by_key(3))


def replace(db: Database, rows: Rows) -> None:
    """Make these all rows of the database, beside the log."""
    with db._engine.store.write() as tx:
        tables = db._engine.state.require().tables
        for name, cells in rows.items():
            table = tables[name]
            old = tx.scan(table, None, 1_000)
            gone = [RowChange(name, row.cells[: table.key_count], row, 9, None) for row in old]
            tx.write_rows(table, gone, [1] * len(gone))
            new = [RowChange(name, c[: table.key_count], None, REVISION, c) for c in cells]
            tx.write_rows(table, new, [1] * len(new))
            if name == "Item":
                tx.write_uniques(
                    [("Item", "slug", (row.cells[0], row.cells[7])) for row in old],
                    [(("Item", "slug", (c[0], c[7])), c[:2]) for c in cells],
                )
        tx.commit()


def shown(db: Database, form: Form) -> dict[str, Any]:
    """The parameters as Python values."""
    codec = db._engine.state.require().codec
    query = db._engine.state.queries.get("Random")
    return {one.name: codec.python(one.type)(form.parameters[one.name]) for one in query.parameters}


def answered(db: Database, form: Form) -> tuple[list[Any], list[int]] | None:
    """The record with all pages in one, and how many rows each page had; None for Missing."""
    pages = list(islice(db.pages("Random", shown(db, form)), 100))
    assert pages[-1].next is None
    first = pages[0]
    if first.outcome == "Missing":
        assert first.fields == {} and first.next is None
        return None
    assert {page.outcome for page in pages} == {"Found"}
    for before, after in pairwise(pages):
        assert after.after_commit == before.commit <= after.commit
    record = list(first._record)
    sizes: list[int] = []
    query = first.query
    for place, member in enumerate(query.members):
        row = getattr(member.value, "row", "")
        if query.statement(row).pages:
            record[place] = [each for page in pages for each in page._record[place]]
            sizes = [len(page._record[place]) for page in pages]
    if not sizes:
        assert len(pages) == 1
    first.to_json()
    return record, sizes


@settings(
    max_examples=effort(60),
    deadline=None,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
    ],
)
@given(forms(), ITEMS, LINES)
def test_a_query_means_what_lists_of_rows_say(db, form, items, lines) -> None:
    rows = {"Item": items, "Line": lines}
    replace(db, rows)
    note(form.text)
    note(str(form.parameters))
    db.deploy(SOURCE, queries=form.text)
    try:
        expected = form.answer(rows)
    except Overflow:
        event("a sum overflows")
        with suppress(TooLarge):  # the list may end before the row whose sum it is
            answered(db, form)
        return
    got = answered(db, form)
    if expected is None or got is None:
        assert got is None and expected is None
        return
    record, sizes = got
    wanted, paged = expected
    assert record == wanted
    if paged is not None:
        assert all(size == form.take for size in sizes[:-1]) and sizes[-1] <= form.take
        event(f"{min(len(sizes), 4)} pages")
