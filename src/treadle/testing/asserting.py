"""Assertions that say what happened instead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Protocol

from treadle.database import Database
from treadle.errors import TreadleError, UnexpectedOutcome
from treadle.text import nearest

Wanted = tuple[str, Mapping[str, Any]]
Emitted = tuple[str, Mapping[str, Any]]
Expected = str | Wanted

COMPARED: Final = 500
"""Of so many expected events is looked where they stand among the others."""


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
    __tracebackhide__ = True  # pytest then shows the test's line, not these
    if isinstance(receipt, TreadleError):
        raise AssertionError(f"{outcome} was expected, and the call was refused: {receipt.code}, {receipt}")
    try:
        having = receipt.expect(outcome)
    except UnexpectedOutcome as error:
        raise AssertionError(f"{error.message}; its fields: {receipt.fields}") from None
    found = list(_differences(fields, having, ""))
    if found:
        raise AssertionError(
            f"{outcome} came, but with other fields:" + "".join(f"\n  {one}" for one in found)
        )
    return dict(having)


def assert_events(db: Database, *expected: Expected, since: int = 0, of: str | None = None) -> None:
    """Check that exactly these events were emitted after commit `since`, in this order.

    Each is an event's name, or a pair of its name and fields that it must have at least, as Python values.
    `of` looks at the events of one name alone. Without any `expected`, none may have been emitted.
    Raises `AssertionError` that shows where both part, and `ValueError` for a name that no event has, since
    such a check could never fail, or never hold.
    """
    __tracebackhide__ = True
    wanted: list[Wanted] = [(one, {}) if isinstance(one, str) else one for one in expected]
    every: list[Emitted] = [event for entry in db.log(since + 1, unmasked=True) for event in entry.events]
    _check_names(db, {name for name, _ in wanted} | ({of} if of is not None else set()), every)
    emitted: list[Emitted] = [event for event in every if of in (None, event[0])]
    if len(wanted) != len(emitted) or any(map(_unlike, wanted, emitted)):
        told = "".join(f"\n  {line}" for line in _compared(wanted, emitted))
        raise AssertionError(
            f"{_events(len(wanted))} expected, {len(emitted)} emitted "
            f"(= as expected, - missing, + not expected):{told}"
        )


def _events(count: int) -> str:
    return f"{count} event{'' if count == 1 else 's'}"


def _check_names(db: Database, names: set[str], emitted: list[Emitted]) -> None:
    deployed = db._engine.refresh().deployed
    declared = () if deployed is None else (event.name for event in deployed.contract.events)
    known = {*declared, *(name for name, _ in emitted)}
    for name in sorted(names - known):
        raise ValueError(f"there is no event {name}{nearest(name, known)}")


def _unlike(wanted: Wanted, emitted: Emitted) -> list[str]:
    """How an event differs from the one expected in its place."""
    (name, fields), (found, having) = wanted, emitted
    if name != found:
        return [f"it is {found}, not {name}"]
    return list(_differences(fields, having, ""))


def _compared(wanted: list[Wanted], emitted: list[Emitted]) -> Iterator[str]:
    """Both lists in one, put beside each other where they agree."""
    same = [[not _unlike(one, other) for other in emitted] for one in wanted[:COMPARED]]
    place = begin = 0
    for row, column, length in _agreeing(same):
        yield from _parted(wanted[place:row], emitted[begin:column])
        yield from (_line("=", *event) for event in emitted[column : column + length])
        place, begin = row + length, column + length
    yield from _parted(wanted[place:], emitted[begin:])


def _agreeing(same: list[list[bool]]) -> list[tuple[int, int, int]]:
    """Runs of pairs on a longest common subsequence: row, column, length."""
    rows, columns = len(same), len(same[0]) if same else 0
    longest = [[0] * (columns + 1) for _ in range(rows + 1)]
    for row in range(rows - 1, -1, -1):
        for column in range(columns - 1, -1, -1):
            longest[row][column] = (
                longest[row + 1][column + 1] + 1
                if same[row][column]
                else max(longest[row + 1][column], longest[row][column + 1])
            )
    runs: list[tuple[int, int, int]] = []
    row = column = 0
    while row < rows and column < columns:
        if same[row][column]:
            runs.append((row, column, 1))
            row, column = row + 1, column + 1
        elif longest[row + 1][column] >= longest[row][column + 1]:
            row += 1
        else:
            column += 1
    return runs


def _parted(wanted: list[Wanted], emitted: list[Emitted]) -> Iterator[str]:
    """What stands between two places that agree; pairs of one name say how they differ."""
    for one, other in zip(wanted, emitted, strict=False):
        yield _line("-", *one)
        why = "; ".join(_unlike(one, other)) if one[0] == other[0] else ""
        yield _line("+", *other) + (f"    ({why})" if why else "")
    shorter = min(len(wanted), len(emitted))
    yield from (_line("-", *one) for one in wanted[shorter:])
    yield from (_line("+", *one) for one in emitted[shorter:])


def _line(mark: str, name: str, fields: Mapping[str, Any]) -> str:
    given = ", ".join(f"{field}={value!r}" for field, value in fields.items())
    return f"{mark} {name}({given})"


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
