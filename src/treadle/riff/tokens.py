"""Text to tokens: one regular expression, one pass, linear in the text's length.

A bad token is reported with its exact extent and stands in as what it was meant to be, so that reading
goes on. Comments are kept aside for the formatter.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from treadle.limits import IDENTIFIER_BYTES, NESTING, SOURCE_BYTES, SOURCE_TOKENS
from treadle.riff.diagnostics import Extent, Report, Source
from treadle.riff.lalr import END, Table, Token, load

TABLE: Final = Path(__file__).with_name("riff.table.json")


def words(text: str) -> frozenset[str]:
    """A set of words, written as one text."""
    return frozenset(text.split())


FOREIGN: Final = words(
    """module import include query state_machine capability approval default vector vector_field embed
    text_index projection policy_anchor cover aggregate_bytes unicode_fold_v1"""
)
"""Words of other languages: refused with S008 where a declaration, clause, item or type could begin."""

TOKEN: Final = r"""
      (?P<space>     [ \t\r\n]++)
    | (?P<word>      [A-Za-z_][A-Za-z0-9_]*+(?!\w))
    | (?P<comment>   //[^\n]*+)
    | (?P<block>     /\*.*?(?:\*/|\Z))
    | (?P<sign>      =>|->|\|\||&&|[=!<>]=|\.\.(?!\.)|\.(?![0-9.])|[{}(),:=<>+*/!-])
    | (?P<fixed>     [0-9]++\.[0-9]++(?!\w|\.(?!\.)))
    | (?P<integer>   [0-9]++(?!\w|\.(?!\.)))
    | (?P<quoted>    "[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})[^"\\\x00-\x1f]*+)*+")
    | (?P<badnumber> \.?[0-9](?:\w|\.(?!\.))*+)
    | (?P<badword>   [^\W\d]\w*+)
    | (?P<badquoted> "[^"\\\n]*+(?:\\[^\n][^"\\\n]*+)*+"?)
    | (?P<bad>       \.{3,}|[^\s\w"{}(),:=<>+*/!.-]++|.)
    """
"""What a token may be, as a verbose regular expression; the last alternative takes any character."""
LONE: Final = "a lone surrogate is no character; write both halves, or the character itself"
_ESCAPE: Final = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|.)", re.DOTALL)


class Language(NamedTuple):
    """What `lex` needs to know: what a text of the language is called, its tokens, its words and signs."""

    noun: str
    pattern: re.Pattern[str]
    kinds: Mapping[str, str]


class Lexed(NamedTuple):
    """A text's tokens (the last is the end) and its comments, each in source order."""

    tokens: list[Token]
    comments: list[Token]
    complete: bool


@cache
def table() -> Table:
    """The shipped parse table, read once."""
    return load(TABLE)


@cache
def kinds() -> dict[str, str]:
    """The kind of each word and sign of the language."""
    return {text: kind for kind, text in table().texts.items()}


@cache
def contracts() -> Language:
    """The language of contracts."""
    return Language("contract", re.compile(TOKEN, re.VERBOSE | re.DOTALL), kinds())


def decode(source: str | bytes, report: Report, noun: str = "contract") -> str:
    """The text of a source, without a leading byte order mark; reports S001 and S003 and then gives ''."""
    data = source.encode("utf-8", "surrogatepass") if isinstance(source, str) else source
    if len(data) > SOURCE_BYTES:
        message = f"the {noun} is {len(data):,} bytes long, at most {SOURCE_BYTES:,} are read; split it"
        report.add("S001", Extent(0, 0), message)
        return ""
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        good = data[: error.start].decode("utf-8").removeprefix("\ufeff")
        message = f"byte 0x{data[error.start]:02X} is not UTF-8; save the {noun} as UTF-8"
        report.add("S003", Extent(len(good), len(good) + 1), message)
        return good + "\N{REPLACEMENT CHARACTER}"


def _bad(kind: str, text: str) -> tuple[str, str]:
    """What a bad token is refused with, and the kind of token that stands in for it ('' for none)."""
    if kind == "badnumber":
        return f"`{_short(text)}` is not a number; write digits, as in `12`, or `12.50`", "INTEGER"
    if kind == "badword":
        return f"`{_short(text)}` is not a name; a name has ASCII letters, digits and `_` only", "IDENT"
    if kind == "badquoted":
        if not text.endswith('"') or len(text) == 1:
            return 'this string has no end; close it with `"` on the same line', "QUOTED"
        return 'this string holds a control character, or no escape of JSON, as in `"\\n"`', "QUOTED"
    if text.startswith("."):
        return f"`{_short(text)}` is no sign of the language; a list's range is written `1..64`", "RANGE"
    if text in ("&", "|"):
        return f"`{text}` is no sign of the language; write `{text * 2}`", "AND" if text == "&" else "OR"
    if len(text) == 1 and not text.isprintable():
        return f"the character U+{ord(text):04X} is not part of the language; remove it", ""
    return f"`{_short(text)}` is no sign of the language; remove it", ""


def _short(text: str) -> str:
    shown = (character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text[:40])
    return "".join(shown) + ("…" if len(text) > 40 else "")


def _escapes(text: str, start: int, report: Report) -> None:
    """Refuse NUL and lone surrogates that a string's escapes spell."""
    wait: Extent | None = None  # a high surrogate that a low one must follow at once
    for found in _ESCAPE.finditer(text):
        at = Extent(start + found.start(), start + found.end())
        unit = int(found[1], 16) if found[1] else 0x20
        low = 0xDC00 <= unit <= 0xDFFF
        if wait is not None and not (low and wait.end == at.start):
            report.add("S003", wait, LONE)
        if low and not (wait is not None and wait.end == at.start):
            report.add("S003", at, LONE)
        if unit == 0:
            report.add("S003", at, "a string cannot hold NUL; remove `\\u0000`")
        wait = at if 0xD800 <= unit <= 0xDBFF else None
    if wait is not None:
        report.add("S003", wait, LONE)


def string_value(text: str) -> str:
    """The characters of a string token, quotes and escapes resolved; '' for one that was refused."""
    try:
        value: str = json.loads(text)
    except ValueError:
        return ""
    return "" if any("\ud800" <= character <= "\udfff" for character in value) else value


def lex(source: Source, report: Report, language: Language | None = None) -> Lexed:
    """Cut a text into tokens. Reports S002, S003 and, for `/* */`, S008; never raises."""
    noun, pattern, words = language or contracts()
    tokens: list[Token] = []
    comments: list[Token] = []
    for found in pattern.finditer(source.text):
        group = found.lastgroup
        if group == "space":
            continue
        start, end = found.span()
        text = found[0]
        if group == "word":
            kind = words.get(text, "IDENT")
            if end - start > IDENTIFIER_BYTES:
                message = f"this name has {end - start:,} bytes; a name has at most {IDENTIFIER_BYTES}"
                report.add("S003", Extent(start, end), message)
        elif group in ("sign", "bar"):
            kind = words.get(text, text)  # the parser refuses a sign that the language does not have
        elif group in ("integer", "fixed", "quoted", "parameter"):
            kind = group.upper()
            if "\\u" in text:
                _escapes(text, start, report)
        elif group == "comment":
            comments.append(Token("comment", text.rstrip("\r"), start, end))
            continue
        else:
            kind = _refuse(str(group), text, Extent(start, end), report)
            if not kind:
                continue
        if len(tokens) == SOURCE_TOKENS:
            message = f"the {noun} has more than {SOURCE_TOKENS:,} tokens; split it"
            report.add("S002", Extent(start, end), message)
            return Lexed(tokens, comments, False)
        tokens.append(Token(kind, text, start, end))
    last = tokens[-1].end if tokens else len(source.text)
    tokens.append(Token(END, "", last, last))
    return Lexed(tokens, comments, True)


def _refuse(group: str, text: str, at: Extent, report: Report) -> str:
    if group == "block":
        message = "`/* */` is not part of the language; begin each line of a comment with `//`"
        report.add("S008", at, message)
        return ""
    message, kind = _bad(group, text)
    report.add("S003", at, message)
    return kind


_OPENS: Final = {"LBRACE": "RBRACE", "LPAR": "RPAR"}
_OPERANDS: Final = frozenset(("INTEGER", "FIXED", "QUOTED", "RPAR", "RBRACE"))


def too_deep(tokens: list[Token]) -> Token | None:
    """The token that nests deeper than 32 (brackets and prefix operators), or None.

    A prefix operator counts until its operand ends; `list <` and `optional <` count while they follow
    one another, which is how types nest and no valid comparison does.
    """
    levels = [0]  # prefix operators that wait, for each open bracket
    depth = types = 0
    before = before_that = ""
    for token in tokens:
        kind = token.kind
        if kind in _OPENS:
            levels.append(0)
            depth += 1
        elif kind in ("RBRACE", "RPAR"):
            if len(levels) > 1:
                depth -= 1 + levels.pop()
            depth -= levels[-1]
            levels[-1] = 0
        elif kind == "BANG" or (kind == "MINUS" and not _ends_operand(before)):
            levels[-1] += 1
            depth += 1
        elif levels[-1] and _ends_operand(kind):
            depth -= levels[-1]
            levels[-1] = 0
        if kind == "LESS" and before in ("LIST", "OPTIONAL"):
            types = types + 1 if before_that == "LESS" else 1
            depth_here = depth + types
        else:
            depth_here = depth
        if depth_here > NESTING:
            return token
        before_that, before = before, kind
    return None


def _ends_operand(kind: str) -> bool:
    """Names (IDENT and every word) and literals end an operand, as closing brackets do."""
    return kind in _OPERANDS or kind in _names()


@cache
def _names() -> frozenset[str]:
    return frozenset(kind for kind, text in table().texts.items() if text[0].isalpha()) | {"IDENT"}
