"""Where the page of a diagnostic's code lies: an installed package brings the pages along."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from treadle.riff.codes import CODES

_PACKAGE: Final = Path(__file__).resolve().parents[1]
PLACES: Final = (
    _PACKAGE / "docs" / "diagnostics",
    _PACKAGE.parents[1] / "docs" / "reference" / "diagnostics",
)
"""The folder of an installed package, and that of a clone."""


def page(code: str) -> Path | None:
    """The Markdown file that explains a code; None for what is no code, and where no pages are installed."""
    if code not in CODES:
        return None
    return next((path for place in PLACES if (path := place / f"{code}.md").is_file()), None)
