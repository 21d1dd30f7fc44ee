"""What comes with a request of the SPARQL protocols: names and values of address and form, and the body.

Names that nobody knows are left alone: clients of SPARQL send parameters of other servers along.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qsl

from treadle.errors import Malformed, RequestError
from treadle.graph.terms import IRI
from treadle.server.call import Call

FORM: Final = "application/x-www-form-urlencoded"
FIELDS: Final = 1_024
_ENCODINGS: Final = frozenset(("utf-8", "utf8", "us-ascii", "ascii"))

Values = dict[str, list[str]]


def of_address(call: Call) -> Values:
    """The parameters of the address."""
    return parsed(call.scope["query_string"], "the query of the address")


async def of_form(call: Call) -> Values:
    """The fields of a form, and the parameters of its address beside them."""
    values = of_address(call)
    for name, given in parsed(await body_of(call, FORM), "the form").items():
        values.setdefault(name, []).extend(given)
    return values


def parsed(data: bytes, what: str) -> Values:
    """Names and values of `name=value&…`, in UTF-8; raises `Malformed` for anything else."""
    try:
        pairs = parse_qsl(
            data.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=FIELDS
        )
    except ValueError:
        raise Malformed(
            f"{what} cannot be read; write name=value&name=value, percent-encoded UTF-8"
        ) from None
    found: Values = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return found


def one(values: Values, name: str) -> str | None:
    """The value of a parameter that may stand once; None where it is absent."""
    given = values.get(name, [])
    if len(given) > 1:
        raise Malformed(f"the parameter {name} may stand once only")
    return given[0] if given else None


def iris(values: Values, name: str) -> tuple[str, ...]:
    """The values of a parameter that names graphs; raises `Malformed` for what is no absolute IRI."""
    try:
        return tuple(IRI(text).value for text in values.get(name, ()))
    except ValueError as error:
        raise Malformed(f"{name}: {error}") from None


def media_of(call: Call, known: tuple[str, ...]) -> str:
    """The media type of the body, one of `known`.

    Raises `RequestError` (`unsupported_media_type`) for another one, `Malformed` for a charset but UTF-8.
    """
    header = call.headers.get(b"content-type", b"").decode("latin-1").lower()
    kind, *parameters = (part.strip() for part in header.split(";"))
    if kind not in known:
        raise RequestError(
            f"send {' or '.join(known)}, and say so in Content-Type", code="unsupported_media_type"
        )
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "charset" and value.strip().strip('"') not in _ENCODINGS:
            raise Malformed("the body must be UTF-8; convert it, and say so in Content-Type")
    return kind


async def body_of(call: Call, media: str) -> bytes:
    """The body, whose type `media_of` has accepted."""
    return await call.body(media=(media,))


async def text_of(call: Call, media: str) -> str:
    """The body as text; raises `Malformed` where it is not UTF-8."""
    data = await body_of(call, media)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Malformed(f"the body is not UTF-8: byte {error.start}; convert it first") from None


def base_of(call: Call) -> str:
    """The request's own URL, which relative IRIs are resolved against."""
    path: bytes = call.scope.get("raw_path") or call.scope["path"].encode()
    host = call.headers.get(b"host", b"localhost")
    return (
        f"{call.scope['scheme']}://{host.decode('ascii')}{path.partition(b'?')[0].decode('ascii', 'replace')}"
    )
