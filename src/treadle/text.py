"""Small helpers for messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def were_given(count: int) -> str:
    """`1 value was given`, `2 values were given`."""
    return "1 value was given" if count == 1 else f"{count} values were given"


def nearest(name: str, known: Iterable[str]) -> str:
    """`; the nearest is X` for a misspelt name, or an empty string."""
    near = difflib.get_close_matches(name[:256], list(known), n=1)
    return f"; the nearest is {near[0]}" if near else ""
