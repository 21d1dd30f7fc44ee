"""The way to a statement's rows: the key, a unique, or one declared index (Q006, Q007).

An index serves a statement if all its `==` conditions are on the index's leading fields and the fields
after those are the order asked for, the key's fields last. There is no other way: nothing scans, nothing
sorts. Where no index serves, the message has the declaration to add.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from treadle.limits import QUERY_RANGES
from treadle.model import contract as m
from treadle.model import query as o
from treadle.model import types as t
from treadle.riff.diagnostics import Extent, Report

_RANGE: Final = ("<", "<=", ">", ">=")


class Order(NamedTuple):
    """What is asked for: fields in order, or the fields of groups; neither for totals."""

    terms: tuple[str, ...]
    descending: bool
    reads: str


class _Way(NamedTuple):
    """An index, or the key as one: its declared fields, and all of its fields with the key's at the end."""

    name: str
    fields: tuple[str, ...]
    full: tuple[str, ...]
    presence: tuple[str, ...]
    text_keys: tuple[str, ...]


class Chooser:
    """Finds the access of one statement. Conditions under `when` never lead to an index, they only narrow."""

    def __init__(self, entity: m.Entity, conditions: Sequence[o.Condition]) -> None:
        self.entity = entity
        self.conditions = tuple(conditions)
        self.key = tuple(field.name for field in entity.key)
        self.always = [condition for condition in conditions if not condition.when]
        self.equal = _firsts(condition for condition in self.always if condition.op in ("==", "is null"))
        listed = [condition for condition in self.always if condition.op == "in"]
        self.listed = _firsts(condition for condition in listed if condition.field not in self.equal)
        prefixes = [condition for condition in self.always if condition.op == "prefix"]
        self.prefixes = [condition for condition in prefixes if condition.field not in self.equal]

    # One row.

    def single(self) -> o.Access | None:
        """The access of `one` and `maybe`: the complete key, or a complete unique."""
        ways = [("key", "", self.key)]
        ways += [("unique", unique.name, unique.fields) for unique in self.entity.uniques]
        for kind, name, fields in ways:
            fixed = [self.equal.get(field) for field in fields]
            known = tuple(condition for condition in fixed if condition and condition.op == "==")
            if len(known) == len(fields):
                rest = self._without(known)
                return o.Access("key" if kind == "key" else "unique", name, known, rest=rest)
        return None

    def lacking(self) -> list[str]:
        """The key fields that no `==` fixes."""
        return [name for name in self.key if name not in self.equal or self.equal[name].op != "=="]

    # Many rows.

    def many(self, order: Order) -> o.Access | None:
        """The best access for `many`, or None where no index serves."""
        found: list[tuple[tuple[int, ...], o.Access]] = []
        for place, way in enumerate(self._ways()):
            access = self._served(way, order)
            if access is not None:
                score = (len(access.fixed), bool(_always(access.ranges)), -len(way.full), -place)
                found.append((score, access))
        return max(found)[1] if found else None

    def _ways(self) -> Iterable[_Way]:
        yield _Way("", self.key, self.key, (), ())
        for index in self.entity.indexes:
            full = (*index.fields, *(name for name in self.key if name not in index.fields))
            yield _Way(index.name, index.fields, full, index.presence, index.text_keys)

    def _served(self, way: _Way, order: Order) -> o.Access | None:
        if not all(self._present(name) for name in way.presence):
            return None
        longest = 0
        while longest < len(way.full) and (
            way.full[longest] in self.equal or way.full[longest] in self.listed
        ):
            longest += 1
        for count in range(longest, -1, -1):
            access = self._at(way, count, order)
            if access is not None:
                return access
        return None

    def _at(self, way: _Way, count: int, order: Order) -> o.Access | None:
        """The access that fixes the first `count` fields of the index, where that serves."""
        leading = way.full[:count]
        if not set(self.equal) <= set(leading):
            return None
        fixed = tuple(self.equal.get(name) or self.listed[name] for name in leading)
        if _combinations(fixed) > QUERY_RANGES:
            return None
        walk = way.full[count:]
        total = self._total(order.terms, order.reads)
        free = tuple(name for name in total if name not in leading)
        if order.reads == "rows" and free != walk:
            return None
        if order.reads == "groups" and free != walk[: len(free)]:
            return None
        ranges = self._ranges(way, walk)
        if any(prefix not in ranges for prefix in self.prefixes):
            return None
        rest = self._without((*fixed, *ranges))
        return o.Access("index", way.name, fixed, walk, total, order.descending, ranges, rest)

    def _total(self, terms: Sequence[str], reads: str) -> tuple[str, ...]:
        """The order asked for, without what `==` fixes; for rows the rest of the key completes it."""
        tail = self.key if reads == "rows" else ()
        named = dict.fromkeys((*terms, *tail))
        return tuple(name for name in named if name not in self.equal)

    def _ranges(self, way: _Way, walk: Sequence[str]) -> tuple[o.Condition, ...]:
        """The conditions that bound the first field after the fixed ones."""
        if not walk:
            return ()
        here = [condition for condition in self.conditions if condition.field == walk[0]]
        texts = walk[0] in way.text_keys
        return tuple(c for c in here if c.op in _RANGE or (c.op == "prefix" and texts))

    def _present(self, name: str) -> bool:
        """Whether the conditions leave no row in which this optional field is absent."""
        return any(_excludes_null(condition) for condition in self.always if condition.field == name)

    def _without(self, used: Sequence[o.Condition]) -> tuple[o.Condition, ...]:
        """The conditions that are left; one that is written twice is asked once."""
        return tuple(dict.fromkeys(condition for condition in self.conditions if condition not in used))

    # What to add.

    def suggestion(self, order: Order) -> str:
        """The declaration of an index that would serve."""
        members = [field.name for field in self.entity.members]
        fields = [name for name in members if name in self.equal]
        fields += [name for name in self._total(order.terms, order.reads) if name not in fields]
        if self.prefixes and self.prefixes[0].field not in fields:
            fields.append(self.prefixes[0].field)
        texts = [name for name in dict.fromkeys(prefix.field for prefix in self.prefixes) if name in fields]
        shown = list(fields)
        while len(shown) > 1 and self._implied(shown):
            shown.pop()
        options = "".join(f" text_key({name}, binary_utf8_v1)" for name in texts)
        named = "_".join(shown)[:60].rstrip("_")
        return f"index by_{named} ({', '.join(shown)}){options}"

    def _implied(self, fields: Sequence[str]) -> bool:
        """Whether an index of all but the last of these fields has the last by itself, as the key's end."""
        shorter = list(fields[:-1])
        return [*shorter, *(name for name in self.key if name not in shorter)][: len(fields)] == list(fields)


