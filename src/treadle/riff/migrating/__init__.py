"""Migrations: from text and two contracts to a checked migration.

    migrate 1 to 2 {
      field Job.priority = pages / 10 + 1
      index Job.by_priority
    }

Reading order: `migrating.lark` and `language` (grammar, words and table), `parse` with `syntax` (text to
syntax), `check`. A checked migration is `treadle.model.migration.Migration`. The language's reference is
docs/explain/evolution.md.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from treadle.model.migration import Migration, Need
from treadle.riff.canonical import canonical_source
from treadle.riff.diagnostics import Diagnostic, Source
from treadle.riff.lalr import Token
from treadle.riff.migrating.check import Change, check_migration, line_of
from treadle.riff.migrating.parse import parse
from treadle.riff.render import render

_DOMAIN: Final = b"treadle migration source 1\n"


@dataclass(frozen=True)
class Compiled:
    """What compiling a migration gave: `migration` is None where a diagnostic is an error."""

    migration: Migration | None
    diagnostics: tuple[Diagnostic, ...]
    source: Source

    def render(self) -> str:
        """The diagnostics as text, with source lines and carets."""
        return render(self.diagnostics, self.source)


def compile_migration(source: str | bytes, change: Change, name: str = "<migration>") -> Compiled:
    """Compile a migration's text against the contracts that it leads from and to.

    `source` is text or UTF-8 bytes, `name` what diagnostics call it. Never raises: whatever the text is, the
    result has a migration or diagnostics that say what to write instead.
    """
    parsed = parse(source, name)
    if parsed.tree is None:
        return Compiled(None, parsed.diagnostics, parsed.source)
    tokens = parsed.lexed.tokens
    found = check_migration(parsed.tree, change, parsed.report, parsed.source.text, _identity(tokens))
    return Compiled(found, parsed.diagnostics, parsed.source)


def _identity(tokens: list[Token]) -> str:
    """SHA-256, in hex, over `treadle migration source 1` and a line feed, then the canonical source form."""
    return hashlib.sha256(_DOMAIN + canonical_source(tokens)).hexdigest()


def draft(before: int, after: int, needs: Iterable[Need]) -> str:
    """The text of a migration that names all of `needs`, with `…` where a field's value is to be written."""
    lines = "".join(f"  {line_of(need)}\n" for need in needs)
    return f"migrate {before} to {after} {{\n{lines}}}\n"


__all__ = ["Change", "Compiled", "Diagnostic", "compile_migration", "draft"]
