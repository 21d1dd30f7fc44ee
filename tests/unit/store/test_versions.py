"""Ordered maps with snapshots, against a model that copies everything."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from treadle.store.versions import VersionedMap

KEYS = st.integers(0, 12)


class Versions(RuleBasedStateMachine):
    """Commits, roll-backs, sweeps and snapshots in any order; a snapshot is always as it was."""

    @initialize()
    def begin(self) -> None:
        self.map: VersionedMap[int, int] = VersionedMap()
        self.sequence = 0
        self.now: dict[int, int] = {}
        self.snapshots: list[tuple[int, dict[int, int]]] = []
        self.count = 0

    @property
    def floor(self) -> int:
        return min((sequence for sequence, _ in self.snapshots), default=self.sequence)

    @rule(changes=st.lists(st.tuples(KEYS, st.booleans()), max_size=6), commit=st.booleans())
    def transact(self, changes, commit) -> None:
        after = dict(self.now)
        undo = []
        for key, put in changes:
            self.count += 1
            if put:
                after[key] = self.count
            else:
                after.pop(key, None)
            if self.map.put(key, self.count if put else None, self.sequence + 1, self.floor):
                undo.append(key)
        assert dict(self.map.items(self.sequence + 1)) == after
        if commit:
            self.sequence += 1
            self.now = after
        else:
            for key in reversed(undo):
                self.map.undo(key)

    @rule()
    def take_snapshot(self) -> None:
        self.snapshots.append((self.sequence, dict(self.now)))

    @rule()
    def end_snapshot(self) -> None:
        if self.snapshots:
            self.snapshots.pop(0)

    @rule()
    def sweep(self) -> None:
        self.map.sweep(self.floor)

    @invariant()
    def snapshots_are_as_they_were(self) -> None:
        if not hasattr(self, "map"):
            return
        for sequence, expected in [*self.snapshots, (self.sequence, self.now)]:
            found = list(self.map.items(sequence))
            assert found == sorted(expected.items())
            assert all(self.map.get(key, sequence) == expected.get(key) for key in range(13))
            assert self.map.last(sequence) == (found[-1][1] if found else None)


TestVersions = Versions.TestCase


def test_removed_keys_are_forgotten():
    numbers: VersionedMap[int, int] = VersionedMap()
    for key in range(5000):
        numbers.put(key, key, 1, 0)
    for key in range(5000):
        numbers.put(key, None, 2, 1)
    numbers.sweep(1)
    assert len(list(numbers.items(1))) == 5000
    numbers.sweep(2)
    assert list(numbers.items(2)) == []
    assert numbers._order == []
    assert numbers._nodes == {}


def test_ranges():
    numbers: VersionedMap[int, int] = VersionedMap()
    for key in range(0, 2000, 2):
        numbers.put(key, key, 1, 0)
    assert next(numbers.items(1, start=5)) == (6, 6)
    assert next(numbers.items(1, start=6)) == (6, 6)
    assert next(numbers.items(1, after=6)) == (8, 8)
    assert list(numbers.items(1, after=1998)) == []
    assert list(numbers.items(0)) == []


def test_a_reader_that_is_overtaken_by_insertions_sees_each_key_once():
    numbers: VersionedMap[int, int] = VersionedMap()
    for key in range(1000, 2000):
        numbers.put(key, key, 1, 0)
    seen = []
    for key, _ in numbers.items(1):
        seen.append(key)
        if key % 100 == 0:
            for new in range(key - 1000, key - 990):
                numbers.put(new, new, 2, 1)
    assert seen == list(range(1000, 2000))
