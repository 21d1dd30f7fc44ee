"""Small helpers for messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str:
    """`; the nearest is X` for a misspelt name, or an empty string."""
    near = difflib.get_close_matches(name[:256], list(known), n=1)
    return f"; the nearest is {near[0]}" if near else ""
