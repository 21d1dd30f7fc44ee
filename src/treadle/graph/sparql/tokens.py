"""SPARQL text into tokens, by the terminals of the SPARQL 1.1 grammar, longest match.

Everything else in this package works on tokens, never on text: a keyword inside a string, an IRI or a comment
is no keyword here, and a word outside the keyword list is a syntax error, however it is glued or escaped.
SERVICE and LATERAL are not on the list.  LOAD is, so that it can be refused with its own message.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Final, NamedTuple

from treadle.errors import SparqlLimit, SparqlSyntax

# Token kinds.
IRIREF: Final = "iri"  # value: the text between < and >, escapes decoded
NAME: Final = "name"  # prefix:local, value as written
VAR: Final = "var"  # value: the name without ? or $
BLANK: Final = "blank"  # value: the label without _:
STRING: Final = "string"  # value: the characters, escapes decoded
LANG: Final = "lang"  # value: the tag without @
NUMBER: Final = "number"  # value as written
WORD: Final = "word"  # value: the keyword in upper case, or "a"
PUNCT: Final = "punct"  # value as written


class Token(NamedTuple):
    """One token: kind, value, offset in the text."""

    kind: str
    value: str
    start: int


_token: Final[Callable[[tuple[str, str, int]], Token]] = partial(tuple.__new__, Token)
"""A token of a tuple, made in half the time that calling the class takes."""


TOKENS: Final = 2_000_000
"""Of one text; each takes some 150 bytes while the request is computed."""

_FUNCTION_WORDS: Final = """
    COUNT SUM MIN MAX AVG SAMPLE GROUP_CONCAT STR LANG LANGMATCHES DATATYPE BOUND IRI URI BNODE RAND ABS
    CEIL FLOOR ROUND CONCAT STRLEN UCASE LCASE ENCODE_FOR_URI CONTAINS STRSTARTS STRENDS STRBEFORE
    STRAFTER YEAR MONTH DAY HOURS MINUTES SECONDS TIMEZONE TZ NOW UUID STRUUID MD5 SHA1 SHA256 SHA384
    SHA512 COALESCE IF STRLANG STRDT SAMETERM ISIRI ISURI ISBLANK ISLITERAL ISNUMERIC REGEX SUBSTR
    REPLACE
    """
_OTHER_WORDS: Final = """
    BASE PREFIX SELECT DISTINCT REDUCED CONSTRUCT DESCRIBE ASK FROM NAMED WHERE GROUP BY HAVING ORDER
    ASC DESC LIMIT OFFSET VALUES UNDEF LOAD SILENT TO INTO GRAPH CLEAR DROP CREATE ADD MOVE COPY INSERT
    DELETE DATA WITH USING DEFAULT ALL OPTIONAL MINUS UNION FILTER BIND AS EXISTS NOT IN TRUE FALSE
    SEPARATOR
    """
FUNCTIONS: Final = frozenset(_FUNCTION_WORDS.split())
KEYWORDS: Final = FUNCTIONS | frozenset(_OTHER_WORDS.split())
_AS_WRITTEN: Final = frozenset((PUNCT, NAME, NUMBER))
_REFUSED_WORDS: Final = {
    "SERVICE": "SERVICE is not part of this version: nothing here opens a connection",
    "LATERAL": "LATERAL is not part of this version: write a subselect",
}

_BASE: Final = (
    "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d\u2070-\u218f"
    "\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_START: Final = _BASE + "_"
_INNER: Final = _START + "0-9\u00b7\u0300-\u036f\u203f\u2040"
_CHARS: Final = _INNER + "\\-"
_PREFIX: Final = f"[{_BASE}](?:[{_CHARS}.]*[{_CHARS}])?"
_PLX: Final = r"%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?#@%]"
_LOCAL: Final = (
    f"(?:[{_START}:0-9]|{_PLX})"
    f"(?:(?:[{_CHARS}:]|{_PLX})|\\.+(?=[{_CHARS}:.%\\\\])(?=\\.*(?:[{_CHARS}:]|{_PLX})))*"
)
_UCHAR: Final = r"\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}"
_EXPONENT: Final = r"[eE][+-]?[0-9]+"

_SHORT: Final = "|".join(rf"(?!{q}{q}{q}){q}[^{q}\\\r\n]*+(?:\\.[^{q}\\\r\n]*+)*+{q}" for q in "\"'")
_IRI_CHARS: Final = r"[^<>\"{}|^`\\\x00-\x20]*+"

_TOKEN: Final = re.compile(
    rf"""
    (?:[\x20\t\r\n]++|\#[^\r\n]*+)*+
  (?:(?P<iri><{_IRI_CHARS}(?:(?:{_UCHAR}){_IRI_CHARS})*+>)
  | (?P<bracket>[{{}}()\[\];,])
  | (?P<short>{_SHORT})
  | (?P<var>[?$][{_START}0-9][{_INNER}]*+)
  | (?P<blank>_:[{_START}0-9](?:[{_CHARS}.]*[{_CHARS}])?)
  | (?P<name>(?:{_PREFIX})?:(?:{_LOCAL})?)
  | (?P<word>[{_START}][{_INNER}]*+)
  | (?P<long>\"\"\"(?:\"{{0,2}}(?:[^"\\]|\\.))*\"\"\"|'''(?:'{{0,2}}(?:[^'\\]|\\.))*''')
  | (?P<number>[+-]?(?:[0-9]+\.[0-9]*{_EXPONENT}|\.[0-9]+{_EXPONENT}|[0-9]+{_EXPONENT}
               |[0-9]*\.[0-9]+|[0-9]+))
  | (?P<lang>@[a-zA-Z]+(?:-[a-zA-Z0-9]+)*)
  | (?P<punct>\^\^|&&|\|\||!=|<=|>=|[.*/|^!=<>+?-])
  | (?P<end>\Z)
  | (?P<other>.)
  )
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_SIMPLE: Final = {
    "t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\",
}  # fmt: skip
_IRI_FORBIDDEN: Final = re.compile(r'[<>"{}|^`\\\x00-\x20\ud800-\udfff]')
_WORD: Final = re.compile(r"\S[^\s{}();,]{0,39}")
_LINE_END: Final = re.compile(r"\r\n|\r|\n")


