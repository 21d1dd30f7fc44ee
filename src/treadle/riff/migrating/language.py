"""The words, signs and parse table of migrations."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Final

from treadle.riff.lalr import Table, load
from treadle.riff.tokens import TOKEN, Language

GRAMMAR: Final = Path(__file__).with_name("migrating.lark")
TABLE: Final = Path(__file__).with_name("migrating.table.json")

NOUN: Final = "migration"


@cache
def table() -> Table:
    """The shipped parse table, read once."""
    return load(TABLE)


@cache
def language() -> Language:
    """What the reader of tokens needs: a contract's tokens, with a migration's words and signs."""
    kinds = {text: kind for kind, text in table().texts.items()}
    return Language(NOUN, re.compile(TOKEN, re.VERBOSE | re.DOTALL), kinds)
