"""A command's request as JSON: the body of a call, or one line of many."""

from __future__ import annotations

from typing import Any, Final

from treadle.access.caller import Caller
from treadle.engine.request import Request
from treadle.engine.state import Deployed
from treadle.errors import InvalidInput, Malformed
from treadle.limits import KEY_BYTES
from treadle.model.types import String
from treadle.text import nearest

ONE: Final = frozenset({"input", "history", "contract"})
LINE: Final = ONE | {"command"}


def request_of(
    body: dict[str, Any], caller: Caller, request_id: bytes, command: str | None = None, key: Any = None
) -> Request:
    """The request of a body; `command` from the path, or None where the body names it.

    `key` is an idempotency key from a header, with the name of the input that it goes into.
    Raises `Malformed` or `InvalidInput`.
    """
    known = LINE if command is None else ONE
    for name in body:
        if name not in known:
            raise InvalidInput(f"there is no member {name[:64]!r}{nearest(name, known)}", path="body")
    if command is None:
        command = text(body, "command")
        if command is None:
            raise InvalidInput("name the command", path="command")
    given = body.get("input")
    if not isinstance(given, dict):
        raise InvalidInput("must be an object with the command's inputs", path="input")
    if key is not None:
        _put_key(given, *key)
    return Request(
        command, given, caller, text(body, "history"), text(body, "contract"), request_id=request_id
    )


def text(body: dict[str, Any], name: str) -> str | None:
    """A member that is text; None where it is absent or null."""
    value = body.get(name)
    if value is None or isinstance(value, str):
        return value
    raise InvalidInput("must be text", path=name)


def _put_key(given: dict[str, Any], name: str, key: str) -> None:
    if given.setdefault(name, key) != key:
        raise Malformed("the idempotency key in the header and the one in the input differ; send one of them")


def key_input(deployed: Deployed, command: str) -> str:
    """The name of a command's idempotency key, for the header Idempotency-Key.

    Raises `UnknownName`, and `InvalidInput` where the command has no key or one that is not text.
    """
    plan = deployed.command(command)
    if plan.key_input is not None:
        field = plan.inputs[plan.key_input]
        if isinstance(field.type, String):
            return field.name
    raise InvalidInput(f"{command} takes no key in this header", path="Idempotency-Key")


def header_key(value: str) -> str:
    """The key of an Idempotency-Key header: bare, or a quoted string as RFC 8941 writes one."""
    if value.startswith('"'):
        inner = value[1:-1] if len(value) > 1 and value.endswith('"') else None
        if inner is None or '"' in inner.replace("\\\\", "").replace('\\"', ""):
            raise Malformed("Idempotency-Key begins with a quotation mark and is no quoted string")
        value = inner.replace('\\"', '"').replace("\\\\", "\\")
    if not 0 < len(value) <= KEY_BYTES or not value.isprintable():
        raise Malformed(f"Idempotency-Key has 1 to {KEY_BYTES} printable characters")
    return value
