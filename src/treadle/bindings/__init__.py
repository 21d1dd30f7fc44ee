"""Typed clients written from the interface of a contract, for `treadle generate`.

Reading order: `names` (one name for each thing, whatever the contract calls them), then for each language
its names, its types and the module (`python…`, `typescript…`). The same interface gives the same bytes. A
Python module runs on `treadle.client.typed`; a TypeScript one needs nothing but `fetch`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from treadle.bindings.python import python_module
from treadle.bindings.typescript import typescript_module
from treadle.client.interface import Interface

LANGUAGES: Final[Mapping[str, Callable[[Interface], str]]] = {
    "python": python_module,
    "typescript": typescript_module,
}
"""For each language, the function that writes a module."""

__all__ = ["LANGUAGES", "python_module", "typescript_module"]
