"""What the repository's style forbids: a rule is a function from a file to the places that break it."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.repo.sources import Source

FUNCTION_LINES = 70
FILE_LINES = 600

Function = ast.FunctionDef | ast.AsyncFunctionDef
Place = tuple[int, str]
"""A line, and what stands there."""


@dataclass(frozen=True)
class Rule:
    """A rule, the folders it holds in (all without any), and what to do instead."""

    name: str
    find: Callable[[Source], Iterator[Place]]
    folders: tuple[str, ...]
    instead: str


def functions(source: Source) -> Iterator[Function]:
    for node in ast.walk(source.tree):
        if isinstance(node, Function):
            yield node


def docstring_lines(node: Function) -> int:
    first = node.body[0]
    if ast.get_docstring(node, clean=False) is None or first.end_lineno is None:
        return 0
    return first.end_lineno - first.lineno + 1


def length(node: Function) -> int:
    """Lines from `def` to the end; the docstring is documentation, not length."""
    return (node.end_lineno or node.lineno) - node.lineno + 1 - docstring_lines(node)


def code_length(source: Source, node: Function) -> int:
    """Like `length`, without blank lines and lines that only hold a comment: what the median is taken of."""
    lines = source.code.splitlines()[node.lineno - 1 : node.end_lineno]
    return sum(bool(line.strip()) and not line.strip().startswith("#") for line in lines) - docstring_lines(
        node
    )


def long_function(source: Source) -> Iterator[Place]:
    for node in functions(source):
        if length(node) > FUNCTION_LINES:
            yield node.lineno, f"{node.name} has {length(node)} lines"


def long_file(source: Source) -> Iterator[Place]:
    count = source.code.count("\n")
    if count > FILE_LINES:
        yield count, f"{count} lines"


def assertion(source: Source) -> Iterator[Place]:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Assert):
            yield node.lineno, "assert"


def broad_except(source: Source) -> Iterator[Place]:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ExceptHandler) and catches_all(node.type) and not goes_on(node):
            yield node.lineno, "except " + (ast.unparse(node.type) if node.type else "without a type")


def catches_all(caught: ast.expr | None) -> bool:
    if caught is None:
        return True
    if isinstance(caught, ast.Tuple):
        return any(map(catches_all, caught.elts))
    return isinstance(caught, ast.Name) and caught.id in ("Exception", "BaseException")


def goes_on(handler: ast.ExceptHandler) -> bool:
    """Whether the handler ends in a bare `raise`: it cleans up and hides nothing."""
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


CLOCK_AND_CHANCE = {
    "datetime": {"now", "utcnow", "today"},
    "date": {"today"},
    "time": {"time", "time_ns"},
    "uuid": {"uuid1", "uuid4", "uuid6", "uuid7", "uuid8"},
    "os": {"urandom", "getrandom"},
    "random": None,
    "secrets": None,
}
"""Modules and classes whose named members read a clock or throw dice; None: every member does."""


def clock_or_chance(source: Source) -> Iterator[Place]:
    for node in ast.walk(source.tree):
        for module, member in uses(node):
            members = CLOCK_AND_CHANCE.get(module, set())
            if members is None or member in members:
                yield getattr(node, "lineno", 1), f"{module}.{member}" if member else module


def uses(node: ast.AST) -> Iterator[tuple[str, str]]:
    """(module or class, member) of an attribute or an import; a plain import has no member."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
        owner = node.value.id if isinstance(node.value, ast.Name) else node.value.attr
        if CLOCK_AND_CHANCE.get(owner):  # of `random` and `secrets` the import is found, a local name is free
            yield owner, node.attr
    elif isinstance(node, ast.Import):
        yield from ((alias.name, "") for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        yield from ((node.module, alias.name) for alias in node.names)


def comment(pattern: str) -> Callable[[Source], Iterator[Place]]:
    """A rule about comments; text in strings is no comment, hence the tokenizer."""
    wanted = re.compile(pattern)

    def find(source: Source) -> Iterator[Place]:
        for token in tokenize.generate_tokens(io.StringIO(source.code).readline):
            if token.type == tokenize.COMMENT and wanted.search(token.string):
                yield token.start[0], token.string

    return find


PACKAGE = ("src/",)
PROGRAMS = ("src/", "tools/", "sim/", "bench/", "examples/")

RULES = (
    Rule("function-length", long_function, (), "take a step of it out and give it a name"),
    Rule("file-length", long_file, (), "one noun, one module: split it"),
    Rule("assert", assertion, PACKAGE, "use treadle.errors.check, which `python -O` keeps"),
    Rule("clock-or-chance", clock_or_chance, PACKAGE, "take a Clock or Ids from the caller (treadle.ports)"),
    Rule("broad-except", broad_except, PROGRAMS, "catch what you can handle, by its type"),
    Rule("type-ignore", comment(r"type:\s*ignore"), PROGRAMS, "give it its type"),
    Rule("noqa", comment(r"(?i)\bnoqa\b"), PROGRAMS, "write it as the linter says"),
    Rule("no-cover", comment(r"pragma:\s*no cover"), (), "test it, or remove it"),
)
