"""What a server answers to `why`, as the values that a database in this process gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from urllib.parse import quote, urlencode
from uuid import UUID

from treadle.client.wire import Face
from treadle.errors import InvalidInput, Malformed
from treadle.history import MASK
from treadle.why.reply import (
    Expected,
    Held,
    LegalStep,
    Reason,
    Recent,
    Refused,
    Signed,
    Signer,
    Why,
    WhyRun,
)

Read = Callable[[Any], Any]


def row_path(entity: str, words: Sequence[str], *, unmasked: bool) -> str:
    """Where to ask about a row."""
    asked = [*(("key", word) for word in words), ("unmasked", "true" if unmasked else "false")]
    return f"v1/why/{quote(entity, safe='')}?{urlencode(asked)}"


def run_path(run: str, graph: str | None) -> str:
    """Where to ask about a signed run."""
    asked = {"run": run} if graph is None else {"run": run, "graph": graph}
    return f"v1/why?{urlencode(asked)}"


def _time(text: Any) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _owner(text: Any) -> Any:
    return text if text in (None, MASK) else UUID(text)


def _names(listed: Any) -> tuple[str, ...]:
    return tuple(listed)


_READ: Final[Mapping[str, Read]] = {
    "now": _time,
    "time": _time,
    "until": _time,
    "since": _time,
    "expires_at": _time,
    "owner": _owner,
    "needs": _names,
}
"""How members are read whose JSON form is not their value."""


def _tuple(kind: Any, document: Any) -> Any:
    """A named tuple of an object; members that this release does not know are left out."""
    return kind(*[_member(name)(document[name]) for name in kind._fields])


def _member(name: str) -> Read:
    return _READ.get(name, lambda value: value)


def _each(kind: Any) -> Read:
    return lambda listed: tuple(_tuple(kind, one) for one in listed)


def _held(document: Any) -> Any:
    return None if document is None else _tuple(Held, document)


def why_of(document: Any, face: Face, entity: str, key: Sequence[Any]) -> Why:
    """The answer about a row.

    Its key is in Python values where the caller's interface has the entity, else as it was asked for.
    """
    parts: dict[str, Read] = {
        "key": lambda values: _key(face, entity, values, key),
        "lease": _held,
        "commands": _each(Expected),
        "reasons": _each(Reason),
        "recent": _each(Recent),
    }
    found: Why = _answer(Why, document, parts)
    return found


def _key(face: Face, entity: str, values: Sequence[Any], given: Sequence[Any]) -> tuple[Any, ...]:
    declared = next((one for one in face.interface.contract.entities if one.name == entity), None)
    if declared is None:
        return tuple(given)
    codec = face.codec
    pairs = zip(declared.key, values, strict=True)
    return tuple(codec.python(one.type)(codec.reader(one.type)(value, one.name)) for one, value in pairs)


def run_of(document: Any) -> WhyRun:
    """The answer about a signed run."""
    kinds = {"legal": LegalStep, "signers": Signer, "events": Signed, "refusals": Refused}
    found: WhyRun = _answer(WhyRun, document, {name: _each(kind) for name, kind in kinds.items()})
    return found


def _answer(kind: Any, document: Any, parts: Mapping[str, Read]) -> Any:
    try:
        return kind(*[(parts.get(name) or _member(name))(document[name]) for name in kind._fields])
    except (KeyError, TypeError, ValueError, InvalidInput) as error:
        raise Malformed("the server's answer does not say why in a way that this release can read") from error
