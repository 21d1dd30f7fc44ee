"""The language server, `treadle lsp`: an editor's findings, explanations and proposals while one writes.

Reading order: `positions` and `documents` (the text as the client counts it), `names` with `collector`,
`data_names`, `command_names` and `index` (which name is what), `analysis`, `words`, `parts` and `describe…`
(what is known of it), `place`, `scope`, `items`, `snippets` and `suggest…` (what can be written), `subject`
with `contract_text` and `query_text` (a text in either language), `projects`, `desk`, `convert`, `renaming`
and `server` (the protocol).
"""

from __future__ import annotations

from treadle.lsp.serving import serve

__all__ = ["serve"]
