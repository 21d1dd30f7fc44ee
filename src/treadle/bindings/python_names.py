"""What everything is called in a Python module."""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from treadle.bindings.names import Name, Scope, pascal, snake
from treadle.client.interface import Interface
from treadle.model import query as q
from treadle.model import types as t
from treadle.model.contract import Command, Field

KEYWORDS: Final = frozenset(keyword.kwlist)
_BUILTINS: Final = frozenset(name for name in dir(builtins) if not name.startswith("_"))
_ANNOTATIONS: Final = frozenset({"bool", "bytes", "float", "int", "str", "tuple"})
_MODULE: Final = frozenset({"CONTRACT", "AnyEvent", "read_event"})
_CLIENT: Final = frozenset({"CONTRACT", "history", "pages", "query", "run", "run_many", "why"})
_VARIANTS: Final = KEYWORDS | frozenset(dir(str)) | {"mro", "name", "value"}
_COMMAND_OPTIONS: Final = frozenset({"self", "timeout"})
_QUERY_OPTIONS: Final = frozenset({"after", "at_least", "self", "timeout"})

Names = Mapping[str, Name]


class CommandNames(NamedTuple):
    """A command's class, the union of its outcomes, its method, and what is inside of the class."""

    type: Name
    outcome: Name
    method: Name
    inputs: Names
    outcomes: Names
    fields: Mapping[str, Names]


class QueryNames(NamedTuple):
    """A query's class, the union of its outcomes, its methods, and what is inside of the class.

    `shapes` are the records of its answer by their path, such as `("jobs", "steps")`, and `members` the names
    inside of each; the answer itself has the path `()`.
    """

    type: Name
    outcome: Name
    method: Name
    pages: Name
    parameters: Names
    outcomes: Names
    shapes: Mapping[tuple[str, ...], Name]
    members: Mapping[tuple[str, ...], Names]


class PythonNames:
    """The names of one module."""

    def __init__(self, interface: Interface) -> None:
        contract = interface.contract
        self.client = pascal_name(contract.name) + "Client"
        module = Scope(KEYWORDS | _BUILTINS | _MODULE | {self.client, f"Async{self.client}"})
        self.enums = {one.name: module.take(one.name) for one in contract.enums}
        self.entities = {one.name: module.take(one.name) for one in contract.entities}
        self.events = {one.name: module.take(one.name) for one in contract.events}
        commands = {one.name: module.take(one.name) for one in contract.commands}
        queries = {one.name: module.take(one.name) for one in interface.queries}
        answers = [
            {name: module.take(name, f"{type_.shown}Outcome") for name, type_ in kind.items()}
            for kind in (commands, queries)
        ]
        listed = (self.enums, self.entities, self.events, commands, queries)
        self.types = {name.shown for kind in listed for name in kind.values()}
        self.members = {one.name: self._fields(one.members) for one in contract.entities}
        self.event_fields = {one.name: self._fields(one.fields) for one in contract.events}
        self.variants = {one.name: _variants(one.variants) for one in contract.enums}
        methods = Scope(KEYWORDS | _CLIENT)
        self.commands = {
            one.name: self._command(one, commands[one.name], answers[0][one.name], methods)
            for one in contract.commands
        }
        self.queries = {
            one.name: self._query(one, queries[one.name], answers[1][one.name], methods)
            for one in interface.queries
        }

    def _fields(self, fields: Iterable[Field], reserved: Iterable[str] = ()) -> Names:
        return self._scoped((field.name for field in fields), reserved)

    def _scoped(self, names: Iterable[str], reserved: Iterable[str]) -> Names:
        scope = Scope(KEYWORDS | _ANNOTATIONS | self.types | frozenset(reserved))
        return {name: scope.take(name) for name in names}

    def _inside(self, fields: Iterable[Field], shown: Names) -> Scope:
        """The scope of classes inside of a class with these fields, whose types must stay what they are."""
        used = {name.shown for name in shown.values()}
        for field in fields:
            kind = field.type
            while isinstance(kind, t.Optional | t.List):
                kind = kind.item
            if isinstance(kind, t.Enum):
                used.add(self.enums[kind.name].shown)
            elif isinstance(kind, t.Record):
                used.add(self.entities[kind.entity].shown)
        return Scope(KEYWORDS | used)

    def _command(self, command: Command, type_: Name, outcome: Name, methods: Scope) -> CommandNames:
        inputs = self._fields(command.inputs, _COMMAND_OPTIONS)
        nested = self._inside(command.inputs, inputs)
        return CommandNames(
            type=type_,
            outcome=outcome,
            method=methods.take(command.name, snake(command.name)),
            inputs=inputs,
            outcomes={one.name: nested.take(one.name) for one in command.outcomes},
            fields={one.name: self._fields(one.fields, ("receipt",)) for one in command.outcomes},
        )

    def _query(self, query: q.Query, type_: Name, outcome: Name, methods: Scope) -> QueryNames:
        parameters = self._fields(query.parameters, _QUERY_OPTIONS)
        nested = self._inside(query.parameters, parameters)
        outcomes = {name: nested.take(name) for name in query.outcomes}
        shapes = {
            path: nested.take(path[-1], "".join(map(pascal, path)) + "Row")
            for path, _ in shapes_of(query.members)
        }
        members = {
            path: self._scoped((one.name for one in inside), ("page",) if not path else ())
            for path, inside in (((), query.members), *shapes_of(query.members))
        }
        return QueryNames(
            type=type_,
            outcome=outcome,
            method=methods.take(query.name, snake(query.name)),
            pages=methods.take(query.name, f"{snake(query.name)}_pages"),
            parameters=parameters,
            outcomes=outcomes,
            shapes=shapes,
            members=members,
        )


def _variants(variants: Iterable[str]) -> Names:
    scope = Scope(_VARIANTS)
    return {variant: scope.take(variant) for variant in variants}


def pascal_name(name: str) -> str:
    """A contract's name at the front of a class's: as it is, but with a capital first letter."""
    bare = name.lstrip("_")
    return bare[:1].upper() + bare[1:] if bare[:1].isalpha() else f"Contract{bare}"


def shapes_of(
    members: Iterable[q.Member], path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], tuple[q.Member, ...]]]:
    """The records in an answer, each with its path and members; those inside of others come first."""
    for member in members:
        if isinstance(member.value, q.ShapeResult):
            here = (*path, member.name)
            yield from shapes_of(member.value.members, here)
            yield here, member.value.members
