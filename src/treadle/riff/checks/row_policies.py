"""C040 to C043 for row policies: conditions over a row and its caller, with few and whole probes.

A probe is answered from one entry of one index in the row's own partition, so that a policy costs the
same however many rows there are.
"""

from __future__ import annotations

from functools import partial

from treadle.limits import POLICY_PROBES, ROW_POLICIES
from treadle.model import contract as m
from treadle.model import types as t
from treadle.riff import syntax as s
from treadle.riff.expressions import check_expression
from treadle.riff.names import entity
from treadle.riff.scopes import RowScope
from treadle.riff.symbols import EntitySymbol, Typed, Unit, own_fields, substitute


def row_policies(unit: Unit) -> None:
    counts: dict[str, int] = {}
    for place, (node, _) in enumerate(unit.policies):
        owner = entity(unit, node.entity)
        unit.policies[place] = (node, owner)
        if owner is None:
            continue
        counts[owner.name] = counts.get(owner.name, 0) + 1
        if counts[owner.name] > ROW_POLICIES:
            message = f"{owner.name} has {counts[owner.name]} row policies here, at most {ROW_POLICIES}"
            unit.report.add("C041", node.name.at, message)
        if owner.aggregate is None:
            message = f"{owner.name} belongs to no aggregate, so no command reaches its rows; add one"
            unit.report.add("C040", node.entity.at, message)
        _rules(unit, node, owner)


def _rules(unit: Unit, node: s.RowPolicy, owner: EntitySymbol) -> None:
    scope = RowScope(unit, owner, "a row policy", policy=True)
    seen: dict[str, s.Allow] = {}
    for rule in node.rules:
        first = seen.setdefault(rule.operation, rule)
        if first is not rule:
            at = rule.at._replace(end=rule.at.start + len("allow"))
            message = f"this policy allows {rule.operation} twice; join the conditions with `||`"
            unit.report.add("C040", at, message, related=[("the first is here", first.at)])
        check_expression(scope, rule.expression, t.BOOL, partial(_probes, unit, owner))


def _probes(unit: Unit, owner: EntitySymbol, typed: Typed) -> bool:
    found = [(use.expr, use.at) for use in typed.uses if isinstance(use.expr, m.Exists)]
    if len(found) > POLICY_PROBES:
        message = (
            f"this rule probes {len(found)} times, at most {POLICY_PROBES}; keep what it needs in the row"
        )
        unit.report.add("C041", found[POLICY_PROBES][1], message)
        return False
    good = True
    for probe, at in found:
        if not _same_partition(unit, owner, probe):
            message = f"this probes {probe.entity} in another partition; give the row's own partition fields"
            unit.report.add("C042", at, message)
            good = False
    return good


def _same_partition(unit: Unit, owner: EntitySymbol, probe: m.Exists) -> bool:
    target = unit.entities[probe.entity]
    here, there = owner.partition(), target.partition()
    if here is None or there is None:
        return here is None
    names = [name.text for name in target.indexes[probe.index].fields]
    held = dict(zip(names, probe.args, strict=True))
    return set(own_fields(there)) <= set(held) and substitute(there, held) == here
