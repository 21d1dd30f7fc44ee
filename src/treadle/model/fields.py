"""A mapping of declared names, or a generated input object, to cells in declared order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Final

from treadle.model.facts import Cells
from treadle.model.reading import Read, Refusal, foreign, kind_of, some
from treadle.text import nearest

_MISSING: Final = object()


class Fields:
    """Reads a mapping of declared names, or a generated dataclass, into cells in declared order.

    `what` names the whole in messages, such as `command Claim`.
    """

    def __init__(self, what: str, members: Sequence[tuple[str, Read, bool]]) -> None:
        """`members` are name, reader, and whether the value may be absent, in declared order."""
        self._what = what
        self._plan = tuple((name, read) for name, read, _ in members)
        self._names = {name: optional for name, _, optional in members}
        self._count = len(members)

    def __call__(self, value: Any) -> Cells:
        """The cells; raises `Refusal` for what is unknown, missing or of another type."""
        given = value if type(value) is dict else self._as_dict(value)
        get = given.get
        try:
            cells = tuple([read(get(name)) for name, read in self._plan])
        except Refusal as refusal:
            raise self._placed(given, refusal) from None
        if len(given) != self._count or None in cells:
            self._refuse_unknown(given)
        return cells

    def _placed(self, given: dict[Any, Any], refusal: Refusal) -> Refusal:
        """Find the field at fault again, now that time does not matter; an unknown name may be the cause."""
        self._refuse_unknown(given)
        for name, read in self._plan:
            value = given.get(name, _MISSING)
            if value is _MISSING:
                if not self._names[name]:
                    return Refusal(f"is missing: {self._what} requires it").under("." + name)
                continue
            try:
                read(value)
            except Refusal as found:
                return found.under("." + name)
        return refusal

    def _refuse_unknown(self, given: Mapping[Any, Any]) -> None:
        for name in given:
            if type(name) is not str:
                raise Refusal(f"has a name that is no text but {kind_of(name)}: names are str")
            if name not in self._names:
                shown = ascii(name[:100])[1:-1]
                near = nearest(name, self._names)
                names = some(list(self._names))
                raise Refusal(f"is no field of {self._what}{near}; the fields are {names}").under("." + shown)

    def _as_dict(self, value: Any) -> dict[Any, Any]:
        if issubclass(type(value), Mapping):
            return dict(foreign(dict, value))
        if is_dataclass(type(value)):
            return dict(self._of_dataclass(value))
        raise Refusal(f"expects {self._what} as a mapping of names to values, not {kind_of(value)}")

    def _of_dataclass(self, value: Any) -> Iterable[tuple[str, Any]]:
        for field in fields(type(value)):
            name = field.metadata.get("name", field.name)
            if name not in self._names and name.endswith("_"):
                name = name.rstrip("_")  # generated code writes class_ for a field called class
            yield name, foreign(getattr, value, field.name)
