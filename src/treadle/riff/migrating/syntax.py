"""The syntax tree of a migration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from treadle.model.migration import Kind
from treadle.riff.syntax import Expression, Integer, Name, Node


@dataclass(frozen=True, slots=True)
class Fill(Node):
    """`field owner.name = value`."""

    owner: Name
    name: Name
    value: Expression


@dataclass(frozen=True, slots=True)
class Named(Node):
    """`index owner.name` and the like; `kind` is the word."""

    kind: Kind
    owner: Name
    name: Name


Item: TypeAlias = Fill | Named


@dataclass(frozen=True, slots=True)
class Migration(Node):
    before: Integer
    after: Integer
    items: tuple[Item, ...]
