"""Make the parse table from the grammar: `python -m treadle.riff.generate`.

The only module that needs Lark. The result is deterministic: states are numbered in the order in which a
walk from the start, through sorted symbols, first meets them, and rules are sorted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import lark
import msgspec
from lark.grammar import Rule as LarkRule
from lark.lexer import Lexer, PatternStr
from lark.parsers.lalr_analysis import Shift

from treadle.errors import check
from treadle.riff.lalr import END, SPLICE, Rule, TableFile, Token

GRAMMAR: Final = Path(__file__).with_name("riff.lark")
TABLE: Final = Path(__file__).with_name("riff.table.json")


class TokenList(Lexer):
    """Hands tokens that were already made to Lark; `generate` needs none, a test of the table does."""

    __future_interface__ = 1

    def __init__(self, conf: Any) -> None:
        del conf

    def lex(self, lexer_state: Any, parser_state: Any) -> Iterator[lark.Token]:
        tokens: list[Token] = lexer_state.text
        return (lark.Token(token.kind, token.text, token.start, end_pos=token.end) for token in tokens)


def reference(grammar: Path, start: str) -> lark.Lark:
    """Lark's own parser of a grammar: strict, so that a conflict is an error and not a choice."""
    text = grammar.read_text(encoding="utf-8")
    return lark.Lark(text, parser="lalr", lexer=TokenList, strict=True, start=start, maybe_placeholders=True)


def _shape(rule: LarkRule) -> tuple[int, ...]:
    """Which children a reduction keeps: named tokens and rules; `[x]` that is absent gives None."""
    gaps = [0] * (len(rule.expansion) + 1)
    if rule.options.empty_indices:
        marks = "".join(str(int(mark)) for mark in rule.options.empty_indices)
        gaps = [len(ones) for ones in marks.split("0")]
    shape: list[int] = []
    symbols: list[Any] = list(rule.expansion)
    for place, symbol in enumerate(symbols):
        shape.extend([-1] * gaps[place])
        if not (symbol.is_term and symbol.filter_out):
            shape.append(SPLICE - place if symbol.name.startswith("__") else place)
    shape.extend([-1] * gaps[-1])
    return tuple(shape)


def _rule(rule: LarkRule) -> Rule:
    shape = _shape(rule)
    origin = str(rule.origin.name)
    if origin.startswith("__"):
        action = "+"
    elif rule.alias:
        action = rule.alias
    else:
        action = "" if rule.options.expand1 else origin
        check(action or len(shape) == 1, f"a rule that passes its child on has one: {rule}")
    return Rule(origin, len(rule.expansion), action, shape)


def _order(states: Mapping[int, Mapping[str, Any]], start: int) -> list[int]:
    """The states in the order of a walk that takes symbols alphabetically."""
    order = [start]
    seen = {start}
    for state in order:
        for _, (action, target) in sorted(states[state].items()):
            if action is Shift and target not in seen:
                seen.add(target)
                order.append(target)
    return order


def make(grammar: Path, start: str) -> bytes:
    """The table of a grammar file, as the bytes of its table file."""
    parser = reference(grammar, start)
    parsed: Any = parser.parser
    table = parsed.parser._parse_table
    rules = sorted(parser.rules, key=lambda rule: (str(rule.origin.name), [s.name for s in rule.expansion]))
    places = {rule: number for number, rule in enumerate(rules)}
    order = _order(table.states, table.start_states[start])
    numbers = {state: number for number, state in enumerate(order)}
    groups: dict[tuple[str, ...], int] = {}
    rows = []
    for state in order:
        moves: dict[int, list[str]] = {}
        for symbol, (action, target) in sorted(table.states[state].items()):
            moves.setdefault(numbers[target] if action is Shift else ~places[target], []).append(symbol)
        numbered = ((move, groups.setdefault(tuple(kinds), len(groups))) for move, kinds in moves.items())
        rows.append(tuple(numbered))
    fixed = (terminal for terminal in parser.terminals if isinstance(terminal.pattern, PatternStr))
    texts = {terminal.name: terminal.pattern.value for terminal in fixed}
    check(END not in texts, "the end has no text")
    result = TableFile(
        grammar=hashlib.sha256(grammar.read_bytes()).hexdigest(),
        start=numbers[table.start_states[start]],
        end=numbers[table.end_states[start]],
        texts=dict(sorted(texts.items())),
        symbols=tuple(groups),
        rules=tuple(_rule(rule) for rule in rules),
        rows=tuple(rows),
    )
    return _lines(result)


def _lines(table: TableFile) -> bytes:
    """JSON with one line for each rule, group and row, so that a change of the grammar reads as a diff."""
    encode = msgspec.json.encode
    parts = []
    for field in TableFile.__struct_fields__:
        value = getattr(table, field)
        if isinstance(value, tuple):
            body = ",\n".join(encode(item).decode() for item in value)
            parts.append(f'"{field}": [\n{body}\n]')
        else:
            parts.append(f'"{field}": {encode(value).decode()}')
    return ("{" + ",\n".join(parts) + "}\n").encode()


def files() -> dict[str, bytes]:
    """The table by its path in the repository, for the register of generated files."""
    return {"src/treadle/riff/riff.table.json": make(GRAMMAR, "contract")}


if __name__ == "__main__":
    TABLE.write_bytes(make(GRAMMAR, "contract"))
    print(f"wrote {TABLE.name}: {TABLE.stat().st_size} bytes")
