"""What a contract takes and answers as JSON Schema (draft 2020-12): one place for all who describe it.

A value that the readers of `treadle.model` accept is valid here, and what is valid here they accept, but
for what a schema cannot say: bytes of UTF-8 (a schema counts characters), the calendar, `1.0` for `1`, and
the length of bytes to the last one. docs/reference/json-schema.md lists the forms.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from treadle import limits
from treadle.errors import UnknownName
from treadle.model import query as q
from treadle.model import types as t
from treadle.model.contract import Command, Contract, Field, OutcomeDecl, Reimport
from treadle.text import nearest

Schema = dict[str, Any]

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
DEFINITIONS: Final = "#/$defs/"

TEXT: Final = "^[^\\u0000]*$"
BASE64: Final = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$"
_YEAR: Final = "([0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)"
_DAY: Final = f"{_YEAR}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
_HOUR: Final = "([01][0-9]|2[0-3]):[0-5][0-9]"


def up_to(most: int) -> str:
    """The regular expression of the plain digits of 0 … `most`."""
    digits = str(most)
    same_length = [
        f"{digits[:place]}[{low}-{int(digit) - 1}][0-9]{{{len(digits) - place - 1}}}"
        for place, digit in enumerate(digits)
        if (low := 0 if place else 1) < int(digit)
    ]
    return "|".join(["0", f"[1-9][0-9]{{0,{len(digits) - 2}}}", *same_length, digits])


def _integer(least: int, most: int, text: str, what: str) -> Schema:
    number = {"type": "integer", "minimum": least, "maximum": most}
    return {"description": what, "anyOf": [number, {"type": "string", "pattern": f"^({text})$"}]}


PLAIN: Final[Mapping[str, Schema]] = {
    "treadle.u64": _integer(
        0, limits.U64_MAX, up_to(limits.U64_MAX), "A whole number from 0 to 2⁶⁴−1, or its digits as text."
    ),
    "treadle.i64": _integer(
        limits.I64_MIN,
        limits.I64_MAX,
        f"{up_to(limits.I64_MAX)}|-({up_to(-limits.I64_MIN).removeprefix('0|')})",
        "A whole number from −2⁶³ to 2⁶³−1, or its digits as text.",
    ),
    "treadle.timestamp": {
        "type": "string",
        "format": "date-time",
        "pattern": f"^{_DAY}[Tt]{_HOUR}:[0-5][0-9](\\.[0-9]{{1,6}})?([Zz]|[+-]{_HOUR})$",
        "description": "RFC 3339 with at most six digits of a second, any offset in, Z out.",
    },
    "treadle.date": {"type": "string", "format": "date", "pattern": f"^{_DAY}$"},
    "treadle.uuid": {
        "type": "string",
        "format": "uuid",
        "pattern": "^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$",
    },
}
"""The scalar types without a bound, by the name of their definition."""

_NAMES: Final = {
    t.U64: "treadle.u64",
    t.I64: "treadle.i64",
    t.Timestamp: "treadle.timestamp",
    t.Date: "treadle.date",
    t.Uuid: "treadle.uuid",
}
REVISION: Final = "treadle.revision"


class Schemas:
    """The schemas of one contract. Its enums, entities and plain types are definitions under `prefix`.

    Names of the language have no dot, so `Job.input` and `treadle.u64` are nobody's own.
    """

    def __init__(self, contract: Contract, *, prefix: str = DEFINITIONS) -> None:
        self._contract = contract
        self._prefix = prefix

    def definitions(self) -> dict[str, Schema]:
        """Every plain type, every enum, every entity as it goes out (`Job`) and comes in (`Job.input`)."""
        found: dict[str, Schema] = dict(PLAIN)
        found[REVISION] = closed_object(
            {
                "binding": {"type": "string"},
                "revision": self.reference("treadle.u64"),
                "element": {"type": "integer", "minimum": 0, "description": "The place in the bulk list."},
            },
            required=("binding", "revision"),
        )
        for enum in self._contract.enums:
            found[enum.name] = {"type": "string", "enum": list(enum.variants)}
        for entity in self._contract.entities:
            found[entity.name] = self.object(entity.members, out=True)
            found[f"{entity.name}.input"] = self.object(entity.members, out=False)
        return found

    def reference(self, name: str) -> Schema:
        """A reference to a definition."""
        return {"$ref": self._prefix + name}

    def alone(self, title: str, schema: Schema) -> Schema:
        """A schema that stands alone: with the definitions that it leads to, and no others."""
        definitions = self.definitions()
        needed: set[str] = set()
        waiting = [schema]
        while waiting:
            for name in _references(waiting.pop(), self._prefix):
                if name not in needed:
                    needed.add(name)
                    waiting.append(definitions[name])
        kept = {name: definition for name, definition in definitions.items() if name in needed}
        return {"$schema": DIALECT, "title": title} | schema | ({"$defs": kept} if kept else {})

    # Types.

    def object(self, fields: Iterable[Field], *, out: bool) -> Schema:
        """An object of these fields. Going out every one is there; coming in, an absent optional may lack."""
        fields = tuple(fields)
        return closed_object(
            {field.name: self.schema(field.type, out=out) for field in fields},
            required=[field.name for field in fields if out or not isinstance(field.type, t.Optional)],
        )

    def schema(self, kind: t.Type, *, out: bool) -> Schema:
        """A value of this type."""
        match kind:
            case t.Optional():
                return {"anyOf": [self.schema(kind.item, out=out), {"type": "null"}]}
            case t.List():
                return {
                    "type": "array",
                    "items": self.schema(kind.item, out=out),
                    "minItems": kind.minimum,
                    "maxItems": kind.maximum,
                }
            case t.Record():
                return self.reference(kind.entity if out else f"{kind.entity}.input")
            case t.Enum():
                return self.reference(kind.name)
            case t.U64() | t.I64() | t.Timestamp() | t.Date() | t.Uuid():
                return self.reference(_NAMES[type(kind)])
            case _:
                return bounded(kind)

    # Commands.

    def input(self, command: Command | Reimport) -> Schema:
        """The input of a command; its idempotency key is not empty."""
        if isinstance(command, Reimport):
            return self.object([command.input], out=False)
        schema = self.object(command.inputs, out=False)
        if command.idempotency_key is not None:
            key: Schema = schema["properties"][command.idempotency_key]
            if key.get("type") == "string":
                key["minLength"] = 1
            key["description"] = "The idempotency key: the same key again gives the same receipt."
        return schema

    def outcome(self, outcome: OutcomeDecl) -> Schema:
        """The fields of an outcome."""
        return self.object(outcome.fields, out=True)

    def receipt(self, command: Command | Reimport) -> Schema:
        """The receipt of a command: one form for each declared outcome, in declared order."""
        common = {
            "workflow_revisions": {"type": "array", "items": self.reference(REVISION)},
            "commit": {"type": "integer", "minimum": 0},
            "time": self.reference("treadle.timestamp"),
            "history": {"type": "string"},
            "replayed": {"type": "boolean"},
        }
        return self._answers(
            command.name, [(each.name, self.outcome(each)) for each in command.outcomes], common
        )

    # Named queries.

    def parameters(self, query: q.Query) -> Schema:
        """The parameters of a query, without its cursor."""
        return self.object(query.parameters, out=False)

    def fields(self, members: Sequence[q.Member]) -> Schema:
        """A record that a query answers."""
        properties = {member.name: self._result(member.value) for member in members}
        return closed_object(properties, required=properties)

    def page(self, query: q.Query) -> Schema:
        """The answer of a query: one form for each outcome, the success first."""
        number = self.reference("treadle.u64")
        common: Schema = {
            "next": {"type": ["string", "null"], "description": "The cursor of the next page."},
            "commit": number,
            "after_commit": {"anyOf": [number, {"type": "null"}]},
            "history": {"type": "string"},
        }
        failures = [(name, self.fields(())) for name in query.failures]
        return self._answers(query.name, [(query.outcome, self.fields(query.members)), *failures], common)

    def _result(self, result: q.Result) -> Schema:
        if not isinstance(result, q.ShapeResult):
            return self.schema(result.type, out=True)
        record = self.fields(result.members)
        if result.kind == "many":
            return {"type": "array", "items": record}
        return record if result.kind == "one" else {"anyOf": [record, {"type": "null"}]}

    def _answers(self, name: str, outcomes: Sequence[tuple[str, Schema]], common: Schema) -> Schema:
        forms = []
        for outcome, fields in outcomes:
            properties = {"outcome": {"const": outcome}, "fields": fields, **common}
            forms.append({"title": f"{name}.{outcome}"} | closed_object(properties, required=properties))
        return {"oneOf": forms}


def closed_object(properties: Mapping[str, Schema], *, required: Iterable[str]) -> Schema:
    """An object of these properties and no others."""
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": dict(properties),
        "required": list(required),
    }


def bounded(kind: t.Type) -> Schema:
    """A value of a scalar type that stands for itself: a bool, or a type with its bound."""
    match kind:
        case t.Bool():
            return {"type": "boolean"}
        case t.Decimal():
            return _decimal(kind, kind.precision - kind.scale, kind.scale)
        case t.Money():
            return _decimal(kind, t.MONEY_PRECISION - t.MONEY_SCALE, t.MONEY_SCALE)
        case t.String():
            return {
                "type": "string",
                "maxLength": kind.maximum,
                "pattern": TEXT,
                "description": f"At most {kind.maximum} bytes of UTF-8, without NUL.",
            }
        case t.Bytes():
            longest = 4 * -(-kind.maximum // 3)
            return {
                "type": "string",
                "contentEncoding": "base64",
                "maxLength": longest,
                "pattern": BASE64,
                "description": f"At most {kind.maximum} bytes.",
            }
    raise ValueError(f"{kind} has no schema of its own")


def _decimal(kind: t.Type, before: int, after: int) -> Schema:
    """A decimal as text: at most `before` digits before the point and `after` behind it."""
    whole = f"(0|[1-9][0-9]{{0,{before - 1}}})" if before > 0 else "0"
    part = f"(\\.[0-9]{{1,{after}}})?" if after else ""
    return {"type": "string", "pattern": f"^-?{whole}{part}$", "description": f"A {kind}, as text."}


# Documents.


def _references(schema: object, prefix: str) -> Iterator[str]:
    """The names of the definitions that a schema refers to."""
    waiting = [schema]
    while waiting:
        here = waiting.pop()
        if isinstance(here, list):
            waiting.extend(here)
        elif isinstance(here, dict):
            target = here.get("$ref")
            if isinstance(target, str):
                yield target.removeprefix(prefix)
            waiting.extend(here.values())


def _commands(contract: Contract) -> list[Command | Reimport]:
    return [*contract.commands, *contract.reimports]


def command_document(contract: Contract, name: str) -> Schema:
    """What a command takes and answers: `input`, `outcomes` by name, and the whole `receipt`.

    Each is a schema by itself. Raises `UnknownName` for a command that the contract does not declare.
    """
    known = {each.name: each for each in _commands(contract)}
    found = known.get(name)
    if found is None:
        raise UnknownName(f"no command {name} in contract {contract.name}{nearest(name, known)}")
    schemas = Schemas(contract)
    outcomes = {each.name: schemas.outcome(each) for each in found.outcomes}
    return {
        "input": schemas.alone(f"{name} input", schemas.input(found)),
        "outcomes": {each: schemas.alone(f"{name} {each}", fields) for each, fields in outcomes.items()},
        "receipt": schemas.alone(f"{name} receipt", schemas.receipt(found)),
    }


def query_document(contract: Contract, query: q.Query) -> Schema:
    """What a query takes and answers: `parameters`, and the whole `page`; each is a schema by itself."""
    schemas = Schemas(contract)
    return {
        "parameters": schemas.alone(f"{query.name} parameters", schemas.parameters(query)),
        "page": schemas.alone(f"{query.name} page", schemas.page(query)),
    }


def contract_document(contract: Contract, queries: Iterable[q.Query] = ()) -> Schema:
    """One document with everything: every type, and under `$defs` each command's and query's parts.

    `command.Claim.input`, `command.Claim.outcome.Stale`, `command.Claim.receipt`, `query.Due.parameters`
    and `query.Due.page` are the names, to be used as `…#/$defs/command.Claim.input`.
    """
    schemas = Schemas(contract)
    found = schemas.definitions()
    for command in _commands(contract):
        found[f"command.{command.name}.input"] = schemas.input(command)
        for outcome in command.outcomes:
            found[f"command.{command.name}.outcome.{outcome.name}"] = schemas.outcome(outcome)
        found[f"command.{command.name}.receipt"] = schemas.receipt(command)
    for query in queries:
        found[f"query.{query.name}.parameters"] = schemas.parameters(query)
        found[f"query.{query.name}.page"] = schemas.page(query)
    return {
        "$schema": DIALECT,
        "$id": f"urn:treadle:contract:{contract.identity}",
        "title": f"{contract.name} version {contract.version}",
        "$defs": found,
    }
