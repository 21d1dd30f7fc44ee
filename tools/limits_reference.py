"""The page of docs/reference that lists every fixed bound, from `treadle.limits`.

The names and the comments of that module are the page's words, so a bound that is added there is on the page.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any, Final

from treadle import limits

MADE: Final = "<!-- Made by tools/limits_reference.py; run `make docs` after a change. -->\n"
BEGINNING: Final = """# Limits

Every fixed bound. What passes one is refused with an error that names it, before anything is changed; no
bound is reached by waiting or by history. Sizes are bytes, of text as UTF-8. What can be changed is on the
page of [settings](config.md), what things cost on the page of [performance](performance.md).

Beside these: a database is one SQLite file on a local disk, up to SQLite's own 281 TB; one process writes at
a time, a batch of commands from all its threads at once. The log and its receipts grow by about a kilobyte a
command until they are [pruned](../howto/retention.md). The index of the graph is held in memory, about 430 MB
for a million statements. There is no inference, no full text search and no federation, and queries read along
declared indexes only.
"""
_SECTION: Final = re.compile(r"# ([A-Z][^.]*)\.$")
_BOUND: Final = re.compile(r"([A-Z][A-Z0-9_]*): Final = .*?(?:  # (.*))?$")
HIDDEN: Final = frozenset(("KIB", "MIB"))
UNITS: Final = ((limits.MIB, "MiB"), (limits.KIB, "KiB"))
POWERS: Final = {limits.U64_MAX: "2⁶⁴ − 1", limits.I64_MIN: "−2⁶³", limits.I64_MAX: "2⁶³ − 1"}


def limits_page() -> dict[str, str]:
    """`docs/reference/limits.md`."""
    return {"docs/reference/limits.md": MADE + BEGINNING + "".join(_tables())}


def _tables() -> Iterator[str]:
    for line in inspect.getsource(limits).splitlines():
        section = _SECTION.match(line)
        if section:
            yield f"\n## {section[1]}\n\n| bound | value |\n|---|---|\n"
        bound = _BOUND.match(line)
        if bound and bound[1] not in HIDDEN:
            yield f"| {_words(bound[1], bound[2])} | {_shown(bound[1], getattr(limits, bound[1]))} |\n"


def _words(name: str, comment: str | None) -> str:
    words = (
        name.lower()
        .replace("_", " ")
        .replace("http ", "HTTP ")
        .replace("u64", "`u64`")
        .replace("i64", "`i64`")
    )
    text = words[0].upper() + words[1:]
    return text if comment is None else f"{text}: {comment.rstrip(':')}"


def _shown(name: str, value: Any) -> str:
    if isinstance(value, tuple):
        return f"{value[0]:,} to {value[1]:,} s"
    if value in POWERS:
        return POWERS[value]
    if name.endswith("SECONDS"):
        return f"{value:,} s"
    if "BYTES" in name:
        for unit, sign in UNITS:
            if value % unit == 0:
                return f"{value // unit:,} {sign}"
    return f"{value:,}".replace("-", "−")
