"""Documents that lay themselves out: on one line where they fit, else broken at their outermost places.

A document is a text, a list of documents, or one of the nodes below. `lay_out` prints one in time linear
in its size (each group is measured at most once for the line it begins on).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias


@dataclass(frozen=True, slots=True)
class Line:
    """`flat` where its group is on one line, else a line end. A `hard` one always ends its line."""

    flat: str = " "
    hard: bool = False
    blank: bool = False  # an empty line follows


@dataclass(frozen=True, slots=True)
class Suffix:
    """A comment, which ends its line."""

    text: str


@dataclass(frozen=True, slots=True)
class Indent:
    body: Document


@dataclass(frozen=True, slots=True)
class Group:
    """Either all the lines directly in it end, or none."""

    body: Document


@dataclass(frozen=True, slots=True)
class Block:
    """What has lines of its own, whatever holds it; it may begin on its holder's line."""

    body: Document


Document: TypeAlias = "str | list[Document] | Line | Suffix | Indent | Group | Block"

SPACE: Final = Line()
NOTHING: Final = Line("")
HARD: Final = Line(hard=True)
BLANK: Final = Line(hard=True, blank=True)
STEP: Final = "  "


def width_of(body: Document, room: int) -> int:
    """The width of a document on one line up to where it must end; above `room` where it does not fit."""
    width = 0
    waiting = [body]
    while waiting and width <= room:
        here = waiting.pop()
        match here:
            case str():
                width += len(here)
            case list():
                waiting.extend(reversed(here))
            case Suffix() | Line(hard=True):
                return width
            case Line(flat):
                width += len(flat)
            case Indent(inner) | Group(inner) | Block(inner):
                waiting.append(inner)
    return width


def one_line(body: Document) -> bool:
    """Whether nothing in a document must end a line."""
    waiting = [body]
    while waiting:
        here = waiting.pop()
        match here:
            case list():
                waiting.extend(here)
            case Suffix() | Line(hard=True):
                return False
            case Indent(inner) | Group(inner) | Block(inner):
                waiting.append(inner)
            case _:
                pass
    return True


def lay_out(document: Document, width: int) -> str:
    """The text of a document in lines of at most `width` columns where that is possible."""
    return "".join(_pieces(document, width)).strip("\n") + "\n"


def _pieces(document: Document, width: int) -> Iterator[str]:
    column = 0
    waiting: list[tuple[Document, int, bool]] = [(document, 0, False)]  # with depth, and whether it is flat
    while waiting:
        here, depth, flat = waiting.pop()
        match here:
            case str():
                column += len(here)
                yield here
            case list():
                waiting.extend((each, depth, flat) for each in reversed(here))
            case Indent(inner):
                waiting.append((inner, depth + 1, flat))
            case Group(inner):
                fits = flat or column + width_of(inner, width - column) <= width
                waiting.append((inner, depth, fits))
            case Block(inner):
                waiting.append((inner, depth, False))
            case Suffix(text):
                yield text
            case Line() if flat and not here.hard:
                column += len(here.flat)
                yield here.flat
            case Line():
                following = waiting[-1][0] if waiting else None
                column = 0 if following is None else depth * len(STEP)
                yield "\n\n" if here.blank else "\n"
                yield STEP * depth
