"""Updates of known shapes: texts that differ in their terms alone are taken apart once.

A client writes the same update again and again with other IRIs and strings in it.  The *shape* of a text is
what stands between its terms, so texts of one shape have the same tokens but for those terms.  The second
text of a shape is read once more with marks in place of its terms; where the marks come out says which term
goes where, and from then on a text of this shape is filled in instead of parsed.

Only what depends on nothing but its terms is read so: one INSERT DATA, DELETE DATA or DELETE/INSERT over the
whole dataset whose pattern is ground (a compare-and-set, such as an advance), without variables and blank
nodes.  The index checks each term that is filled in.  One that it refuses, that is relative or not in
canonical spelling, or that holds an escape, sends the text the long way: its answer is the same both ways.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias

import pyoxigraph as ox

from treadle.errors import TreadleError
from treadle.graph.convert import checked_iri
from treadle.graph.delta import Delta
from treadle.graph.evaluation import never
from treadle.graph.literals import MAPPED, canonical
from treadle.graph.sparql.bounded import is_bounded
from treadle.graph.sparql.request import Protocol, Request
from treadle.graph.sparql.solve import Labels, Overlay, Statements
from treadle.graph.sparql.split import Operation
from treadle.graph.sparql.templates import Template, placeholder_prefix
from treadle.graph.terms import IRI, Literal, Quad, trusted_literal

CHARACTERS: Final = 8_192
"""Of a text whose shape is looked at."""

TERMS: Final = 256
"""Of such a text."""

SHAPES: Final = 256
"""That are remembered, the latest ones; each takes some 10 to 50 kB."""

_INNER: Final = r"[^<>\"{}|^`\\\x00-\x20\ud800-\udfff]*+>"
_STRING: Final = "|".join(rf"{q}(?!{q}{q})[^{q}\\\r\n\x00\ud800-\udfff]*+{q}" for q in "\"'")
_TERM: Final = re.compile(rf"(<(?<!\^\^<)(?<!:<)(?<!:[ \t]<){_INNER}|{_STRING})")
"""What the tokenizer reads as an IRI or a short string wherever it meets it, with nothing in it escaped.

An IRI right after `^^` or a prefix is left in the shape: it says what another term is.
"""

_KEPT: Final = re.compile(rf"(?:\^\^|:[ \t]?)<{_INNER}")
_UNCLEAR: Final = re.compile(r"[<>\"'#\\\x00\ud800-\udfff]")
"""What else between terms could begin one, or hide one: a text that has it there is not looked at."""

_EMPTY_BLOCK: Final = re.compile(r"\{\s*\}")
_KINDS: Final = frozenset(("insert_data", "delete_data", "modify"))

Key: TypeAlias = tuple[str | None, str, tuple[str, ...]]
"""The base, the kinds of the terms, what stands between them."""

Known: TypeAlias = IRI | Literal | None
Places: TypeAlias = tuple[int, int, int, int]
"""Subject, predicate, object and graph of a statement as indexes of a list of terms."""


class Ground(NamedTuple):
    """An update whose statements are known: those that must be there, those it deletes, those it inserts."""

    where: Sequence[Quad]
    delete: Sequence[Quad]
    insert: Sequence[Quad]

    def evaluate(self, index: Statements, most: int) -> Delta:
        """The change that it makes to what an index has; see `treadle.graph.sparql.update.evaluate`.

        Raises:
            SparqlLimit: it touches more than `most` statements.
        """
        overlay = Overlay(index, most)
        if all(map(index.exists, self.where)):
            overlay.change(self.delete, self.insert)
        return overlay.delta()


class Slot(NamedTuple):
    """A term of a text by its number, with datatype and language where it is a string."""

    number: int
    datatype: str = ""
    language: str = ""


class Shape(NamedTuple):
    """What all texts of a shape say.

    Attributes:
        slots: the terms in which they differ.
        constants: the others; the last one is None, for the default graph.
        where, delete, insert: statements, as indexes of the slots' terms with the constants after them.
    """

    slots: tuple[Slot, ...]
    constants: tuple[Known, ...]
    where: tuple[Places, ...]
    delete: tuple[Places, ...]
    insert: tuple[Places, ...]

    def fill(self, pieces: Sequence[str]) -> Ground | None:
        """The update with the terms of a text in it; None where one of them needs a closer look."""
        terms: list[Known] = []
        for number, datatype, language in self.slots:
            text = pieces[2 * number + 1][1:-1]
            if datatype:
                literal = trusted_literal(text, datatype, language)
                if datatype in MAPPED and canonical(literal) is not literal:
                    return None
                terms.append(literal)
            else:
                iri = checked_iri(text)
                if iri is None:
                    return None
                terms.append(iri)
        terms += self.constants
        return Ground(_filled(self.where, terms), _filled(self.delete, terms), _filled(self.insert, terms))


def _filled(statements: tuple[Places, ...], terms: list[Known]) -> list[Quad]:
    made: list[tuple[Known, ...]] = [(terms[s], terms[p], terms[o], terms[g]) for s, p, o, g in statements]
    return list(map(Quad._make, made))


class Shapes:
    """The shapes that came lately. Any number of threads may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[Key, Shape | bool] = OrderedDict()  # False: met once; True: not to be filled

    def read(self, text: str, base: str | None) -> Ground | None:
        """The update that a text is, where it is of a shape that can be filled in; None for any other text.

        Args:
            text: SPARQL 1.1 Update, with no bindings and no dataset beside it.
            base: the IRI that relative IRIs are resolved against.
        """
        if len(text) > CHARACTERS:
            return None
        pieces = _TERM.split(text)
        if not 1 < len(pieces) <= 2 * TERMS + 1:
            return None
        key = (base, "".join([term[0] for term in pieces[1::2]]), tuple(pieces[::2]))
        known = self._met(key)
        if known is False:
            known = _learn(text, base, pieces) or True
            with self._lock:
                self._known[key] = known
        return known.fill(pieces) if isinstance(known, Shape) else None

    def _met(self, key: Key) -> Shape | bool | None:
        """What is known of a shape; None where it was not met before."""
        with self._lock:
            known = self._known.get(key)
            if known is None:
                self._known[key] = False
                if len(self._known) > SHAPES:
                    self._known.popitem(last=False)
            else:
                self._known.move_to_end(key)
            return known


