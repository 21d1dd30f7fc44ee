"""The generated client of examples/generated_client, as its folder's settings give it."""

from __future__ import annotations

from pathlib import Path

from treadle.bindings import python_module
from treadle.client.interface import interface_of
from treadle.riff import compile_contract
from treadle.riffql import compile_queries

FOLDER = "examples/generated_client"
ROOT = Path(__file__).resolve().parent.parent


def files() -> dict[str, str]:
    """The module that `treadle generate python -o queue_client.py` writes in that folder."""
    compiled = compile_contract((ROOT / FOLDER / "queue.riff").read_bytes())
    if compiled.contract is None:
        raise ValueError(compiled.render())
    asked = compile_queries((ROOT / FOLDER / "waiting.riffq").read_bytes(), compiled.contract)
    if asked.queries is None:
        raise ValueError(asked.render())
    return {f"{FOLDER}/queue_client.py": python_module(interface_of(compiled.contract, asked.queries))}
