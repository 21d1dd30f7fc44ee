"""C039 and C041 for principal facts: plain values, or short lists of them."""

from __future__ import annotations

from treadle.limits import LIST_MEMBERS, PRINCIPAL_FACTS
from treadle.model import types as t
from treadle.riff.symbols import Unit
from treadle.riff.typenames import resolve_type


def principal_facts(unit: Unit) -> None:
    for place, (name, (node, _)) in enumerate(list(unit.facts.items())):
        kind = resolve_type(unit, node.type)
        if kind is not None and not _plain(kind):
            message = (
                f"a principal fact is a plain value, an optional one, or a list of plain ones; not {kind}"
            )
            unit.report.add("C039", node.type.at, message)
            kind = None
        if isinstance(kind, t.List) and kind.maximum > LIST_MEMBERS:
            message = f"a principal fact lists {kind.maximum:,} values here, at most {LIST_MEMBERS:,}"
            unit.report.add("C041", node.type.at, message)
        if place >= PRINCIPAL_FACTS:
            message = f"this is principal fact number {place + 1}, at most {PRINCIPAL_FACTS} are allowed"
            unit.report.add("C041", node.name.at, message)
        unit.facts[name] = (node, kind)


def _plain(kind: t.Type) -> bool:
    inner = kind.item if isinstance(kind, t.Optional | t.List) else kind
    return not isinstance(inner, t.Optional | t.List | t.Record)
