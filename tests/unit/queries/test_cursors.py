"""Cursors: opaque, bound to query, parameters, caller and history, and nobody's to make."""

from __future__ import annotations

import base64
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.effort import effort
from tests.unit.queries.conftest import CONTRACT, OTHER, QUERIES, SHOP, World
from treadle import limits
from treadle.access.caller import Caller
from treadle.engine import state as states
from treadle.engine.state import DigestKeys, State
from treadle.errors import HistoryChanged, InvalidInput, TooLarge
from treadle.queries import cursors
from treadle.queries.cursors import Binding, Place


@pytest.fixture
def cursor(world: World) -> str:
    """The cursor of the first page of five jobs."""
    for number in range(1, 6):
        world.add(number)
    found = world.db.query("Jobs", {"shop": SHOP}).next
    assert found is not None
    return found


def refused(world: World, cursor, **options) -> None:
    parameters = options.pop("parameters", {"shop": SHOP})
    acting = world.db.acting_as(options.pop("principal", "owner"), **options)
    with pytest.raises(InvalidInput) as caught:
        acting.query("Jobs", parameters, after=cursor)
    assert caught.value.code == "cursor_invalid" and caught.value.path == "after"


def test_the_same_place_gives_the_same_text(world: World, cursor: str) -> None:
    assert world.db.query("Jobs", {"shop": SHOP}).next == cursor


def test_a_cursor_says_nothing_of_the_row(world: World, cursor: str) -> None:
    raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    assert UUID(int=3).bytes not in raw and (3).to_bytes(8, "big") not in raw


def test_a_cursor_belongs_to_its_parameters(world: World, cursor: str) -> None:
    refused(world, cursor, parameters={"shop": OTHER})
    refused(world, cursor, parameters={"shop": SHOP, "state": "New"})
    assert world.db.query(
        "Jobs", {"shop": str(SHOP).upper()}, after=cursor
    ).ok  # the same value, otherwise written


def test_a_cursor_belongs_to_its_caller(world: World, cursor: str) -> None:
    refused(world, cursor, principal="other")
    refused(world, cursor, tenant=str(SHOP))
    refused(world, cursor, role="else")


def test_a_cursor_belongs_to_its_query(world: World, cursor: str) -> None:
    with pytest.raises(InvalidInput, match="another query"):
        world.db.query("States", {"shop": SHOP}, after=cursor)
    world.db.deploy(CONTRACT, queries=QUERIES.replace("take 3 after", "take 4 after"))
    refused(world, cursor)


def test_a_cursor_goes_on_after_a_new_contract(world: World, cursor: str) -> None:
    wider = CONTRACT.replace("version 1", "version 2").replace(
        "    field made: timestamp\n", "    field made: timestamp\n    field more: optional<u64>\n"
    )
    world.db.deploy(wider)
    assert [job["size"] for job in world.db.query("Jobs", {"shop": SHOP}, after=cursor).rows] == [4, 5]


def test_a_changed_cursor_is_refused(world: World, cursor: str) -> None:
    for place in range(0, len(cursor), 7):
        other = "A" if cursor[place] != "A" else "B"
        refused(world, cursor[:place] + other + cursor[place + 1 :])
    for wrong in (cursor[:-4], cursor + "AAAA", "", "?", "é", "A" * 10_000_000, cursor.upper(), 3, b"x"):
        refused(world, wrong)


def test_another_database_refuses_a_cursor(world: World, cursor: str) -> None:
    other = World(":memory:")
    refused(other, cursor)
    other.db.close()


def test_a_cursor_from_before_a_restore(world: World, cursor: str) -> None:
    """A restore raises the incarnation and keeps the digest keys."""
    with world.db._engine.store.write() as tx:
        tx.put_setting(states.HISTORY, b"2")
        states.bump(tx)
        tx.commit()
    with pytest.raises(HistoryChanged, match="start from the first page"):
        world.db.query("Jobs", {"shop": SHOP}, after=cursor)


def test_a_cursor_under_an_older_key_is_read(world: World) -> None:
    """Digest keys may be rotated: the current one writes, all readable ones read."""
    state = world.db._engine.state
    binding = Binding(b"i" * 32, b"", Caller("a"))
    old = cursors.write(Place(7, (1, None)), binding, state)
    rotated = state._replace(digests=DigestKeys(b"n" * 32, (b"n" * 32, state.digests.current)))
    assert cursors.read(old, binding, rotated) == Place(7, (1, None))
    assert cursors.write(Place(7, (1, None)), binding, rotated) != old


CELLS = st.lists(
    st.none()
    | st.booleans()
    | st.integers(-(2**126), 2**126)
    | st.text("aé\U0010ffff", max_size=9)
    | st.binary(max_size=9),
    max_size=5,
).map(tuple)


@given(st.integers(0, 2**63), CELLS, st.text(max_size=5), st.text(max_size=5))
@settings(max_examples=effort(80), deadline=None)
def test_a_place_comes_back(commit, cells, principal, tenant) -> None:
    principal, tenant = principal.replace("\0", ""), tenant.replace("\0", "")
    state = State(1, b"d" * 16, 3, "", DigestKeys(b"k" * 32, (b"k" * 32,)), None, None, None)  # type: ignore[arg-type]
    try:
        binding = Binding(b"i" * 32, b"p", Caller(principal, None, "", tenant))
        text = cursors.write(Place(commit, cells), binding, state)
    except UnicodeEncodeError:
        return  # no principal has a lone surrogate
    assert cursors.read(text, binding, state) == Place(commit, cells)


def test_an_order_by_long_values(world: World) -> None:
    state = world.db._engine.state
    binding = Binding(b"i" * 32, b"", Caller("a"))
    with pytest.raises(TooLarge, match="order by shorter ones"):
        cursors.write(Place(1, ("x" * limits.CURSOR_BYTES,)), binding, state)
