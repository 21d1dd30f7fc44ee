"""The contract's JSON Schemas (`treadle.plan.json_schema`) as components of an OpenAPI document."""

from __future__ import annotations

from treadle.model.contract import Contract
from treadle.plan import json_schema
from treadle.plan.json_schema import Schema

PREFIX = "#/components/schemas/"


class Schemas(json_schema.Schemas):
    """Schemas of one contract's types; plain types, entities and enums are named components."""

    def __init__(self, contract: Contract, *, prefix: str = PREFIX) -> None:
        super().__init__(contract, prefix=prefix)

    def components(self) -> dict[str, Schema]:
        """Every plain type, every enum, every entity as it goes out (`Name`) and comes in (`Name.input`)."""
        return self.definitions()


__all__ = ["Schema", "Schemas"]
