"""What names a cursor can use: of the text as it is, of its last whole state, of the open command."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from treadle.lsp.analysis import Analysis
from treadle.lsp.place import Place
from treadle.model import types as t
from treadle.riff import syntax as s
from treadle.riff.checks import CHECKS
from treadle.riff.diagnostics import Report
from treadle.riff.partial import NOWHERE, salvage, unfinished
from treadle.riff.symbols import CommandSymbol, EntitySymbol, EventSymbol, FieldSymbol, Unit, WorkflowSymbol


class Scope:
    """The symbols for one place."""

    def __init__(self, about: Analysis, place: Place) -> None:
        self.place = place
        open_ = unfinished(place.blocks, place.word.start)
        self.unit = _unit(about, open_)
        self.command = self._command(open_)

    def _command(self, node: s.Declaration | None) -> CommandSymbol | None:
        return next((command for command in self.unit.commands if command.node is node), None)

    # What the place is about.

    @property
    def entity(self) -> EntitySymbol | None:
        """The entity whose fields stand alone here: its own, a root's, a policy's, a workflow's."""
        place = self.place
        block = place.block("entity", "aggregate", "policy", "workflow", "lease", "initialize")
        if block is None:
            return None
        if place.role == "initialize":
            return self.entity_named(_entity_of(block.head))
        role = place.roles[place.blocks.index(block)]
        if role == "policy":
            names = [value for value in block.head if isinstance(value, s.Name)]
            return self.entity_named(names[-1].text if names else "")
        if role in ("workflow", "lease"):
            return self._of_workflow()
        name = block.name.text if block.name is not None else ""
        aggregate = self.unit.aggregates.get(name) if role == "aggregate" else None
        return aggregate.root if aggregate is not None else self.entity_named(name)

    def _of_workflow(self) -> EntitySymbol | None:
        block = self.place.block("workflow")
        for word, name in zip(block.tail, block.tail[1:], strict=False) if block is not None else ():
            if getattr(word, "kind", "") == "ENTITY" and isinstance(name, s.Name):
                return self.entity_named(name.text)
        workflow = self.unit.workflows.get(block.name.text) if block is not None and block.name else None
        return workflow.entity if workflow is not None else None

    def entity_named(self, name: str) -> EntitySymbol | None:
        return self.unit.entities.get(name)

    @property
    def event(self) -> EventSymbol | None:
        """The event that is emitted or declared here."""
        block = self.place.block("emit", "event")
        names = [value for value in block.head if isinstance(value, s.Name)] if block is not None else []
        return self.unit.events.get(names[-1].text) if names else None

    # Values.

    def values(self) -> Iterator[tuple[str, str, t.Type | None]]:
        """The names of values in a command: what each is, and its type."""
        command = self.command
        if command is None:
            return
        if command.loop is not None:
            yield command.loop.node.element.text, "element", command.loop.item
        for name, (_, kind) in command.inputs.items():
            yield name, "input", kind
        for name, service in command.services.items():
            yield name, "service", t.UUID if service.kind == "uuid_v7" else t.TIMESTAMP
        for name, bound in command.by_name.items():
            yield name, bound.kind, t.Record(bound.entity.name) if bound.entity is not None else None

    def type_of(self, name: str) -> t.Type | None:
        """The type of a value by its name."""
        return next((kind for known, _, kind in self.values() if known == name), None)

    def row(self, name: str) -> EntitySymbol | None:
        """The entity whose fields may follow a name and a dot."""
        kind = self.type_of(name)
        if isinstance(kind, t.Record):
            return self.entity_named(kind.entity)
        if self.place.block("aggregate", "policy", "entity") is not None:
            return self.entity_named(name)
        return None

    def path_type(self, parts: tuple[str, ...]) -> t.Type | None:
        """The type of a path, where it has one here."""
        if not parts:
            return None
        if parts[0] == "tx":
            found: t.Type | None = t.TIMESTAMP if parts[1:2] == ("time",) else None
            rest = parts[2:]
        elif (row := self.row(parts[0])) is not None and len(parts) > 1:
            found, rest = _field_type(row.fields, parts[1]), parts[2:]
        else:
            own = self.entity.fields if self.entity is not None and self.command is None else {}
            found, rest = _field_type(own, parts[0]) or self.type_of(parts[0]), parts[1:]
        return t.DATE if rest == ("date",) else found if not rest else None

    def workflow_of(self, binding: str) -> WorkflowSymbol | None:
        row = self.row(binding)
        return row.workflow if row is not None else None


def _field_type(fields: Mapping[str, FieldSymbol], name: str) -> t.Type | None:
    return fields[name].type if name in fields else None


def _entity_of(head: list[Any]) -> str:
    """The entity of `init_or_mutate Entity(…) as name initialize`."""
    names = [value.text for value in head if isinstance(value, s.Name)]
    return names[0] if names else ""


def _size(node: s.Declaration) -> int:
    """How many members a declaration of data has; a command counts as it is."""
    return len(getattr(node, "items", ())) + len(getattr(node, "fields", ()))


def _unit(about: Analysis, open_: s.Declaration | None) -> Unit:
    """The text's declarations with the open one as it is up to the cursor, and what only was there before."""
    tree = salvage(about.compiled.parsed)
    before = about.whole.declarations if about.whole is not None else ()
    found: dict[tuple[type, str], s.Declaration] = {(type(node), node.name.text): node for node in before}
    for node in tree.declarations if tree is not None else ():
        known = found.get((type(node), node.name.text))
        if known is None or about.compiled.parsed.tree is not None or _size(node) >= _size(known):
            found[type(node), node.name.text] = node
    if isinstance(open_, s.CommandDecl) or (open_ and (type(open_), open_.name.text) not in found):
        found[type(open_), open_.name.text] = open_
    name = tree.name if tree is not None else s.Name(NOWHERE, "")
    unit = Unit(s.Contract(NOWHERE, name, s.Integer(NOWHERE, "1"), tuple(found.values())), Report())
    for check in CHECKS:
        check(unit)
    return unit