class Source:
    """A SPARQL text with the places of its lines, for errors in the reader's own terms."""

    __slots__ = ("_lines", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines: list[int] | None = None

    def place(self, offset: int) -> tuple[int, int]:
        """The line and column of an offset, both from 1; columns count code points."""
        if self._lines is None:
            self._lines = [0, *(match.end() for match in _LINE_END.finditer(self.text))]
        line = bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1] + 1

    def word(self, offset: int) -> str:
        """What stands at an offset, up to white space, for a message."""
        match = _WORD.match(self.text, offset)
        return match.group() if match else "the end"

    def error(self, message: str, offset: int) -> SparqlSyntax:
        """A syntax error at an offset of this text."""
        line, column = self.place(offset)
        return SparqlSyntax(message, line=line, column=column)


def tokenize(source: Source) -> list[Token]:
    """The tokens of a text, white space and comments left out.

    Args:
        source: the text as the caller wrote it.

    Raises:
        SparqlSyntax: a character that begins no token, a word that is no keyword, a string without end, an
            unknown escape, NUL or a lone surrogate.
        SparqlLimit: there are more than `TOKENS` of them.
    """
    _check_fit(source)
    tokens: list[Token] = []
    append = tokens.append
    for match in islice(_TOKEN.finditer(source.text), TOKENS + 2):
        kind = match.lastgroup or "other"
        piece, start = match[kind], match.start(kind)
        if kind == IRIREF and "\\" not in piece:
            append(_token((IRIREF, piece[1:-1], start)))
        elif kind == "bracket":
            append(_token((PUNCT, piece, start)))
        elif kind in _AS_WRITTEN:
            append(_token((kind, piece, start)))
        elif kind == "short" and "\\" not in piece:
            append(_token((STRING, piece[1:-1], start)))
        elif kind == VAR:
            append(_token((VAR, piece[1:], start)))
        elif kind == WORD:
            append(_word(source, piece, start))
        elif kind != "end":
            append(_decoded(source, kind, piece, start))
    if len(tokens) > TOKENS:
        raise SparqlLimit(f"more than {TOKENS} tokens; load large data as a document instead")
    return tokens


def _check_fit(source: Source) -> None:
    """Raise `SparqlSyntax` for the first character that no RDF term may hold."""
    unfit = source.text.find("\0")
    try:
        source.text.encode()
    except UnicodeEncodeError as error:
        unfit = error.start if unfit < 0 else min(unfit, error.start)
    if unfit >= 0:
        raise source.error("NUL and lone surrogates cannot stand in SPARQL", unfit)


def _word(source: Source, word: str, start: int) -> Token:
    """A keyword."""
    if word == "a":
        return Token(WORD, word, start)
    upper = word.upper()
    if upper in KEYWORDS and word.isascii():
        return Token(WORD, upper, start)
    refused = _REFUSED_WORDS.get(upper) if word.isascii() else None
    message = f"{_shown(word)} is no SPARQL 1.1 keyword; a name needs a prefix and ':'"
    raise source.error(refused or message, start)


def _decoded(source: Source, kind: str, piece: str, start: int) -> Token:
    """The token of a kind whose text is not its value."""
    if kind == IRIREF:
        return Token(IRIREF, _iri(source, piece[1:-1], start), start)
    if kind == LANG:
        return Token(LANG, piece[1:], start)
    if kind == BLANK:
        return Token(BLANK, piece[2:], start)
    if kind == "other":
        raise source.error(_no_token(source.text, start), start)
    quotes = 3 if kind == "long" else 1
    return Token(STRING, unescape(source, piece[quotes:-quotes], start + quotes), start)


def _iri(source: Source, raw: str, start: int) -> str:
    if "\\" not in raw:
        return raw
    decoded = unescape(source, raw, start + 1)
    if _IRI_FORBIDDEN.search(decoded):
        raise source.error("an escape in this IRI stands for a character that no IRI may hold", start)
    return decoded


def unescape(source: Source, raw: str, start: int) -> str:
    """The characters that an escaped text stands for (SPARQL 1.1, sections 19.2 and 19.7)."""
    if "\\" not in raw:
        return raw

    def replace(match: re.Match[str]) -> str:
        short, long, simple = match.groups()
        if simple is not None:
            if simple not in _SIMPLE:
                message = f"unknown escape \\{simple}; write \\\\ for a backslash"
                raise source.error(message, start + match.start())
            return _SIMPLE[simple]
        code = int(short or long, 16)
        if not 0 < code < 0x110000 or 0xD800 <= code < 0xE000:
            raise source.error("this escape stands for no character", start + match.start())
        return chr(code)

    return _ESCAPE.sub(replace, raw)


def _no_token(text: str, position: int) -> str:
    char = text[position]
    if char in "\"'":
        if text[position : position + 3] == char * 3:
            return "this string has no end; close it with three quotation marks"
        return "this string has no end on its line; close it, or use three quotation marks for several lines"
    if char == "\\":
        return "an escape can stand in strings and IRIs only"
    return f"{_shown(char)} begins no SPARQL token here"


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:40] + "…")
