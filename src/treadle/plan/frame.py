"""Where a running program keeps its values: one list, whose slots are fixed when the program is built.

    VIEW SEALED TIME | run: WRITES … NUMBER | inputs | services | bindings | element | its bindings

A binding takes three slots: its image (a list of cells while it is being written, else the row's
tuple), its row before the command (None where there was none), and its key. A decided binding takes a
fourth: whether it is written. A loop's pass copies the frame and goes on with slots of its own; lists
in it (images, writes, changes) stay shared, which is what makes an element's effect on a top-level row
visible to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from treadle.errors import check
from treadle.model import contract as c
from treadle.model.facts import Key, Verdict
from treadle.plan.entities import EntityPlan

Frame: TypeAlias = list[Any]
Value: TypeAlias = Callable[[Frame], Any]
"""A compiled expression: frame to cell."""
Step: TypeAlias = Callable[[Frame], Verdict | None]
"""A compiled clause: None to go on, or the verdict that ends the command."""
Failure: TypeAlias = Callable[[Frame], Verdict]
KeyOf: TypeAlias = Callable[[Frame], Key]

VIEW: Final = 0
SEALED: Final = 1
TIME: Final = 2
WRITES: Final = 3  # list of (Write, frame) in the order in which the rows were bound
SEEN: Final = 4  # set of rows bound for writing; None where a command cannot bind one twice
EVENTS: Final = 5  # list of EventFact
PASSES: Final = 6  # list of a loop's frames
CHANGES: Final = 7  # list of RowChange, once the effects have run
OWNERS: Final = 8  # list of (Write, frame), one for each change
RELEASED: Final = 9  # unique entries
TAKEN: Final = 10
NUMBER: Final = 11  # of a loop's pass, from 0; None outside
FIRST: Final = 12

IMAGE: Final = 0
BEFORE: Final = 1
KEY: Final = 2
WRITTEN: Final = 3


@dataclass(frozen=True, slots=True)
class Bound:
    """A binding as its program sees it. `slot` is the image's; the others follow it."""

    declaration: c.Binding
    entity: EntityPlan
    slot: int
    decided: bool

    @property
    def name(self) -> str:
        return self.declaration.name

    @property
    def kind(self) -> str:
        return self.declaration.kind

    @property
    def writes(self) -> bool:
        return self.declaration.kind != "read"


@dataclass(slots=True)
class Scope:
    """The names of a command and their slots, while it is built. A loop's scope has its parent's too."""

    entities: Mapping[str, EntityPlan]
    slots: dict[str, int] = field(default_factory=dict)
    bounds: dict[str, Bound] = field(default_factory=dict)
    element: str | None = None
    element_entity: EntityPlan | None = None
    next_slot: int = FIRST

    def take(self, count: int) -> int:
        """The first of `count` new slots."""
        first = self.next_slot
        self.next_slot += count
        return first

    def name(self, name: str) -> int:
        """Give an input, service value or element a slot."""
        check(name not in self.slots, "a name of a command is declared once")
        self.slots[name] = self.take(1)
        return self.slots[name]

    def bind(self, declaration: c.Binding, decided: bool) -> Bound:
        """Give a binding its slots."""
        check(declaration.name not in self.bounds, "a binding is declared once")
        bound = Bound(declaration, self.entities[declaration.entity], self.take(4 if decided else 3), decided)
        self.bounds[declaration.name] = bound
        return bound

    def inner(self, element: str, entity: EntityPlan | None) -> Scope:
        """The scope of a loop's body."""
        scope = Scope(self.entities, dict(self.slots), dict(self.bounds), element, entity, self.next_slot)
        scope.name(element)
        return scope
