"""What can be made of a contract while it is being written: for tools that look at unfinished text.

`salvage` gives the declarations that could be read, `before` where the parser stands at some place, with
what is open there. Neither raises, whatever the text is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from treadle.riff import syntax as s
from treadle.riff.diagnostics import Extent, Report
from treadle.riff.lalr import END, Driver, Token
from treadle.riff.parse import Parsed, Reader
from treadle.riff.tokens import Lexed, too_deep

NOWHERE: Final = Extent(0, 0)
_DECLARATIONS: Final = (
    s.EnumDecl, s.EntityDecl, s.EventDecl, s.AggregateDecl, s.WorkflowDecl, s.CommandDecl, s.ReimportDecl,
    s.PrincipalFact, s.RowPolicy,
)  # fmt: skip
_ENTITY: Final = (
    s.Key, s.Member, s.Invariant, s.Index, s.Unique, s.Reference, s.NoInbound, s.RestrictPolicy,
    s.CascadePolicy,
)  # fmt: skip
_AGGREGATE: Final = (s.Root, s.Child, s.PartitionBy, s.ConflictKey, s.Invariant)
_COMMAND: Final = (
    s.Input, s.Service, s.IdempotencyKey, s.Binding, s.Decision, s.Loop, s.Require, s.Set, s.Emit,
    s.DoTransition, s.DoLease, s.Return,
)  # fmt: skip
_OTHERS: Final = (s.Relationship, s.Transition, s.Allow, s.Arm, s.Entry)
_MEMBERS: Final = (*_DECLARATIONS, *_ENTITY, *_AGGREGATE, *_COMMAND, *_OTHERS)


@dataclass(slots=True)
class Block:
    """A block that is open: what stands before its brace, its members, and what was begun after them.

    Values are tokens, nodes and lists of nodes, as the parser holds them.
    """

    head: list[Any]
    members: list[s.Node] = field(default_factory=list)
    tail: list[Any] = field(default_factory=list)

    @property
    def kind(self) -> str:
        """The kind of the word that begins the block, such as COMMAND; '' for the text itself."""
        return next(
            (value.kind for value in self.head if isinstance(value, Token) and value.kind != "BULK"), ""
        )

    @property
    def name(self) -> s.Name | None:
        """The first name in its head."""
        return next((value for value in self.head if isinstance(value, s.Name)), None)


def salvage(parsed: Parsed) -> s.Contract | None:
    """The contract as far as it could be read; None where no parser can go through it.

    What is broken is left out: a clause of a command, a member of a declaration, seldom more.
    """
    if parsed.tree is not None:
        return parsed.tree
    if not parsed.lexed.tokens or not parsed.lexed.complete or too_deep(parsed.lexed.tokens):
        return None
    reader = Reader(_begun(sound(parsed.lexed.tokens)), Report())
    whole = reader.read()
    if whole is not None:
        return whole
    blocks = open_blocks(reader.driver)
    declarations: list[s.Declaration] = []
    for value in (*blocks[0].tail, *blocks[0].members):
        declarations += [value] if isinstance(value, _DECLARATIONS) else []
    if len(blocks) > 1:
        declarations += [each for each in blocks[1].members if isinstance(each, _DECLARATIONS)]
        last = unfinished(blocks, parsed.lexed.tokens[-1].end)
        declarations += [last] if last is not None else []
    name = blocks[1].name if len(blocks) > 1 else None
    at = Extent(0, parsed.lexed.tokens[-1].end)
    return s.Contract(at, name or s.Name(NOWHERE, ""), s.Integer(NOWHERE, "1"), tuple(declarations))


def unfinished(blocks: Sequence[Block], end: int) -> s.Declaration | None:
    """The declaration that is open, with the members that it has so far; `end` is where it ends for now.

    None where none is open, or one of no use without its end.
    """
    if len(blocks) < 3 or blocks[2].name is None:
        return None
    block, name = blocks[2], blocks[2].name
    at = Extent(block.head[0].start if isinstance(block.head[0], Token) else name.at.start, end)

    def those(kinds: tuple[type[s.Node], ...]) -> Any:
        return tuple(member for member in block.members if isinstance(member, kinds))

    match block.kind:
        case "COMMAND":
            bulk = any(isinstance(value, Token) and value.kind == "BULK" for value in block.head)
            return s.CommandDecl(at, name, bulk, (*those(_COMMAND), *_inner(blocks[3:])))
        case "ENTITY":
            return s.EntityDecl(at, name, those(_ENTITY))
        case "AGGREGATE":
            return s.AggregateDecl(at, name, those(_AGGREGATE))
        case "EVENT":
            return s.EventDecl(at, name, (), those((s.Member,)))
        case _:
            return None


def _inner(blocks: Sequence[Block]) -> Iterator[s.Clause]:
    """What the open blocks inside a command bind, as if it stood in the command itself."""
    for block in blocks:
        names = [value for value in block.head if isinstance(value, s.Name)]
        if block.kind == "FOR" and len(names) == 2:
            yield s.Loop(NOWHERE, names[0], names[1], ())
        yield from (value for value in block.head if isinstance(value, s.Binding))
        yield from (member for member in block.members if isinstance(member, _COMMAND))


class Reads(Protocol):
    """A reader of tokens with the parser that it feeds."""

    driver: Driver

    def read(self) -> object:
        """Read as far as it goes."""


def before(
    lexed: Lexed, offset: int, reader: Callable[[list[Token], Report], Reads] = Reader
) -> Driver | None:
    """The parser before the token that `offset` is in or right behind, if that is a word; else after it.

    None where the text cannot be cut into tokens, or nests too deep. `reader` is that of the language.
    """
    kept: list[Token] = []
    for token in lexed.tokens:
        if token.end > offset or (token.end == offset and _is_word(token)) or token.kind == END:
            break
        kept.append(token)
    if not lexed.complete or too_deep(kept):
        return None
    end = kept[-1].end if kept else 0
    made = reader(_begun(sound([*kept, Token(END, "", end, end)])), Report())
    made.read()
    _settle(made.driver)
    return made.driver


_STAND_INS: Final = {"INTEGER": "0", "AND": "&&", "OR": "||"}


def sound(tokens: Sequence[Token]) -> list[Token]:
    """The tokens with those that stand in for a bad one made good, since the tree is looked at anyway."""
    return [token._replace(text=_STAND_INS[token.kind]) if _is_bad(token) else token for token in tokens]


def _begun(tokens: list[Token]) -> list[Token]:
    """The tokens from where a contract begins: nothing can be read past what stands before it."""
    start = next((place for place, token in enumerate(tokens) if token.kind == "CONTRACT"), 0)
    return tokens[start:]


def _is_bad(token: Token) -> bool:
    if token.kind == "INTEGER":
        return not (token.text.isascii() and token.text.isdigit())
    return token.kind in _STAND_INS and token.text != _STAND_INS[token.kind]


def _is_word(token: Token) -> bool:
    return token.text[:1].isalnum() or token.text[:1] in ("_", "$")


def _settle(driver: Driver) -> None:
    """Make the reductions that whatever comes next would ask for, so that a name is a name already."""
    while len(driver.states) > 1:
        moves = set(driver.table.rows[driver.states[-1]].values())
        if len(moves) != 1 or not driver.reduce_by(moves.pop()):
            return


def open_blocks(driver: Driver, members: tuple[type[s.Node], ...] = _MEMBERS) -> list[Block]:
    """The blocks that are open, outermost first; the first is the text itself and has no brace.

    `members` are the kinds of nodes that stand in blocks by themselves.
    """
    blocks = [Block([])]
    for value in driver.values:
        here = blocks[-1]
        if isinstance(value, Token) and value.kind == "LBRACE":
            blocks.append(Block(here.tail))
            here.tail = []
        elif not here.tail and isinstance(value, list):
            here.members += value
        elif not here.tail and isinstance(value, members):
            here.members.append(value)
        else:
            here.tail.append(value)
    return blocks
