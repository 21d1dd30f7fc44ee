"""What each input of a command feeds: it lets a random request name rows that exist, and what they hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias
from typing import Literal as OneOf

import msgspec

from treadle.model import contract as c


class Slot(NamedTuple):
    """A place for a value: an input, or of a loop's element a field (or the whole of it, where it is '')."""

    name: str
    field: str | None = None


class Feed(NamedTuple):
    """What a value is used for: a field of a binding's row, or evidence about the row.

    `field` is '' for a revision and a duration; `bounds` are a duration's, in seconds.
    """

    use: OneOf["key", "field", "revision", "token", "owner", "duration"]
    binding: str
    entity: str
    field: str = ""
    bounds: tuple[int, int] = (0, 0)


class Bound(NamedTuple):
    """A row that a command is about, and which slots hold its key (None: no slot decides that part)."""

    kind: str
    name: str
    entity: str
    key: tuple[Slot | None, ...]


Feeds: TypeAlias = Mapping[Slot, tuple[Feed, ...]]


class Flows(NamedTuple):
    """A command's rows and feeds; those of its loop's element apart."""

    bound: tuple[Bound, ...]
    looped: tuple[Bound, ...]
    feeds: Feeds

    def owner_of(self, binding: str) -> str | None:
        """The field that must name the caller for this command; None where it asks for no holder."""
        shown = [feed for found in self.feeds.values() for feed in found if feed.binding == binding]
        holds = any(feed.use == "token" for feed in shown)
        return next((feed.field for feed in shown if holds and feed.use == "owner"), None)


class _Collector:
    """Walks a command once."""

    def __init__(self, contract: c.Contract, command: c.Command) -> None:
        self._keys = {one.name: [field.name for field in one.key] for one in contract.entities}
        self._leases = {one.name: one.lease for one in contract.workflows}
        self._entities = {node.name: node.entity for node in _nodes(command) if isinstance(node, c.Binding)}
        self.bound: list[Bound] = []
        self.feeds: dict[Slot, list[Feed]] = {}

    def add(self, slot: Slot | None, feed: Feed) -> None:
        if slot is not None:
            self.feeds.setdefault(slot, []).append(feed)

    def walk(self, root: Any) -> None:
        for node in _nodes(root):
            match node:
                case c.Binding():
                    self._binding(node)
                case c.Set():
                    self._field(_slot(node.value), node.binding, node.field)
                case c.Binary():
                    self._compared(node.left, node.right)
                    self._compared(node.right, node.left)
                case c.TransitionEffect():
                    self._evidence(node.binding, "revision", node.revision)
                case c.LeaseEffect():
                    self._lease(node)

    def _binding(self, node: c.Binding) -> None:
        slots = tuple(map(_slot, node.key))
        self.bound.append(Bound(node.kind, node.name, node.entity, slots))
        for slot, field in zip(slots, self._keys[node.entity], strict=True):
            self.add(slot, Feed("key", node.name, node.entity, field))
        for assign in node.initialize:
            self._field(_slot(assign.value), node.name, assign.name)

    def _field(self, slot: Slot | None, binding: str, field: str) -> None:
        self.add(slot, Feed("field", binding, self._entities[binding], field))

    def _compared(self, one: c.Expr, other: c.Expr) -> None:
        if isinstance(other, c.BindingField):
            self._field(_slot(one), other.binding, other.field)

    def _evidence(self, binding: str, use: Any, name: str | None, **more: Any) -> None:
        if name is not None:
            self.add(Slot(name), Feed(use, binding, self._entities[binding], **more))

    def _lease(self, node: c.LeaseEffect) -> None:
        self._evidence(node.binding, "revision", node.revision)
        lease = self._leases[node.workflow]
        if lease is None:
            return
        self._evidence(node.binding, "owner", node.owner, field=lease.owner)
        self._evidence(node.binding, "token", node.fencing_token, field=lease.fencing_token)
        self._evidence(node.binding, "duration", node.duration, bounds=(lease.minimum, lease.maximum))


def flows(contract: c.Contract, command: c.Command) -> Flows:
    """What the inputs of a command feed."""
    collector = _Collector(contract, command)
    collector.walk(msgspec.structs.replace(command, loop=None))
    bound = tuple(collector.bound)
    collector.bound.clear()
    collector.walk(command.loop)
    feeds = {slot: tuple(found) for slot, found in collector.feeds.items()}
    return Flows(bound, tuple(collector.bound), feeds)


def _nodes(root: Any) -> Iterator[Any]:
    """Every node of a tree of the contract, from the root on."""
    if isinstance(root, tuple):
        for one in root:
            yield from _nodes(one)
    elif isinstance(root, msgspec.Struct):
        yield root
        for name in root.__struct_fields__:
            yield from _nodes(getattr(root, name))


WHOLE: Final = ""


def _slot(expr: c.Expr) -> Slot | None:
    """The slot that an expression is; None where it is none."""
    match expr:
        case c.Input():
            return Slot(expr.name)
        case c.Element():
            return Slot(expr.name, WHOLE)
        case c.ElementField():
            return Slot(expr.element, expr.field)
    return None


class Classes:
    """Which fields share their values: a reference and its target, fields that one input feeds."""

    def __init__(self, contract: c.Contract, commands: Mapping[str, Flows]) -> None:
        self._leader: dict[tuple[str, str], tuple[str, str]] = {}
        for entity in contract.entities:
            for reference in entity.references:
                for name, target in zip(reference.fields, reference.target_fields, strict=True):
                    self._join((entity.name, name), (reference.target, target))
        for known in commands.values():
            for found in known.feeds.values():
                fields = [(feed.entity, feed.field) for feed in found if feed.field]
                for field in fields[1:]:
                    self._join(fields[0], field)

    def of(self, entity: str, field: str) -> tuple[str, str]:
        """The field that stands for all that share their values with this one."""
        place = (entity, field)
        while (above := self._leader.get(place, place)) != place:
            place = above
        return place

    def _join(self, one: tuple[str, str], other: tuple[str, str]) -> None:
        first, second = self.of(*one), self.of(*other)
        if first != second:
            self._leader[second] = first
