"""Types of the contract in Python: what is annotated, and the expression that reads a receipt's value."""

from __future__ import annotations

from typing import Final

from treadle.bindings.python_names import PythonNames
from treadle.model import types as t
from treadle.model.types import Type

_SCALARS: Final[dict[type, str]] = {
    t.Bool: "bool",
    t.I64: "int",
    t.U64: "int",
    t.Timestamp: "_t.datetime",
    t.Date: "_t.date",
    t.Uuid: "_t.UUID",
    t.Decimal: "_t.Decimal",
    t.Money: "_t.Decimal",
    t.String: "str",
    t.Bytes: "bytes",
}


def annotation(kind: Type, names: PythonNames, *, out: bool = False) -> str:
    """The annotation of a value; lists are sequences where the caller makes them, tuples going `out`."""
    match kind:
        case t.Optional():
            return f"{annotation(kind.item, names, out=out)} | None"
        case t.List():
            item = annotation(kind.item, names, out=out)
            return f"tuple[{item}, ...]" if out else f"_t.Sequence[{item}]"
        case t.Enum():
            return names.enums[kind.name].shown
        case t.Record():
            return names.entities[kind.entity].shown
        case _:
            return _SCALARS[type(kind)]


def comment(kind: Type) -> str:
    """What the contract says of a type where Python's says less; '' for enums and records."""
    bare = kind
    while isinstance(bare, t.Optional | t.List):
        bare = bare.item
    named = isinstance(bare, t.Enum | t.Record) and not isinstance(t.required(kind), t.List)
    return "" if named else str(kind)


def reader(kind: Type, names: PythonNames) -> str | None:
    """The function that makes a module's value of a receipt's; None where they are the same."""
    match kind:
        case t.Enum():
            return names.enums[kind.name].shown
        case t.Record():
            return f"_read_{names.entities[kind.entity].shown}"
        case t.List():
            inner = reader(kind.item, names)
            return "tuple" if inner is None else f"_t.each({inner})"
        case t.Optional():
            inner = reader(kind.item, names)
            return None if inner is None else f"_t.optional({inner})"
        case _:
            return None


def read(kind: Type, names: PythonNames, owner: str, name: str) -> str:
    """The expression that reads the field `name` of the mapping `owner`."""
    if isinstance(kind, t.Optional):
        value = f'{owner}.get("{name}")'
        function = reader(kind.item, names)
        return value if function is None else f"_t.maybe({function}, {value})"
    value = f'{owner}["{name}"]'
    function = reader(kind, names)
    return value if function is None else f"{function}({value})"
