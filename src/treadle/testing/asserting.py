"""Assertions that say what happened instead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from treadle.database import Database
from treadle.errors import TreadleError, UnexpectedOutcome
from treadle.text import nearest

Expected = str | tuple[str, Mapping[str, Any]]


class Answered(Protocol):
    """A receipt, or a page."""

    @property
    def fields(self) -> Mapping[str, Any]: ...

    def expect(self, outcome: str) -> Mapping[str, Any]: ...


def assert_outcome(receipt: Answered | TreadleError, outcome: str, **fields: Any) -> dict[str, Any]:
    """Check that a command (or a named query) was answered `outcome`, with at least these `fields`.

    Returns all its fields. `receipt` is what `run` or `query` returned, here or over HTTP, or an item of what
    `run_many` did. A field's value may be a mapping, such as `job={"state": "Done"}`: then the record needs
    to have these members, and may have others.
    Raises `AssertionError` that names what came instead, and `ValueError` for an outcome that the command
    does not declare, since such a check could never hold.
    """
    if isinstance(receipt, TreadleError):
        raise AssertionError(f"{outcome} was expected, and the call was refused: {receipt.code}, {receipt}")
    try:
        having = receipt.expect(outcome)
    except UnexpectedOutcome as error:
        raise AssertionError(f"{error.message}; its fields: {receipt.fields}") from None
    found = list(_differences(fields, having, ""))
    if found:
        raise AssertionError(f"{outcome} came, but with other fields: " + "; ".join(found))
    return dict(having)


def assert_events(db: Database, *expected: Expected, since: int = 0, of: str | None = None) -> None:
    """Check that exactly these events were emitted after commit `since`, in this order.

    Each is an event's name, or a pair of its name and fields that it must have at least, as Python values.
    `of` looks at the events of one name alone. Without any `expected`, none may have been emitted.
    Raises `AssertionError` that lists what was emitted.
    """
    emitted = [
        (name, fields)
        for entry in db.log(since + 1, unmasked=True)
        for name, fields in entry.events
        if of in (None, name)
    ]
    wanted = [(one, {}) if isinstance(one, str) else one for one in expected]
    wrong = list(_unlike(wanted, emitted))
    if wrong:
        listed = "".join(f"\n  {name} {fields}" for name, fields in emitted) or " none"
        raise AssertionError("; ".join(wrong) + f"; emitted were:{listed}")


def _unlike(
    wanted: list[tuple[str, Mapping[str, Any]]], emitted: list[tuple[str, dict[str, Any]]]
) -> Iterable[str]:
    if len(wanted) != len(emitted):
        yield f"{len(wanted)} events were expected, {len(emitted)} emitted"
    for place, ((name, fields), (found, having)) in enumerate(zip(wanted, emitted, strict=False), start=1):
        if name != found:
            yield f"event {place} is {found}, not {name}"
        else:
            yield from (f"event {place}, {one}" for one in _differences(fields, having, ""))


def _differences(wanted: Mapping[str, Any], found: Mapping[str, Any], path: str) -> Iterable[str]:
    for name, value in wanted.items():
        place = f"{path}{name}"
        if name not in found:
            yield f"there is no {place}{nearest(name, found)}"
        elif isinstance(value, Mapping) and isinstance(found[name], Mapping):
            yield from _differences(value, found[name], f"{place}.")
        elif found[name] != value:
            yield f"{place} is {found[name]!r}, not {value!r}"


__all__ = ["assert_events", "assert_outcome"]
