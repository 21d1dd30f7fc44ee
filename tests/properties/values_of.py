"""Strategies: types of the language, cells of a type, the user values that stand for a cell."""

from __future__ import annotations

import base64
import datetime
import uuid
from typing import Any

from hypothesis import strategies as st

from tests.unit.model.everything import CONTRACT, STATES
from treadle import limits
from treadle.model import types as t
from treadle.model.scalars import scaled
from treadle.model.values import Codec

CODEC = Codec(CONTRACT)
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)

decimals = st.integers(1, 38).flatmap(lambda p: st.integers(0, p).map(lambda s: t.Decimal(p, s)))
scalars: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from([t.BOOL, t.I64_, t.U64_, t.TIMESTAMP, t.DATE, t.UUID, t.Enum("State"), t.Money("EUR")]),
    decimals,
    st.integers(1, 40).map(t.String),
    st.integers(1, 40).map(t.Bytes),
)
items: st.SearchStrategy[Any] = st.one_of(scalars, scalars.map(t.Optional), st.just(t.Record("Thing")))


def lists(item: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.builds(
        lambda kind, low, more: t.List(kind, low, low + more), item, st.integers(0, 2), st.integers(0, 3)
    )


types: st.SearchStrategy[Any] = st.recursive(items, lists, max_leaves=4)
text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)


def texts(maximum: int) -> st.SearchStrategy[str]:
    """Text of at most `maximum` bytes of UTF-8, cut where a character ends."""
    return text.map(lambda value: value.encode()[:maximum].decode(errors="ignore"))


def cells(kind: t.Type) -> st.SearchStrategy[Any]:
    """Cells of a type, edges included."""
    match kind:
        case t.Bool():
            return st.booleans()
        case t.I64():
            return st.integers(limits.I64_MIN, limits.I64_MAX)
        case t.U64():
            return st.integers(0, limits.U64_MAX)
        case t.Timestamp():
            return st.integers(limits.TIMESTAMP_MIN, limits.TIMESTAMP_MAX)
        case t.Date():
            return st.integers(limits.DATE_MIN, limits.DATE_MAX)
        case t.Uuid():
            return st.binary(min_size=16, max_size=16)
        case t.Decimal():
            return st.integers(1 - 10**kind.precision, 10**kind.precision - 1)
        case t.Money():
            return st.integers(1 - 10**38, 10**38 - 1)
        case t.String():
            return texts(kind.maximum)
        case t.Bytes():
            return st.binary(max_size=kind.maximum)
        case t.Enum():
            return st.sampled_from(STATES)
        case t.Optional():
            return st.none() | cells(kind.item)
        case t.List():
            entries = st.lists(cells(kind.item), min_size=kind.minimum, max_size=kind.maximum)
            return entries.map(tuple)
        case t.Record():
            members = CONTRACT.entities[0].members
            return st.tuples(*(cells(field.type) for field in members))


typed_cells = types.flatmap(lambda kind: st.tuples(st.just(kind), cells(kind)))


def spellings(kind: t.Type, cell: Any) -> list[Any]:
    """User values of a scalar cell, written without the codec."""
    match kind:
        case t.I64() | t.U64():
            return [cell, str(cell)]
        case t.Timestamp():
            when = EPOCH + datetime.timedelta(microseconds=cell)
            return [when, when.isoformat(), when.isoformat().replace("+00:00", "Z")]
        case t.Date():
            day = datetime.date(1970, 1, 1) + datetime.timedelta(days=cell)
            return [day, day.isoformat()]
        case t.Uuid():
            return [uuid.UUID(bytes=cell), str(uuid.UUID(bytes=cell)), str(uuid.UUID(bytes=cell)).upper()]
        case t.Decimal() | t.Money():
            scale = kind.scale if isinstance(kind, t.Decimal) else 2
            return [scaled(cell, scale), f"{scaled(cell, scale):f}"]
        case t.Bytes():
            return [cell, base64.b64encode(cell).decode()]
        case _:
            return [cell]
