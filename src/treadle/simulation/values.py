"""Random values of every type of the language: ordinary ones mostly, extreme ones now and then."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from treadle.limits import I64_MAX, I64_MIN, U64_MAX
from treadle.model import types as t
from treadle.model.contract import Contract

_WORDS: Final = ("north", "south", "paper", "ink", "blue", "first", "again", "späť", "✓", "a")
_STEPS: Final = (-86_400, -60, 0, 1, 30, 60, 3_600, 86_400)
"""Seconds from now, of a time that is asked for."""
EXTREME: Final = 0.04
"""How often a value is one that nobody expects."""


class Values:
    """Draws values as an application would write them."""

    def __init__(self, dice: random.Random, contract: Contract, now: Callable[[], datetime]) -> None:
        self._dice = dice
        self._now = now
        self._enums = {one.name: one.variants for one in contract.enums}
        self._entities = {one.name: one.members for one in contract.entities}

    def draw(self, kind: t.Type) -> Any:
        """A value of a type."""
        dice, extreme = self._dice, self._dice.random() < EXTREME
        match kind:
            case t.Bool():
                return dice.random() < 0.5
            case t.U64():
                return dice.choice((0, U64_MAX, 2**63)) if extreme else dice.randrange(12)
            case t.I64():
                return dice.choice((I64_MIN, I64_MAX)) if extreme else dice.randrange(-5, 12)
            case t.Decimal() | t.Money():
                return self._number(kind, extreme)
            case t.Timestamp():
                return self._now().astimezone(UTC) + timedelta(seconds=dice.choice(_STEPS))
            case t.Date():
                return self._now().astimezone(UTC).date() + timedelta(days=dice.randrange(-3, 4))
            case t.Uuid():
                return uuid.UUID(int=dice.getrandbits(128), version=4)
            case t.String():
                return self._text(kind.maximum, extreme)
            case t.Bytes():
                return dice.randbytes(kind.maximum if extreme else dice.randrange(min(kind.maximum, 9) + 1))
        return self._composed(kind)

    def _composed(self, kind: t.Type) -> Any:
        dice = self._dice
        match kind:
            case t.Enum():
                return dice.choice(self._enums[kind.name])
            case t.Optional():
                return None if dice.random() < 0.3 else self.draw(kind.item)
            case t.List():
                return [self.draw(kind.item) for _ in range(self.length(kind))]
            case t.Record():
                return {field.name: self.draw(field.type) for field in self._entities[kind.entity]}
        raise TypeError(kind)

    def length(self, kind: t.List) -> int:
        """How long a list is: a few entries, as a rule."""
        most = kind.maximum if self._dice.random() < EXTREME else min(kind.maximum, kind.minimum + 3)
        return self._dice.randint(kind.minimum, max(kind.minimum, min(most, 64)))

    def _number(self, kind: t.Decimal | t.Money, extreme: bool) -> Decimal:
        precision, scale = (
            (t.MONEY_PRECISION, t.MONEY_SCALE) if isinstance(kind, t.Money) else (kind.precision, kind.scale)
        )
        digits = precision if extreme else min(precision, scale + 2)
        sign = -1 if self._dice.random() < 0.1 else 1
        return Decimal(f"{sign * self._dice.randrange(10**digits)}E-{scale}")  # exact: no context rounds it

    def _text(self, maximum: int, extreme: bool) -> str:
        if extreme:
            return self._dice.choice(("", "x" * min(maximum, 4_096)))
        text = f"{self._dice.choice(_WORDS)} {self._dice.randrange(100)}"
        return text.encode()[:maximum].decode("utf-8", "ignore")
