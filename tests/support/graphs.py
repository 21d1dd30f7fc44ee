"""Databases with a graph for tests: the release workflow in them, and its advances as update texts."""

from __future__ import annotations

from collections.abc import Iterable

import treadle
from tests.support.guarded import block
from tests.support.workflows import NAMES, Advance, Release
from treadle.database import Database
from treadle.graph.client import texts
from treadle.graph.live import stored
from treadle.graph.query import Rows
from treadle.graph.terms import Quad

ENFORCED = treadle.GraphOptions(enforce_workflows=True)
PRINCIPAL = "tests"


def insert(quads: Iterable[Quad]) -> str:
    """The update that inserts statements."""
    return f"INSERT DATA {{ {block(quads)} }}"


def advance_text(advance: Advance) -> str:
    """The update by which a client advances a run: compare and set, with the signed event."""
    old = advance.removed() | advance.of.about(advance.run, (NAMES.run_of, advance.of.plan))
    return texts.move(advance.removed(), advance.added(), old, advance.of.graph)


def loop(release: Release, revision: int) -> Advance:
    """The advance of a run that goes between Draft and Review for ever."""
    if revision % 2 == 0:
        return release.submit(from_revision=str(revision))
    return release.advance("reject", "Review", "Draft", revision=revision)


def table(db: Database) -> set[Quad]:
    """The statements as the statement table holds them."""
    with db._engine.store.read() as tx:
        return set(map(stored.read_quad, tx.quads()))


def index(db: Database) -> set[Quad]:
    """The statements as the index holds them, caught up."""
    return set(db.graph.core.live.index().quads())


def state_of(db: Database, release: Release = Release()) -> tuple[str, str]:
    """State and revision of a release's run."""
    found = {quad.p: str(quad.o) for quad in table(db) if quad.s == release.run and quad.g == release.graph}
    return found[NAMES.current_state], found[NAMES.current_revision]


def rows(db: Database) -> int:
    """How many statements a query finds in the default graph."""
    found = db.graph.query("SELECT * { ?s ?p ?o }")
    assert isinstance(found, Rows)
    return len(found)
