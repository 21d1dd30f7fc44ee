"""What the names of a query stand for: parameters, rows, and what the contract declares."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from treadle.model import contract as m
from treadle.model import query as o
from treadle.model import types as t
from treadle.riff import syntax as s
from treadle.riff.diagnostics import Extent, Report
from treadle.riff.symbols import EntitySymbol, EnumSymbol, Unit
from treadle.riffql import syntax as q

REVISION: Final = "revision"
NOWHERE: Final = Extent(0, 0)

_CODES: Final = {"C004": "Q002", "C005": "Q003", "C006": "Q004", "C007": "Q005"}
"""The codes of what a contract's own checks find in a query's types and constants."""


class Findings(Report):
    """A report that takes what a contract's checks find, under the codes of queries."""

    def __init__(self, report: Report) -> None:
        super().__init__()
        self._report = report

    def add(
        self,
        code: str,
        at: Extent,
        message: str,
        *,
        help: str = "",
        related: Sequence[tuple[str, Extent]] = (),
        misspelt: str = "",
        known: Iterable[str] = (),
    ) -> None:
        here = _CODES.get(code, code)
        self._report.add(here, at, message, help=help, related=related, misspelt=misspelt, known=known)


def contract_names(contract: m.Contract, report: Report) -> Unit:
    """A checked contract's enums and entities, as the checks of types and constants look them up."""
    tree = s.Contract(NOWHERE, s.Name(NOWHERE, contract.name), s.Integer(NOWHERE, "1"), ())
    unit = Unit(tree, Findings(report))
    for enum in contract.enums:
        variants = {variant: s.Name(NOWHERE, variant) for variant in enum.variants}
        unit.enums[enum.name] = EnumSymbol(s.EnumDecl(NOWHERE, s.Name(NOWHERE, enum.name), ()), variants)
    for entity in contract.entities:
        unit.entities[entity.name] = EntitySymbol(s.EntityDecl(NOWHERE, s.Name(NOWHERE, entity.name), ()))
    return unit


@dataclass(slots=True)
class ParameterSymbol:
    """A declared parameter. `type` is None where the written type was refused, and for the cursor."""

    node: q.Parameter
    type: t.Type | None
    cursor: bool = False
    used: bool = False


Reads: TypeAlias = str
"""What a statement is read for: rows, groups or totals."""


@dataclass(slots=True)
class RowSymbol:
    """A statement's row. `entity` is None where it is unknown; `parent` is the many row it is nested in."""

    node: q.Statement
    entity: m.Entity | None
    reads: Reads
    parent: RowSymbol | None = None
    returned: bool = False
    statement: o.Statement | None = None
    fields: dict[str, m.Field] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.entity is not None:
            self.fields = {member.name: member for member in self.entity.members}

    @property
    def name(self) -> str:
        return self.node.row.text

    @property
    def many(self) -> bool:
        return self.node.kind == "many"

    @property
    def owner(self) -> RowSymbol | None:
        """The many row for each of which this row's value is another one: itself, if it is one."""
        return self if self.many else self.parent

    @property
    def lineage(self) -> list[RowSymbol]:
        """The owner and the many rows that it is nested in, innermost first."""
        found: list[RowSymbol] = []
        here = self.owner
        while here is not None:
            found.append(here)
            here = here.parent
        return found


@dataclass(slots=True)
class QueryUnit:
    """A query while it is checked."""

    node: q.Query
    contract: m.Contract
    unit: Unit
    report: Report
    parameters: dict[str, ParameterSymbol] = field(default_factory=dict)
    rows: dict[str, RowSymbol] = field(default_factory=dict)
    cursor: str | None = None

    def entity(self, name: s.Name) -> m.Entity | None:
        """The entity of a name, or None and Q002."""
        for entity in self.contract.entities:
            if entity.name == name.text:
                return entity
        known = [entity.name for entity in self.contract.entities]
        self.report.add("Q002", name.at, f"no entity `{name.text}`", misspelt=name.text, known=known)
        return None

    def use(self, node: q.ParameterUse) -> ParameterSymbol | None:
        """The parameter that is used here, or None and Q002."""
        found = self.parameters.get(node.name)
        if found is None and node.name != self.cursor:
            message = f"no parameter `${node.name}`; declare it, as in `(${node.name}: Entity.field)`"
            self.report.add("Q002", node.at, message, misspelt=node.name, known=self.parameters)
            return None
        if found is None or found.cursor:
            message = f"`${node.name}` is the cursor; it stands in `take … after ${node.name}` only"
            self.report.add("Q010", node.at, message)
            return None
        found.used = True
        return found

    def field(self, row: RowSymbol, name: s.Name) -> m.Field | None:
        """A row's field, or None and Q002; None alone where the entity is unknown."""
        if row.entity is None:
            return None
        found = row.fields.get(name.text)
        if found is None:
            message = f"no field of {row.entity.name} is called `{name.text}`"
            self.report.add("Q002", name.at, message, misspelt=name.text, known=row.fields)
        return found


def like(left: t.Type, right: t.Type) -> bool:
    """Whether values of two types compare: equal types, or texts (bytes) whatever their bounds."""
    one, other = t.required(left), t.required(right)
    if isinstance(one, t.String | t.Bytes):
        return type(one) is type(other)
    return one == other
