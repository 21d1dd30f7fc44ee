"""The TextMate grammars by which editors colour contracts and queries, from the tables of words.

Every word comes from the table that the compiler reads by, so a new one cannot be forgotten: it is a
`keyword.control` unless it is listed here. `tools/generated.py` lists the files.
"""

from __future__ import annotations

import json
from typing import Any

from treadle.lsp.words import TYPES
from treadle.riff import tokens
from treadle.riff.lalr import Table
from treadle.riffql import language

NAME = "[A-Za-z_][A-Za-z0-9_]*"
CONSTANTS = {"true", "false", "null"}
DECLARATIONS = {
    "contract": "entity.name.namespace",
    "enum": "entity.name.type",
    "entity": "entity.name.type",
    "event": "entity.name.type",
    "aggregate": "entity.name.type",
    "workflow": "entity.name.type",
    "command": "entity.name.function",
    "policy": "entity.name.type",
    "fact": "variable.other.constant",
    "query": "entity.name.function",
}
"""Words that declare what comes after them, and how its name is coloured."""

MODIFIERS = {"bulk", "reimport", "secret", "principal", "row", "version", "service", "input", "field"}
BUILT_IN = {"count", "sum", "min", "max", "any", "all"}
BEFORE_NAMES = {
    "as", "on", "owner", "expires_at", "fencing_token", "attempts", "revision", "idempotency_key", "state",
    "initial", "to", "root", "child", "one", "maybe", "many",
}  # fmt: skip
"""Words after which a name stands, which may be a word as well."""

AT_LINE_END = {"no_inbound", "no_effect", "uuid_v7", "transaction_time", "asc", "desc"}
"""Words that may be names, and that end a line or a block where they are not."""

OPERATORS = {"in", "is", "not", "prefix"}
"""The others are `keyword.control`."""


def rule(scope: str, match: str, **captures: str) -> dict[str, Any]:
    made: dict[str, Any] = {"match": match}
    if scope:
        made = {"name": scope, **made}
    if captures:
        made["captures"] = {number.strip("_"): {"name": name} for number, name in captures.items()}
    return made


def of_words(scope: str, texts: set[str], after: str = "") -> dict[str, Any] | None:
    """A rule for any of these words, the longest first; None for none, which would match everywhere."""
    if not texts:
        return None
    ordered = sorted(texts, key=lambda word: (-len(word), word))
    return rule(scope, rf"\b(?:{'|'.join(ordered)})\b{after}")


def grammar(name: str, ending: str, table: Table, first: str) -> str:
    """A grammar as JSON, for a language by its table; `first` is the word that begins its texts."""
    known = {text for text in table.texts.values() if text[0].isalpha()}
    fixed = reserved(table, first)
    types = known & set(TYPES)
    plain = types & fixed
    declared = known & set(DECLARATIONS)
    others = known - types - CONSTANTS - declared - MODIFIERS - BUILT_IN - OPERATORS
    as_word = r"(?!\s*[-+*/<>=!&|,.):}])(?=\s*[({]|\s+\S)"  # not alone, nor before a sign, as names stand
    free = others - fixed

    def scoped(scope: str) -> str:
        return f"{scope}.{ending}"

    patterns = [
        rule(scoped("comment.line.double-slash"), "//.*$"),
        rule(scoped("invalid.illegal.comment"), r"/\*.*?(?:\*/|$)"),
        {
            "name": scoped("string.quoted.double"),
            "begin": '"',
            "end": '"|$',
            "patterns": [
                rule(scoped("constant.character.escape"), r'\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})'),
                rule(scoped("invalid.illegal.escape"), r"\\."),
            ],
        },
        rule(scoped("variable.parameter"), rf"\${NAME}"),
        rule(scoped("constant.numeric.decimal"), r"\b[0-9]+\.[0-9]+\b"),
        rule(scoped("constant.numeric.integer"), r"\b[0-9]+\b"),
        *(
            rule("", rf"\b({word})\s+({NAME})\b", _1=scoped("storage.type"), _2=scoped(DECLARATIONS[word]))
            for word in sorted(declared)
        ),
        *(
            rule(
                "",
                rf"\b({word})\s+({NAME})\b(?!\s*:)",
                _1=scoped("keyword.control"),
                _2=scoped("variable.other"),
            )
            for word in sorted(known & BEFORE_NAMES)
        ),
        rule(scoped("variable.language"), r"\btx(?=\.)|\bprincipal(?=\.)"),
        rule("", rf"(?<!\.)\.({NAME})", _1=scoped("variable.other.member")),
        rule(scoped("variable.other.member"), rf"\b{NAME}\b(?=\s*:)"),
        of_words(scoped("support.type"), types - plain, r"(?=\s*<)"),
        of_words(scoped("support.type"), plain),
        of_words(scoped("constant.language"), known & CONSTANTS),
        of_words(scoped("support.function"), known & BUILT_IN, r"(?=\s*\()"),
        of_words(scoped("storage.modifier"), known & MODIFIERS, as_word),
        of_words(scoped("keyword.control"), others & fixed),
        of_words(scoped("keyword.control"), free, as_word),
        of_words(scoped("keyword.control"), free & AT_LINE_END, r"(?=\s*(?:$|//|}))"),
        of_words(scoped("keyword.operator.word"), known & OPERATORS, r"(?=\s+\S)"),
        rule(scoped("entity.name.type"), r"\b[A-Z][A-Za-z0-9_]*\b"),
        rule(scoped("keyword.operator"), r"=>|->|\|\||&&|[=!<>]=|\.\.|[-=<>+*/!|]"),
    ]
    made = {
        "name": name,
        "scopeName": f"source.{ending}",
        "fileTypes": [ending],
        "patterns": [pattern for pattern in patterns if pattern is not None],
    }
    return json.dumps(made, indent=2) + "\n"


def reserved(table: Table, first: str) -> set[str]:
    """The words that are never names: those that cannot follow the word `first`, which a name does."""
    follows = table.rows[table.rows[table.start][first]]
    return {text for kind, text in table.texts.items() if text[0].isalpha() and kind not in follows}


def files() -> dict[str, str]:
    """Both grammars by their paths in the repository."""
    contracts, queries = tokens.table(), language.table()
    return {
        "editors/riff.tmLanguage.json": grammar("Riff", "riff", contracts, "CONTRACT"),
        "editors/riffq.tmLanguage.json": grammar("Riff queries", "riffq", queries, "QUERY"),
    }
