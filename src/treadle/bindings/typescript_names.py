"""What everything is called in a TypeScript module. Members of objects keep the contract's names."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from treadle.bindings.names import Name, Scope, camel, pascal
from treadle.bindings.python_names import pascal_name, shapes_of
from treadle.client.interface import Interface

_KEYWORDS: Final = """
any as async await bigint boolean break case catch class const constructor continue debugger declare default
delete do else enum export extends false finally for from function get if implements import in infer
instanceof interface is keyof let module namespace never new null number object of package private protected
public readonly require return satisfies set static string super switch symbol this throw true try type typeof
undefined unique unknown var void while with yield arguments eval
"""
_GLOBALS: Final = """
AbortController Array AsyncGenerator BigInt Boolean Date Error Generator Infinity Iterable JSON Map Math NaN
Number Object Promise Readonly Record Set String Symbol TypeError URL Uint8Array atob btoa crypto
encodeURIComponent fetch globalThis performance setTimeout clearTimeout CONTRACT Commands Queries AnyEvent
face
"""
_MEMBERS: Final = """
constructor history pages query run runMany why then toString toJSON valueOf hasOwnProperty isPrototypeOf
"""
_DECLARED: Final = re.compile(
    r"^(?:export )?(?:async )?(?:type|interface|class|function\*?|const) (\w+)", re.MULTILINE
)


def declared_in(runtime: str) -> frozenset[str]:
    """The names that the fixed part of a module declares."""
    return frozenset(_DECLARED.findall(runtime))


class CommandNames(NamedTuple):
    input: Name
    outcome: Name
    method: Name


class QueryNames(NamedTuple):
    """`shapes` are the records of the answer by their path."""

    parameters: Name
    outcome: Name
    method: Name
    pages: Name
    shapes: dict[tuple[str, ...], Name]


class TypescriptNames:
    """The names of one module; `runtime` is its fixed part."""

    def __init__(self, interface: Interface, runtime: str) -> None:
        contract = interface.contract
        self.client = pascal_name(contract.name) + "Client"
        words = (*_KEYWORDS.split(), *_GLOBALS.split(), *declared_in(runtime), self.client)
        module = Scope(words)
        methods = Scope((*_KEYWORDS.split(), *_MEMBERS.split()))
        self.enums = {one.name: module.take(one.name) for one in contract.enums}
        self.entities = {one.name: module.take(one.name) for one in contract.entities}
        self.given = {one.name: module.take(one.name, f"{one.name}Input") for one in contract.entities}
        self.shapes = {one.name: module.take(one.name, f"{one.name}Shape") for one in contract.entities}
        self.events = {one.name: module.take(one.name) for one in contract.events}
        self.commands = {
            one.name: CommandNames(
                module.take(one.name, f"{one.name}Input"),
                module.take(one.name, f"{one.name}Outcome"),
                methods.take(one.name, camel(one.name)),
            )
            for one in contract.commands
        }
        self.queries = {
            one.name: QueryNames(
                module.take(one.name, f"{one.name}Parameters"),
                module.take(one.name, f"{one.name}Outcome"),
                methods.take(one.name, camel(one.name)),
                methods.take(one.name, f"{camel(one.name)}Pages"),
                {
                    path: module.take(one.name, one.name + "".join(map(pascal, path)) + "Row")
                    for path, _ in shapes_of(one.members)
                },
            )
            for one in interface.queries
        }
