"""The stores that the suite runs on. A store that is not installed here is skipped with its reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.support.stores import KINDS, StoreKind
from treadle.ports.store import Store


@pytest.fixture(params=KINDS, ids=lambda kind: kind.name)
def kind(request, tmp_path) -> StoreKind:
    """A kind of store, in a place of its own."""
    made: StoreKind = request.param(tmp_path)
    made.skip_unless_available()
    return made


@pytest.fixture
def open_store(kind: StoreKind) -> Iterator[Callable[[], Store]]:
    """Opens the test's database, as often as it likes; all handles are closed in the end."""
    opened: list[Store] = []

    def open_() -> Store:
        opened.append(kind.open())
        return opened[-1]

    yield open_
    for store in opened:
        store.close()
    kind.remove()


@pytest.fixture
def store(open_store) -> Store:
    """A new, empty database."""
    return open_store()
