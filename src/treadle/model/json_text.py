"""JSON text to plain values, with everything refused that readers disagree about.

Readers differ on duplicate keys (the last wins, silently), on NaN, on numbers too long for their type,
on lone surrogates and on how deep is too deep. Here each of them is an error with the place, so what is
read means the same to everyone who reads it. RFC 8259, with its "should" taken as "must".
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any, Final, NoReturn

from treadle import limits
from treadle.errors import Malformed

INTEGER_DIGITS: Final = 40  # 2^64 has 20; what is longer fits no type and costs time to read
NUMBER_CHARACTERS: Final = 64

_BRACKETS: Final = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{}]', re.DOTALL)
_ESCAPED_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")
_OPENING: Final = frozenset("[{")
_CLOSING: Final = frozenset("]}")


def _place(text: str, at: int) -> str:
    line = text.count("\n", 0, at) + 1
    return f"line {line}, column {at - text.rfind(chr(10), 0, at)}"


def _text(data: bytes | bytearray | memoryview | str) -> str:
    if isinstance(data, str):
        found = _SURROGATE.search(data)
        if found is not None:
            raise Malformed(f"not JSON: a lone surrogate at {_place(data, found.start())}; send UTF-8")
        text = data
    else:
        try:
            text = bytes(data).decode()
        except UnicodeDecodeError as error:
            raise Malformed(f"not JSON: byte {error.start} is not UTF-8; send UTF-8") from None
    if text.startswith("\ufeff"):
        raise Malformed("not JSON: it begins with a byte order mark; send UTF-8 without one")
    return text


def _check_depth(text: str) -> None:
    if text.count("[") + text.count("{") <= limits.JSON_NESTING:
        return  # brackets inside texts only make this guess too high
    depth = 0
    for found in _BRACKETS.finditer(text):
        token = found.group()
        if token in _OPENING:
            depth += 1
            if depth > limits.JSON_NESTING:
                where = _place(text, found.start())
                raise Malformed(f"JSON nested more than {limits.JSON_NESTING} deep at {where}; flatten it")
        elif token in _CLOSING:
            depth -= 1


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        counts = Counter(name for name, _ in pairs)
        twice = next(name for name, count in counts.items() if count > 1)
        shown = ascii(twice[:100])
        raise Malformed(f"not JSON that everyone reads alike: the name {shown} stands twice in one object")
    return found


def _integer(digits: str) -> int:
    if len(digits) > INTEGER_DIGITS:
        raise Malformed(f"a number of more than {INTEGER_DIGITS} digits fits no type; send it as text")
    return int(digits)


def _fraction(digits: str) -> float:
    number = float(digits) if len(digits) <= NUMBER_CHARACTERS else float("inf")
    if number in (float("inf"), float("-inf")):
        raise Malformed('a number too long or too large for a double; send decimals as text, such as "12.50"')
    return number


def _constant(name: str) -> NoReturn:
    raise Malformed(f"not JSON: {name} is no JSON value")


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_fraction, parse_constant=_constant
)


def _check_surrogates(value: Any) -> None:
    """Refuse `\\ud800` without its other half, in names and values; the depth is bounded by now."""
    if isinstance(value, str):
        if _SURROGATE.search(value):
            raise Malformed(
                "not JSON: a text holds a lone surrogate escape; write both halves, or the character"
            )
    elif isinstance(value, list):
        for item in value:
            _check_surrogates(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            _check_surrogates(name)
            _check_surrogates(item)


def scan_json(data: bytes | bytearray | memoryview | str) -> Any:
    """The value of a JSON text: dict, list, str, int (exact), float, bool or None.

    Raises `Malformed`, with line and column where there is one, for text that is not UTF-8 or not JSON,
    duplicate names in an object, nesting over 32, NaN and infinities, numbers of more than 40 digits or
    beyond a double, lone surrogates (raw or escaped), and a byte order mark. Linear in its length.
    """
    text = _text(data)
    _check_depth(text)
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        what = error.msg[:1].lower() + error.msg[1:].removesuffix(" at")
        raise Malformed(f"not JSON: {what} at {where}") from None
    if _ESCAPED_SURROGATE.search(text):
        _check_surrogates(value)
    return value
