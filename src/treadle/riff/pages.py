"""Where the page of a diagnostic's code lies: an installed package brings the pages along."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

_PACKAGE: Final = Path(__file__).resolve().parents[1]
PLACES: Final = (
    _PACKAGE / "docs" / "diagnostics",
    _PACKAGE.parents[1] / "docs" / "reference" / "diagnostics",
)
"""The folder of an installed package, and that of a clone."""

_CODE: Final = re.compile("[A-Z][0-9]{3}")


def page(code: str) -> Path | None:
    """The Markdown file that explains a code; None for what is no code, and where no pages are installed."""
    if not _CODE.fullmatch(code):
        return None
    return next((path for place in PLACES if (path := place / f"{code}.md").is_file()), None)