def _learn(text: str, base: str | None, pieces: Sequence[str]) -> Shape | None:
    """The shape of a text, None where texts of it cannot be filled in."""
    between = [_KEPT.sub("", gap) for gap in pieces[::2]]
    if any(map(_UNCLEAR.search, between)) or any(map(_EMPTY_BLOCK.search, between)):
        return None
    stem = placeholder_prefix(text, {})
    marked = [f"{piece[0]}{stem}{at // 2}{piece[-1]}" if at % 2 else piece for at, piece in enumerate(pieces)]
    try:
        request = Request.read(
            "".join(marked),
            now=0,
            base=base,
            bindings={},
            labels=Labels("b"),
            protocol=Protocol(),
            stopped=never,
        )
        return _Learner(request, stem).shape(len(pieces) // 2)
    except (TreadleError, SyntaxError, RuntimeError):
        return None  # it is read the long way, which says what is wrong


class _Learner:
    """Finds the marks in an update that was read with them."""

    def __init__(self, request: Request, stem: str) -> None:
        self._request = request
        self._stem = stem
        self._slots: dict[int, Slot] = {}
        self._constants: dict[Known, None] = {}

    def shape(self, count: int) -> Shape | None:
        """The shape, None unless each of its terms is found, whole and as a term of a statement."""
        operations = self._request.update.operations
        if len(operations) != 1 or not self._fits(operations[0]):
            return None
        templates = (self._pattern(operations[0]), *self._request.templates(operations[0]))
        found = [slot for template in templates for pattern in template for slot in pattern]
        if not all(map(self._note, found)) or len(self._slots) != count:
            return None
        self._constants.pop(None, None)
        constants = (*self._constants, None)
        places = {constant: count + at for at, constant in enumerate(constants)}
        slots = [self._slots[number] for number in range(count)]

        def placed(template: Template) -> tuple[Places, ...]:
            rows = ([self._place(slot, places) for slot in pattern] for pattern in template)
            return tuple((s, p, o, g) for s, p, o, g in rows)

        where, delete, insert = map(placed, templates)
        return Shape(tuple(slots), constants, where, delete, insert)

    def _fits(self, operation: Operation) -> bool:
        chosen = operation.with_graph is not None or operation.has_using
        return operation.kind in _KINDS and not chosen and is_bounded(self._request)

    def _pattern(self, operation: Operation) -> Template:
        """The statements of a ground pattern, which is one for the index's query parser too."""
        if operation.where is None:
            return ()
        emitter = self._request.emitter()
        emitter.raw("ASK")
        emitter.span(operation.where[0], operation.where[1] + 1, operation.scope)
        ox.Store().query(emitter.text)
        return self._request.ground(operation)

    def _note(self, slot: object) -> bool:
        """Take a term down as marked or constant; False for what cannot be filled in."""
        if slot is None or isinstance(slot, IRI | Literal):
            number = self._number(slot)
            if number is None:
                self._constants[slot] = None
                plain = self._stem not in "".join(map(str, slot or ()))
                return plain and not (isinstance(slot, Literal) and canonical(slot) is not slot)
            made = Slot(number)
            if isinstance(slot, Literal):
                made = Slot(number, slot.datatype, slot.language or "")
            return self._slots.setdefault(number, made) == made
        return False

    def _number(self, term: Known) -> int | None:
        """The number of the term that a mark stands for."""
        if term is None or not term.value.startswith(self._stem):
            return None
        rest = term.value[len(self._stem) :]
        return int(rest) if rest.isascii() and rest.isdigit() and str(int(rest)) == rest else None

    def _place(self, slot: object, places: dict[Known, int]) -> int:
        if slot is None or not isinstance(slot, IRI | Literal):
            return places[None]
        number = self._number(slot)
        return places[slot] if number is None else number
