"""What the language server can ask of a text, whichever language it is in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from treadle.lsp.items import Item
from treadle.lsp.names import Kind
from treadle.riff.diagnostics import Diagnostic, Extent


class Hover(NamedTuple):
    """What is said of a piece of the text, as Markdown."""

    at: Extent
    text: str


class Target(NamedTuple):
    """Where a name is declared: in the text itself, or (`here` is false) in the contract it is about."""

    at: Extent
    here: bool


class Outline(NamedTuple):
    """A declaration with what is declared in it; `name_at` is within `at`."""

    name: str
    kind: Kind
    detail: str
    at: Extent
    name_at: Extent
    children: tuple[Outline, ...] = ()


class Renaming(NamedTuple):
    """A name that can be changed, and everywhere it stands."""

    at: Extent
    name: str
    everywhere: tuple[Extent, ...]


class Subject(Protocol):
    """One state of a text. Offsets count code points, without a byte order mark."""

    @property
    def diagnostics(self) -> Sequence[Diagnostic]:
        """What the compiler says, in source order."""

    def hover(self, offset: int) -> Hover | None:
        """What is known of the name or word at an offset."""

    def definition(self, offset: int) -> Target | None:
        """Where the name at an offset is declared."""

    def references(self, offset: int) -> list[Extent]:
        """Everywhere that the name at an offset stands in this text, its declaration too."""

    def renaming(self, offset: int) -> Renaming | None:
        """The name at an offset, if it can be renamed here."""

    def refuses(self, text: str) -> str | None:
        """What is wrong with the text after a change that was right before; None for nothing."""

    def suggestions(self, offset: int) -> tuple[Extent, list[Item]]:
        """What can be written at an offset, and what it would replace."""

    def outline(self) -> list[Outline]:
        """The declarations, in source order."""

    def formatted(self) -> str | None:
        """The text in the one layout; None where it cannot be read."""
