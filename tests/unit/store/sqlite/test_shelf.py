"""A map that may be larger than memory is a map, wherever its entries lie."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.model.packing import pack, unpack
from treadle.store.sqlite import shelf
from treadle.store.sqlite.shelf import Coding, Scratch, Shelf

Numbers = Shelf[tuple[Any, ...], int]
CODING: Coding[tuple[Any, ...], int] = Coding(pack, unpack, lambda value: value, lambda value: value)
KEYS = st.tuples(st.sampled_from(["a", "b", "bb"]), st.integers(0, 9))
ACTS = st.lists(
    st.tuples(st.sampled_from(["put", "pop", "get", "in", "len", "all", "of"]), KEYS, st.integers(1))
)


def filled(count: int) -> Numbers:
    made = Shelf(Scratch(), "numbers", CODING)
    for number in range(count):
        made["x", number] = number + 1
    return made


@given(ACTS, st.sampled_from([0, 1_000, 10**9]))
def test_it_is_a_map(acts: list[tuple[str, tuple[Any, ...], int]], at_hand: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shelf, "AT_HAND", at_hand)
        made: Numbers = Shelf(Scratch(), "numbers", CODING)
        model: dict[tuple[Any, ...], int] = {}
        for act, key, value in acts:
            if act == "put":
                made[key] = model[key] = value
            elif act == "pop":
                assert made.pop(key, None) == model.pop(key, None)
            elif act == "get":
                assert made.get(key, "none") == model.get(key, "none")
            elif act == "in":
                assert (key in made) == (key in model)
            elif act == "len":
                assert len(made) == len(model)
            elif act == "all":
                assert list(made) == sorted(model)
            else:
                found = dict(made.pairs(pack(key[:1])))
                assert found == {at: value for at, value in model.items() if at[0] == key[0]}
        assert dict(made) == model


@pytest.mark.parametrize("at_hand", [0, 10**9])
def test_values_may_be_replaced_and_keys_removed_while_it_is_read(
    at_hand: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shelf, "AT_HAND", at_hand)
    monkeypatch.setattr(shelf, "PAGE", 7)
    made = filled(30)
    for key, value in made.pairs():
        made[key] = value + 100
        if value % 2:
            del made[key]
    assert sorted(made.values()) == list(range(102, 132, 2))
    with pytest.raises(KeyError):
        del made["x", 0]
    with pytest.raises(KeyError):
        made["y", 0]


@pytest.mark.parametrize("count", [0, 3, 5_000])
def test_sorting(count: int) -> None:
    items = [os.urandom(8) for _ in range(count)]
    scratch = Scratch()
    assert list(scratch.sorted(items)) == sorted(items)
    assert list(scratch.sorted(iter(items + items))) == sorted(items + items)
    scratch.close()
    scratch.close()


def test_what_fits_makes_no_file_and_what_does_not_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SQLITE_TMPDIR", str(tmp_path))
    made = filled(1_000)
    assert made._scratch._connection is None
    monkeypatch.setattr(shelf, "AT_HAND", 10_000)
    for number in range(100_000):
        made["x", number] = number + 1
    assert len(made) == 100_000 and made["x", 99] == 100
    assert len(made._near) < 100
    assert not list(tmp_path.iterdir()), "the system removes it with its last user"
    made._scratch.close()
