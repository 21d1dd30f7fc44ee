"""Random cells of each type, with the values at which stores differ drawn often."""

from __future__ import annotations

from hypothesis import strategies as st

from treadle import limits
from treadle.model import types
from treadle.model.types import Type

I64 = st.sampled_from([limits.I64_MIN, -1, 0, 1, limits.I64_MAX]) | st.integers(
    limits.I64_MIN, limits.I64_MAX
)
U64 = st.sampled_from([0, 1, 2**53 + 1, 2**63 - 1, 2**63, 2**63 + 1, 10**19, limits.U64_MAX]) | st.integers(
    0, limits.U64_MAX
)
TEXT = st.sampled_from(
    ["", "a", "A", "ab", "é", "e\u0301", "\uffff", "\U0001f600", "\ue000", "10", "9", "%", "_"]
) | (st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8))
BLOB = st.sampled_from([b"", b"\0", b"\0\0", b"\0\xff", b"\xff", b"a"]) | st.binary(max_size=8)
VARIANTS = st.sampled_from(["Blue", "Green", "Red", "b", "_x"])


def unscaled(precision: int) -> st.SearchStrategy[int]:
    most = 10**precision - 1
    return st.sampled_from([-most, -1, 0, 1, 10, most]) | st.integers(-most, most)


SCALARS: dict[str, tuple[Type, st.SearchStrategy]] = {
    "bool": (types.BOOL, st.booleans()),
    "i64": (types.I64_, I64),
    "u64": (types.U64_, U64),
    "timestamp": (types.TIMESTAMP, st.integers(limits.TIMESTAMP_MIN, limits.TIMESTAMP_MAX)),
    "date": (types.DATE, st.integers(limits.DATE_MIN, limits.DATE_MAX)),
    "uuid": (types.UUID, st.binary(min_size=16, max_size=16)),
    "decimal": (types.Decimal(38, 4), unscaled(38)),
    "money": (types.Money("EUR"), unscaled(38)),
    "string": (types.String(100), TEXT),
    "bytes": (types.Bytes(100), BLOB),
    "enum": (types.Enum("Colour"), VARIANTS),
}
"""By name: a type, and its cells."""


def cells_of(kind: Type) -> st.SearchStrategy:
    """Cells of any type."""
    if isinstance(kind, types.Optional):
        return st.none() | cells_of(kind.item)
    if isinstance(kind, types.List):
        return st.lists(cells_of(kind.item), min_size=kind.minimum, max_size=min(kind.maximum, 4)).map(tuple)
    for known, strategy in SCALARS.values():
        if type(known) is type(kind) and not isinstance(kind, types.Decimal):
            return strategy
    assert isinstance(kind, types.Decimal)
    return unscaled(kind.precision)
