"""Reference material that lies beside the repository: contracts, refusal cases, the W3C's SPARQL tests."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
"""The repository's root."""

SHARED = ROOT.parent / "shared"


def shared(path: str) -> Path:
    """The file or folder `../shared/<path>`; skips the calling test or module when it is not there."""
    found = SHARED / path
    if not found.exists():
        pytest.skip(f"../shared/{path} is not beside this clone", allow_module_level=True)
    return found
