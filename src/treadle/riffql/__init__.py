"""Named queries: from query text and a checked contract to checked queries.

Reading order: `riffql.lark` and `language` (the grammar, its words and table), `parse` with `tree` (text to
syntax), `syntax`, then `check` with `names`, `conditions`, `access` (which index) and `results`, and
`format` (one layout, the canonical form, identity). A checked query is `treadle.model.query.Query`.
docs/reference/riffql.md is the language's reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from treadle.model.contract import Contract
from treadle.model.query import Query
from treadle.riff.diagnostics import Diagnostic, Source
from treadle.riff.render import render
from treadle.riffql.check import check_query
from treadle.riffql.format import formatted, identity, laid_out
from treadle.riffql.parse import parse


@dataclass(frozen=True)
class Compiled:
    """What compiling a text of queries gave: `queries` is None where a diagnostic is an error."""

    queries: tuple[Query, ...] | None
    diagnostics: tuple[Diagnostic, ...]
    source: Source

    def render(self) -> str:
        """The diagnostics as text, with source lines and carets."""
        return render(self.diagnostics, self.source)


def compile_queries(source: str | bytes, contract: Contract, name: str = "<queries>") -> Compiled:
    """Compile a text of named queries against a checked contract.

    `source` is text or UTF-8 bytes, `name` what diagnostics call it. Never raises: whatever the text is, the
    result has queries or diagnostics that say what to write instead.
    """
    parsed = parse(source, name)
    if parsed.queries is None:
        return Compiled(None, parsed.diagnostics, parsed.source)
    found: list[Query] = []
    seen: dict[str, int] = {}
    report = parsed.report
    for place, node in enumerate(parsed.queries):
        first = seen.setdefault(node.name.text, place)
        if first != place:
            related = [("the first is here", parsed.queries[first].name.at)]
            message = f"query `{node.name.text}` is declared twice; rename or remove one"
            report.add("Q001", node.name.at, message, related=related)
        query = check_query(node, contract, report, laid_out(parsed, node), identity(parsed, node))
        if query is not None:
            found.append(query)
    good = tuple(found) if not report.failed() else None
    return Compiled(good, parsed.diagnostics, parsed.source)


def format_queries(source: str | bytes, name: str = "<queries>") -> str | None:
    """A text of queries in the one layout, comments kept; None where it cannot be read."""
    parsed = parse(source, name)
    return None if parsed.queries is None else formatted(parsed)


def duplicates(texts: Sequence[Sequence[Query]]) -> list[str]:
    """Names that several texts declare."""
    names = [query.name for queries in texts for query in queries]
    return sorted({name for name in names if names.count(name) > 1})


__all__ = ["Compiled", "Diagnostic", "compile_queries", "duplicates", "format_queries"]
