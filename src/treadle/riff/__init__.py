"""Contract text to a checked contract.

Reading order: `riff.lark` (the grammar), `tokens`, `lalr` and `parse` (text to `syntax`), `tree`,
`diagnostics` and `render` (what is wrong and where), `symbols` and `expressions` (names and types),
`checks` (one file per refusal), `compiler`. `generate` makes the parse table from the grammar and is the
only module that needs Lark.
"""
