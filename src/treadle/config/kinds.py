"""What the value of a setting may be: read from text (environment, flag) and checked (file)."""

from __future__ import annotations

import ipaddress
import json
import re
from dataclasses import dataclass
from typing import Any, Final, Protocol

TRUE: Final = ("true", "yes", "on", "1")
ADDRESS: Final = r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]\s]+):[0-9]{1,5}"
FALSE: Final = ("false", "no", "off", "0")


class Kind(Protocol):
    """One kind of value. Its methods raise `ValueError` whose text completes "… must be"."""

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of a checked value."""

    def of_text(self, text: str) -> Any:
        """The value that an environment variable or a flag spells."""

    def check(self, value: Any) -> Any:
        """The value itself, if the kind allows it."""


@dataclass(frozen=True)
class Text:
    """Text that is not empty; `like` is an example for the message."""

    like: str

    @property
    def schema(self) -> dict[str, Any]:
        return {"type": "string", "minLength": 1, "examples": [self.like]}

    def of_text(self, text: str) -> str:
        return self.check(text)

    def check(self, value: Any) -> str:
        if not isinstance(value, str) or not value or "\0" in value:
            raise ValueError(f"text, such as {self.like}")
        return value


@dataclass(frozen=True)
class Integer:
    """A whole number, `minimum` <= value <= `maximum`."""

    minimum: int
    maximum: int

    @property
    def schema(self) -> dict[str, Any]:
        return {"type": "integer", "minimum": self.minimum, "maximum": self.maximum}

    def of_text(self, text: str) -> int:
        if not re.fullmatch(r"-?[0-9]{1,19}", text):
            raise ValueError(self._wanted())
        return self.check(int(text))

    def check(self, value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not self.minimum <= value <= self.maximum:
            raise ValueError(self._wanted())
        return value

    def _wanted(self) -> str:
        return f"a whole number from {self.minimum} to {self.maximum}"


@dataclass(frozen=True)
class Flag:
    """True or false."""

    @property
    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}

    def of_text(self, text: str) -> bool:
        word = text.strip().lower()
        if word not in TRUE + FALSE:
            raise ValueError("true or false")
        return word in TRUE

    def check(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise ValueError("true or false, without quotes")
        return value


@dataclass(frozen=True)
class Texts:
    """A list of texts; as one text, a JSON list or its items with commas between them."""

    like: str

    @property
    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": Text(self.like).schema}

    def of_text(self, text: str) -> tuple[str, ...]:
        if text.lstrip().startswith("["):
            return self.check(json_of(text))
        return self.check([item.strip() for item in text.split(",") if item.strip()])

    def check(self, value: Any) -> tuple[str, ...]:
        if not isinstance(value, list | tuple):
            raise ValueError(f'a list of texts, such as ["{self.like}"]')
        return tuple(Text(self.like).check(item) for item in value)


@dataclass(frozen=True)
class Address:
    """`host:port` to listen on; an IPv6 host stands in brackets."""

    @property
    def schema(self) -> dict[str, Any]:
        return {"type": "string", "pattern": f"^{ADDRESS}$"}

    def of_text(self, text: str) -> str:
        return self.check(text)

    def check(self, value: Any) -> str:
        if not isinstance(value, str) or not re.fullmatch(ADDRESS, value):
            raise ValueError("host:port, such as 127.0.0.1:7480")
        host, _, port = value.rpartition(":")
        if int(port) > 65_535:
            raise ValueError("host:port with a port from 0 to 65535")
        if host.startswith("["):
            try:
                ipaddress.IPv6Address(host[1:-1])
            except ValueError:
                raise ValueError("host:port with an IPv6 host in brackets, such as [::1]:7480") from None
        return value


@dataclass(frozen=True)
class Tables:
    """A list of tables, `[[name]]` in the file; as one text, a JSON list of objects."""

    item: dict[str, Any]

    @property
    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": self.item}

    def of_text(self, text: str) -> tuple[dict[str, Any], ...]:
        return self.check(json_of(text))

    def check(self, value: Any) -> tuple[dict[str, Any], ...]:
        if not isinstance(value, list | tuple) or not all(isinstance(item, dict) for item in value):
            raise ValueError("a list of tables")
        return tuple(value)


def json_of(text: str) -> Any:
    """The value of a JSON text; `ValueError` that says it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("a list, written as JSON") from None
