"""The words, signs and parse table of named queries."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Final

from treadle.riff.lalr import Table, load
from treadle.riff.tokens import TOKEN, Language, words

GRAMMAR: Final = Path(__file__).with_name("riffql.lark")
TABLE: Final = Path(__file__).with_name("riffql.table.json")

NOUN: Final = "query text"

FOREIGN: Final = words(
    "select join limit offset having distinct union with insert update delete set create skip filter"
)
"""Words of other query languages: refused with S008 where a statement or clause could begin."""

INSTEAD: Final = {
    "select": "write what is answered in `return Found { rows: row { field } }`",
    "join": "write a second statement whose `where` names a field of the first row",
    "limit": "write `take 100`",
    "offset": "write `take 100 after $cursor`",
    "skip": "write `take 100 after $cursor`",
    "having": "a group cannot be filtered; leave groups out where you read the answer",
    "distinct": "write `group by`",
    "filter": "write `where`",
    "insert": "only a command of the contract changes data",
    "update": "only a command of the contract changes data",
    "delete": "only a command of the contract changes data",
    "create": "only a command of the contract changes data",
    "set": "only a command of the contract changes data",
}
"""What to write where such a word stands."""

_EXTRA: Final = r"(?P<parameter>\$[A-Za-z_][A-Za-z0-9_]*+(?!\w)) | (?P<bar>\|(?!\|)) |"


@cache
def table() -> Table:
    """The shipped parse table, read once."""
    return load(TABLE)


@cache
def language() -> Language:
    """What the reader of tokens needs: a contract's tokens, `$name` and `|`."""
    kinds = {text: kind for kind, text in table().texts.items()}
    return Language(NOUN, re.compile(_EXTRA + TOKEN, re.VERBOSE | re.DOTALL), kinds)
