"""Whether a name can be changed to another one."""

from __future__ import annotations

import re

from treadle.limits import IDENTIFIER_BYTES
from treadle.lsp.subject import Renaming, Subject

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def refusal(text: str, subject: Subject, renaming: Renaming, new: str) -> str | None:
    """What speaks against a new name, in words; None for nothing.

    The changed text is compiled: a name that is taken, or a word of the language, gives a finding there.
    """
    if not _NAME.fullmatch(new) or len(new) > IDENTIFIER_BYTES:
        return (
            f"a name has ASCII letters, digits and `_`, at most {IDENTIFIER_BYTES}, and begins with no digit"
        )
    changed = text.removeprefix("\ufeff")
    for at in sorted(renaming.everywhere, reverse=True):
        changed = changed[: at.start] + new + changed[at.end :]
    return subject.refuses(changed)
