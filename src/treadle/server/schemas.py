"""Types of the language as JSON Schema (draft 2020-12), as values come in and as they go out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from treadle import limits
from treadle.model import types as t
from treadle.model.contract import Contract, Field

Schema = dict[str, Any]

TIMESTAMP_IN: Final = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-5][0-9](\.[0-9]{1,6})?([Zz]|[+-][0-9]{2}:[0-9]{2})$"
)
TEXT: Final = "^[^\\u0000]*$"
BASE64: Final = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"


class Schemas:
    """Schemas of one contract's types; entities and enums are named components."""

    def __init__(self, contract: Contract, *, prefix: str = "#/components/schemas/") -> None:
        self._contract = contract
        self._prefix = prefix

    def components(self) -> dict[str, Schema]:
        """Every enum, and every entity as it goes out (`Name`) and as it comes in (`NameInput`)."""
        found: dict[str, Schema] = {}
        for enum in self._contract.enums:
            found[enum.name] = {"type": "string", "enum": list(enum.variants)}
        for entity in self._contract.entities:
            found[entity.name] = self.object(entity.members, out=True)
            found[f"{entity.name}Input"] = self.object(entity.members, out=False)
        return found

    def object(self, fields: Iterable[Field], *, out: bool) -> Schema:
        """An object of these fields. Going out every one is there; coming in, an absent optional may lack."""
        fields = tuple(fields)
        return {
            "type": "object",
            "additionalProperties": False,
            "properties": {field.name: self.schema(field.type, out=out) for field in fields},
            "required": [field.name for field in fields if out or not isinstance(field.type, t.Optional)],
        }

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
                return {"$ref": f"{self._prefix}{kind.entity}{'' if out else 'Input'}"}
            case t.Enum():
                return {"$ref": self._prefix + kind.name}
            case _:
                return scalar(kind, out=out)


def scalar(kind: t.Type, *, out: bool) -> Schema:
    """A value of a scalar type."""
    match kind:
        case t.Bool():
            return {"type": "boolean"}
        case t.U64():
            return integer(0, limits.U64_MAX, "[0-9]{1,20}" if out else "0|[1-9][0-9]{0,18}")
        case t.I64():
            return integer(limits.I64_MIN, limits.I64_MAX, "-?[0-9]{1,19}" if out else "0|-?[1-9][0-9]{0,17}")
        case t.Timestamp():
            return {"type": "string", "format": "date-time"} | ({} if out else {"pattern": TIMESTAMP_IN})
        case t.Date():
            return {"type": "string", "format": "date"}
        case t.Uuid():
            return {"type": "string", "format": "uuid"}
        case t.Decimal():
            return decimal(kind.precision - kind.scale, kind.scale)
        case t.Money():
            return decimal(t.MONEY_PRECISION - t.MONEY_SCALE, t.MONEY_SCALE) | {"description": str(kind)}
        case t.String():
            return {
                "type": "string",
                "maxLength": kind.maximum,
                "pattern": TEXT,
                "description": f"At most {kind.maximum} bytes of UTF-8, without NUL.",
            }
        case t.Bytes():
            longest = 4 * -(-kind.maximum // 3)
            return {"type": "string", "contentEncoding": "base64", "maxLength": longest, "pattern": BASE64}
    raise ValueError(f"{kind} has no schema")


def integer(minimum: int, maximum: int, digits: str) -> Schema:
    """A whole number, or its digits as text: going out where `Prefer: integers=string` asks for it."""
    # Coming in, the pattern leaves out the longest texts, since none can say their range; they are read too.
    number = {"type": "integer", "minimum": minimum, "maximum": maximum}
    return {"anyOf": [number, {"type": "string", "pattern": f"^({digits})$"}]}


def decimal(before: int, after: int) -> Schema:
    """A decimal as text: at most `before` digits before the point and `after` behind it."""
    whole = f"(0|[1-9][0-9]{{0,{before - 1}}})" if before > 0 else "0"
    part = f"(\\.[0-9]{{1,{after}}})?" if after else ""
    return {"type": "string", "pattern": f"^-?{whole}{part}$"}
