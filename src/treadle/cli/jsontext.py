"""JSON text from outside, read strictly: no duplicate keys, no NaN, no deep nesting."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from treadle.errors import Malformed
from treadle.limits import COMMAND_BYTES, JSON_NESTING

_STRING_OR_BRACKET: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


def parse_json(text: str | bytes, name: str) -> Any:
    """The value of a JSON text. `name` says in messages what was read; raises `Malformed`."""
    if len(text) > COMMAND_BYTES:
        raise Malformed(f"{name}: more than {COMMAND_BYTES >> 20} MiB; send it in parts")
    try:
        decoded = text if isinstance(text, str) else text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Malformed(f"{name}: not UTF-8 at byte {error.start}; send it as UTF-8") from error
    _check_nesting(decoded, name)
    try:
        return json.loads(decoded, object_pairs_hook=_unique, parse_constant=_constant)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise Malformed(f"{name}: not JSON at {place}: {error.msg}") from error
    except ValueError as error:
        raise Malformed(f"{name}: {error}") from error


def _check_nesting(text: str, name: str) -> None:
    depth = 0
    for match in _STRING_OR_BRACKET.finditer(text):
        token = match.group()
        depth += token in "[{"
        depth -= token in "]}"
        if depth > JSON_NESTING:
            raise Malformed(f"{name}: nested deeper than {JSON_NESTING}")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice!r} is given twice; keep one of them")
    return found


def _constant(word: str) -> Any:
    raise ValueError(f"{word} is no JSON number; write a number or null")
