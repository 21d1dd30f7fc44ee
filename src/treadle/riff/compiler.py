"""Contract text to a checked contract, or to everything that is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from treadle.model.contract import Contract
from treadle.riff.canonical import source_identity
from treadle.riff.checks import CHECKS
from treadle.riff.diagnostics import Diagnostic, Source
from treadle.riff.lower import lower
from treadle.riff.parse import Parsed, parse
from treadle.riff.render import render
from treadle.riff.symbols import Unit


@dataclass(frozen=True)
class Compiled:
    """What became of a contract's text.

    `contract` is None where there is an error among the `diagnostics` (at most 32, in source order).
    `identity` is the SHA-256 of the canonical source form, in hex, and `unit` what its names stand for; None
    for what is not of the grammar.
    """

    contract: Contract | None
    identity: str | None
    parsed: Parsed
    unit: Unit | None = None

    @cached_property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        return self.parsed.diagnostics

    @property
    def source(self) -> Source:
        return self.parsed.source

    def render(self) -> str:
        """The diagnostics as text, with the source lines."""
        return render(self.diagnostics, self.source)


def compile_contract(source: str | bytes, name: str = "<contract>") -> Compiled:
    """Compile a contract. `source`: text, or UTF-8 bytes, at most 1 MiB; `name` is what diagnostics call it.

    Any input gives a contract or diagnostics, in time linear in its length; nothing is raised.
    """
    parsed = parse(source, name)
    if parsed.tree is None:
        return Compiled(None, None, parsed)
    identity = source_identity(parsed.lexed.tokens)
    unit = Unit(parsed.tree, parsed.report)
    for each in CHECKS:
        each(unit)
    contract = None if parsed.report.failed() else lower(unit, identity)
    return Compiled(contract, identity, parsed, unit)
