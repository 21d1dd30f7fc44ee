"""C002, C004, C005, C006, C046 for indexes: their fields, `presence` and `text_key`."""

from __future__ import annotations

from treadle.model import types as t
from treadle.riff import syntax as s
from treadle.riff.names import listed_once, look_up, members
from treadle.riff.symbols import EntitySymbol, FieldSymbol, Unit


def indexes(unit: Unit) -> None:
    for entity in unit.entities.values():
        for index in entity.indexes.values():
            listed_once(unit.report, index.fields, f"index {index.name.text}")
            keyed(unit, entity, index.fields, f"index {index.name.text}")
            _options(unit, entity, index)


def keyed(unit: Unit, entity: EntitySymbol, names: tuple[s.Name, ...], what: str) -> list[FieldSymbol]:
    """The fields that an index or unique is made of; refuses lists and secrets."""
    found = members(unit.report, entity.fields, names, entity.name) or []
    for name, member in zip(names, found, strict=False):
        if member.type is not None and isinstance(t.required(member.type), t.List):
            unit.report.add("C005", name.at, f"{what} cannot hold a list; remove `{name.text}`")
        if member.secret:
            message = f"{what} would show the secret field `{name.text}` by its order; remove it"
            unit.report.add("C046", name.at, message)
    return found


def _options(unit: Unit, entity: EntitySymbol, index: s.Index) -> None:
    present = [option.field for option in index.options if isinstance(option, s.Presence)]
    texts = [option.field for option in index.options if isinstance(option, s.TextKey)]
    listed_once(unit.report, present, "the presences")
    listed_once(unit.report, texts, "the text keys")
    for name in present:
        member = look_up(unit.report, entity.fields, name, f"field of {entity.name} is called")
        if member and member.type and not isinstance(member.type, t.Optional):
            message = f"`{name.text}` is always present; `presence` needs an optional field"
            unit.report.add("C006", name.at, message)
        if member and member.secret:
            unit.report.add(
                "C046", name.at, f"an index cannot tell of the secret field `{name.text}`; remove it"
            )
    held = {name.text: name for name in index.fields}
    for name in texts:
        member = entity.fields.get(name.text)
        if (
            look_up(unit.report, held, name, f"field of index {index.name.text} is called") is None
            or not member
        ):
            continue
        if member.type and not isinstance(t.required(member.type), t.String):
            unit.report.add("C006", name.at, f"`text_key` needs a string; `{name.text}` is {member.type}")
