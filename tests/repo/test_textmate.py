"""The colours of editors agree with the compiler's tokens: each grammar, run as an editor runs it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.shared import ROOT
from tests.unit.lsp.test_index import name_nodes
from tests.unit.lsp.test_queries import OVERVIEW, QUERIES
from tests.unit.lsp.texts import CONTRACTS
from treadle.riff.lalr import Token
from treadle.riff.parse import parse
from treadle.riff.tokens import table
from treadle.riffql.parse import parse as parse_queries

Piece = tuple[int, int, str]
"""Where a piece begins and ends, and its scope."""

RIFF = json.loads((ROOT / "editors/riff.tmLanguage.json").read_text(encoding="utf-8"))
RIFFQ = json.loads((ROOT / "editors/riffq.tmLanguage.json").read_text(encoding="utf-8"))
HARD = """// a comment with "quotes" and /* signs */
contract X version 1 { // 💡
  enum E { key, field, Other } enum F { A }
  entity Row { key (id: uuid) field key: string<8> field state: E // not a contract
    field version: optional<decimal<10, 2>> field list: list<u64, 1..64> field lease: bool }
  aggregate Rows { root Row partition_by id conflict_key (id) }
  command C { input key: string<9> input id: uuid idempotency_key key
    mutate Row(id) as row else Gone { key: "a // \\"b\\" \\u0041" }
    require r: row.version == null || row.lease != false else No { text: "{ } ( )", n: 1.5 }
    set row.key = "x" set row.lease = true
    return Done { row: row } } }
"""


def coloured(grammar: dict[str, Any], text: str) -> Iterator[Piece]:
    """The pieces of a text with their scopes, line by line: the leftmost match, the first rule of a tie."""
    start = 0
    for line in text.split("\n"):
        yield from _line(grammar["patterns"], line, start)
        start += len(line) + 1


def _line(patterns: list[dict[str, Any]], line: str, start: int) -> Iterator[Piece]:
    at = 0
    while at < len(line):
        best = _first(patterns, line, at)
        if best is None:
            return
        found, rule = best
        end = found.end()
        if "begin" in rule:
            end = _end(rule, line, end)
            yield start + found.start(), start + end, rule["name"]
        elif "name" in rule:
            yield start + found.start(), start + end, rule["name"]
        for number, capture in rule.get("captures", {}).items():
            yield start + found.start(int(number)), start + found.end(int(number)), capture["name"]
        at = end if end > at else at + 1


def _first(patterns: list[dict[str, Any]], line: str, at: int) -> tuple[re.Match[str], dict[str, Any]] | None:
    best: tuple[re.Match[str], dict[str, Any]] | None = None
    for rule in patterns:
        found = re.compile(rule.get("match") or rule["begin"]).search(line, at)
        if found is not None and (best is None or found.start() < best[0].start()):
            best = found, rule
    return best


def _end(rule: dict[str, Any], line: str, at: int) -> int:
    """Where a rule with an end is over: its own patterns go first."""
    while True:
        over = re.compile(rule["end"]).search(line, at)
        inner = _first(rule["patterns"], line, at)
        if over is None:
            return len(line)
        if inner is None or over.start() <= inner[0].start():
            return over.end()
        at = inner[0].end()


def scopes(grammar: dict[str, Any], text: str) -> dict[int, Piece]:
    return {piece[0]: piece for piece in coloured(grammar, text)}


def check_plain(found: dict[int, Piece], tokens: list[Token], comments: list[Token]) -> None:
    """Comments, strings and numbers are coloured from their first to their last character."""
    for kind, scope in (
        ("QUOTED", "string."),
        ("INTEGER", "constant.numeric"),
        ("FIXED", "constant.numeric"),
    ):
        for token in tokens:
            if token.kind == kind:
                start, end, name = found[token.start]
                assert (start, end) == (token.start, token.end) and name.startswith(scope), token
    for comment in comments:
        start, end, name = found[comment.start]
        assert (start, end) == (comment.start, comment.end) and name.startswith("comment."), comment


@pytest.mark.parametrize("text", [*CONTRACTS.values(), HARD], ids=[*CONTRACTS, "hard"])
def test_contracts_are_coloured_as_they_are_read(text: str) -> None:
    parsed = parse(text)
    assert parsed.tree is not None
    found = scopes(RIFF, text)
    check_plain(found, parsed.lexed.tokens, parsed.lexed.comments)
    names = {name.at.start: name.text for name in name_nodes(parsed.tree)}
    wrong = []
    for token in parsed.lexed.tokens:
        if not token.text[:1].isalpha():
            continue
        scope = found.get(token.start, (0, 0, ""))[2]
        is_word = scope.startswith(("keyword", "storage", "support", "constant.language"))
        if is_word == (token.start in names):
            wrong.append((token.text, scope, text[token.start - 20 : token.end + 10]))
    assert not wrong


@pytest.mark.parametrize("text", [QUERIES, OVERVIEW], ids=["page", "overview"])
def test_queries_are_coloured_as_they_are_read(text: str) -> None:
    parsed = parse_queries(text)
    assert parsed.queries is not None
    found = scopes(RIFFQ, text)
    check_plain(found, parsed.lexed.tokens, parsed.lexed.comments)
    names = {name.at.start for name in name_nodes(parsed.queries)}
    for token in parsed.lexed.tokens:
        scope = found.get(token.start, (0, 0, ""))[2]
        if token.kind == "PARAMETER":
            assert scope.startswith("variable.parameter")
        elif token.text[:1].isalpha():
            is_word = scope.startswith(("keyword", "storage", "support", "constant.language"))
            assert is_word != (token.start in names), (token, scope)


def test_every_word_has_a_colour() -> None:
    for word in table().texts.values():
        if word[0].isalpha():
            shown = [found[2] for found in coloured(RIFF, f"{word} ( ") if found[0] == 0]
            shown += [found[2] for found in coloured(RIFF, f"{word}<8>") if found[0] == 0]
            shown += [found[2] for found in coloured(RIFF, f"{word}.x") if found[0] == 0]
            shown += [found[2] for found in coloured(RIFF, f"{word} Name") if found[0] == 0]
            assert shown and shown[0], word


def test_what_is_no_token_is_marked() -> None:
    pieces = [found[2] for found in coloured(RIFF, 'x /* gone */ "a\\q"')]
    assert "invalid.illegal.comment.riff" in pieces
    assert "string.quoted.double.riff" in pieces
