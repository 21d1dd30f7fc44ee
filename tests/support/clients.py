"""Generated clients for tests: the contract with every type and every bad name, as a module."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import UUID

from tests.support.shared import ROOT
from treadle.bindings import LANGUAGES
from treadle.client.interface import Interface, interface_of
from treadle.riff import compile_contract
from treadle.riffql import compile_queries

NAMES = (ROOT / "tests/data/names.riff").read_text(encoding="utf-8")
NAMES_QUERIES = (ROOT / "tests/data/names.riffq").read_text(encoding="utf-8")
WORK = (ROOT / "tests/data/work_items.riff").read_text(encoding="utf-8")
SCOPE = UUID(int=7)


def interface(source: str = NAMES, queries: str = NAMES_QUERIES, **only: Any) -> Interface:
    """The interface of a contract and its queries; `only` is what a caller may use."""
    compiled = compile_contract(source)
    if compiled.contract is None:
        raise AssertionError(compiled.render())
    if not queries:
        return interface_of(compiled.contract, **only)
    asked = compile_queries(queries, compiled.contract)
    if asked.queries is None:
        raise AssertionError(asked.render())
    return interface_of(compiled.contract, asked.queries, **only)


def python_text(found: Interface | None = None) -> str:
    return LANGUAGES["python"](found or interface())


def loaded(text: str, name: str, folder: Path) -> ModuleType:
    """A generated module, imported from a file as an application does."""
    path = folder / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise AssertionError(f"{path} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@cache
def names_module() -> Any:
    """The module of tests/data/names.riff."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        return loaded(python_text(), "generated_names_client", Path(folder))
