"""What is known of a contract's text: findings, names, and the last state of it that was whole."""

from __future__ import annotations

from functools import cached_property

from treadle.lsp.index import names_of
from treadle.lsp.names import Names
from treadle.model.contract import Contract
from treadle.plan import Plan, build
from treadle.riff import compile_contract
from treadle.riff import syntax as s
from treadle.riff.checks import CHECKS
from treadle.riff.diagnostics import Diagnostic, Extent, Report, Source
from treadle.riff.lalr import Token
from treadle.riff.partial import NOWHERE, salvage
from treadle.riff.symbols import Unit


class Analysis:
    """One state of a contract's text. `before` is that of an earlier one, whose knowledge goes on."""

    def __init__(self, text: str, before: Analysis | None = None) -> None:
        self.compiled = compile_contract(text)
        self.good: Contract | None = self.compiled.contract or (before.good if before else None)
        """The last contract that had no error."""
        self.unit = self.compiled.unit or self._salvaged()
        self._before = before.whole if before is not None else None

    def _salvaged(self) -> Unit:
        """The symbols of what can be read of a broken text; what the checks say of it is not told."""
        tree = salvage(self.compiled.parsed)
        empty = s.Contract(NOWHERE, s.Name(NOWHERE, ""), s.Integer(NOWHERE, "1"), ())
        unit = Unit(tree or empty, Report())
        for check in CHECKS:
            check(unit)
        return unit

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        return self.compiled.diagnostics

    @property
    def source(self) -> Source:
        return self.compiled.source

    @property
    def tokens(self) -> list[Token]:
        return self.compiled.parsed.lexed.tokens

    @property
    def comments(self) -> list[Token]:
        return self.compiled.parsed.lexed.comments

    @property
    def whole(self) -> s.Contract | None:
        """The tree of the last text that could be read."""
        return self.compiled.parsed.tree or self._before

    @cached_property
    def names(self) -> Names:
        return names_of(self.unit)

    @cached_property
    def plan(self) -> Plan | None:
        """The plan of the last contract without an error."""
        return build(self.good) if self.good is not None else None

    def text(self, at: Extent) -> str:
        """A piece of the text, on one line."""
        return " ".join(self.source.text[at.start : at.end].split())

    def remarks(self, at: Extent) -> str:
        """The comments that belong to a declaration: right above it, and behind it on its last line."""
        lines: list[str] = []
        number = self.source.position(at.start).line - 1
        while number > 0 and (line := self.source.line(number).strip()).startswith("//"):
            lines.insert(0, line.removeprefix("//").strip())
            number -= 1
        last = self.source.position(at.end)
        behind = self.source.line(last.line)[last.column - 1 :].strip(" ,\t")
        if behind.startswith("//"):
            lines.append(behind.removeprefix("//").strip())
        return "\n".join(lines)
