"""Contract text to a checked contract.

Reading order: `riff.lark` (the grammar), `tokens`, `lalr` and `parse` (text to `syntax`), `tree`,
`diagnostics` and `render` (what is wrong and where), `symbols` and `expressions` (names and types),
`checks` (one file per refusal), `compiler`; `canonical`, `layout`, `marks`, `format` (identity and layout).
`generate` makes the parse table from the grammar and is the only module that needs Lark.
"""

from __future__ import annotations

from treadle.riff.compiler import Compiled, compile_contract
from treadle.riff.diagnostics import Diagnostic, Position, Related, Span, to_json
from treadle.riff.format import Formatted, format_contract
from treadle.riff.parse import Parsed, parse
from treadle.riff.render import render

__all__ = [
    "Compiled",
    "Diagnostic",
    "Formatted",
    "Parsed",
    "Position",
    "Related",
    "Span",
    "compile_contract",
    "format_contract",
    "parse",
    "render",
    "to_json",
]