def _firsts(conditions: Iterable[o.Condition]) -> dict[str, o.Condition]:
    found: dict[str, o.Condition] = {}
    for condition in conditions:
        found.setdefault(condition.field, condition)
    return found


def _always(conditions: Sequence[o.Condition]) -> list[o.Condition]:
    return [condition for condition in conditions if not condition.when]


def _excludes_null(condition: o.Condition) -> bool:
    if condition.op == "is not null":
        return True
    if condition.op in ("is null", "!="):
        return False
    operands = condition.operands
    return condition.op != "==" or not any(isinstance(operand.type, t.Optional) for operand in operands)


def _combinations(fixed: Sequence[o.Condition]) -> int:
    """How many ranges of the index the `in` conditions make, at most."""
    found = 1
    for condition in fixed:
        if condition.op == "in":
            kind = condition.operands[0].type
            found *= kind.maximum if isinstance(kind, t.List) else len(condition.operands)
    return found


def check_filters(report: Report, entity: m.Entity, conditions: Sequence[o.Condition], at: Extent) -> None:
    """Refuse a `prefix` under `when` on a field that no index holds as text (Q007)."""
    for condition in conditions:
        held = any(condition.field in index.text_keys for index in entity.indexes)
        if condition.op == "prefix" and condition.when and not held:
            message = (
                f"`prefix` needs an index of {entity.name} with `text_key({condition.field}, binary_utf8_v1)`"
            )
            report.add("Q007", at, message)


def refuse(report: Report, chooser: Chooser, order: Order, at: Extent) -> None:
    """Report Q007 with the index to add."""
    entity = chooser.entity.name
    prefixed = list(dict.fromkeys(prefix.field for prefix in chooser.prefixes))
    if len(prefixed) > 1:
        message = f"one field can be read by a prefix, not both `{prefixed[0]}` and `{prefixed[1]}`"
        report.add("Q007", at, message)
        return
    if prefixed and order.reads != "totals" and order.terms[:1] != (prefixed[0],):
        clause = "order by" if order.reads == "rows" else "group by"
        message = (
            f"what a prefix finds comes in the order of that field; write `{clause} {prefixed[0]}` first"
        )
        report.add("Q007", at, message)
        return
    message = f"no index of {entity} serves these conditions and this order"
    report.add("Q007", at, message, help=f"add to entity {entity}: `{chooser.suggestion(order)}`")
