"""Encoders of records as straight-line code.

Every command runs several record encoders, and a loop over a record's fields spends more time on the
loop than on the fields: ten fields took 1.6 µs in a loop over closures and take 0.5 µs as one expression
(`bench/encode.py`, CPython 3.11). So the body of a record's encoder is written out once, when its type
is compiled, as `dataclasses` writes `__init__`. The text holds nothing but numbered names: field names,
tags and tables come in through the namespace, so no declaration can become code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast


class Fragment(NamedTuple):
    """How one cell is written: expressions whose values are joined.

    In `parts` and `before` (a statement that runs first), `{c}` is the cell and `{n}` a suffix that keeps
    this fragment's names apart from those of others; `names` is what they stand for, without the suffix.
    """

    parts: tuple[str, ...]
    names: Mapping[str, object]
    before: str = ""


class Slot(NamedTuple):
    """A cell to write: its position in the tuple, its fragment, and how it may be absent.

    `absent` is None for a cell that is always there, else the test that says it is not, with `{c}`.
    """

    position: int
    fragment: Fragment
    absent: str | None = None


NONE: Final = "{c} is None"
FALSY: Final = "not {c}"


def _optional(lines: list[str], number: int, parts: Sequence[str], before: str, absent: str) -> str:
    lines.append(f"    if {absent}: o{number} = b''")
    lines.append("    else:")
    if before:
        lines.append(f"        {before}")
    lines.append(f"        o{number} = {' + '.join(parts)}")
    lines.append("        count += 1")
    return f"o{number}"


def compile_encoder(heads: Sequence[bytes], width: int, slots: Sequence[Slot]) -> Callable[[Any], bytes]:
    """A function from a tuple of `width` cells to bytes: a head, then each slot in order.

    `heads[n]` stands first where n slots are present. Cells at positions without a slot are not looked at.
    """
    names: dict[str, object] = {"heads": tuple(heads), "join": b"".join}
    always = sum(slot.absent is None for slot in slots)
    used = {slot.position for slot in slots}
    cells = "".join(f"c{at}, " if at in used else "_, " for at in range(width))
    lines = ["def encode(cells):", f"    {cells or '()'}= cells", f"    count = {always}"]
    parts: list[str] = []
    for number, (position, fragment, absent) in enumerate(slots):
        names.update({f"{name}{number}": value for name, value in fragment.names.items()})
        cell = f"c{position}"
        own = [part.format(c=cell, n=number) for part in fragment.parts]
        before = fragment.before.format(c=cell, n=number)
        if absent is not None:
            own = [_optional(lines, number, own, before, absent.format(c=cell))]
        elif before:
            lines.append(f"    {before}")
        parts += own
    lines.append(f"    return join((heads[count], {', '.join(parts)}))" if parts else "    return heads[0]")
    exec("\n".join(lines), names)
    return cast(Callable[[Any], bytes], names["encode"])
