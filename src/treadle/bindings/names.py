"""Names in a generated module: what the contract calls things, made to fit a language.

A name that is a keyword, that the module needs for itself, or that differs from another one of its scope by
nothing but the case of letters, gets underscores at its end until it is free; a comment says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[A-Z]")


class Name(NamedTuple):
    """A name of the contract, what it would be called in the module, and what it is called there."""

    declared: str
    wanted: str
    shown: str

    @property
    def note(self) -> str:
        """What a comment says of a name that had to give way; '' where it is as one expects."""
        return f"{self.declared} in the contract" if self.wanted != self.shown else ""


class Scope:
    """Names that stand side by side. `reserved` are taken from the start, spelled exactly so."""

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._reserved = frozenset(reserved)
        self._taken: set[str] = set()

    def take(self, declared: str, wanted: str | None = None) -> Name:
        """A name that is free, `wanted` (or the declared one) with as few underscores as it takes."""
        wanted = declared if wanted is None else wanted
        shown = visible(wanted)
        while shown in self._reserved or shown.casefold() in self._taken:
            shown += "_"
        self._taken.add(shown.casefold())
        return Name(declared, wanted, shown)


def visible(name: str) -> str:
    """A name without underscores at its front, which make it private, or mangled, in some places."""
    bare = name.lstrip("_")
    if not bare:
        return "underscore_"
    if bare[0].isdigit():
        bare = f"n{bare}"
    return name if bare == name else f"{bare}_"


def words(name: str) -> list[str]:
    """The words of a name, in lower case: `ClaimHTTPJob2` and `claim_http_job_2` have the same."""
    return [word.lower() for word in _WORDS.findall(name)] or ["underscore"]


def snake(name: str) -> str:
    """`ClaimWork` as `claim_work`."""
    return "_".join(words(name))


def camel(name: str) -> str:
    """`ClaimWork` as `claimWork`."""
    first, *rest = words(name)
    return first + "".join(word.capitalize() for word in rest)


def pascal(name: str) -> str:
    """`due_jobs` as `DueJobs`."""
    return "".join(word.capitalize() for word in words(name))
