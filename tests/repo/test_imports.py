"""No import cycle; the layers themselves are import-linter's part (test_check.py, pyproject.toml)."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

import grimp
import pytest


def edges() -> dict[str, set[str]]:
    """Every module of the package and what it imports directly, imports inside functions included."""
    graph = grimp.build_graph("treadle", cache_dir=None)
    return {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}


def assert_no_cycle(imports: dict[str, set[str]]) -> None:
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        pytest.fail("import cycle: " + " → ".join(error.args[1]))


def test_no_import_cycle() -> None:
    assert_no_cycle(edges())


def test_a_cycle_would_be_found() -> None:
    with pytest.raises(pytest.fail.Exception, match="a → b → a|b → a → b"):
        assert_no_cycle({"a": {"b"}, "b": {"a"}, "c": {"a"}})
