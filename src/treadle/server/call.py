"""One request: its headers, query and body, read within bounds, and who sent it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import parse_qsl

from starlette.types import Receive, Scope, Send

from treadle import limits
from treadle.access.caller import Caller
from treadle.engine.state import State
from treadle.errors import InvalidInput, Malformed, OverCapacity, RequestError, TooLarge, TreadleError
from treadle.model.json_text import scan_json
from treadle.text import nearest

if TYPE_CHECKING:
    from treadle.access.roles import Permission
    from treadle.server.answers import Headers
    from treadle.server.service import Service

Result = TypeVar("Result")
LARGE: Final = 64 * limits.KIB
"""From this size on a body is read on a thread, so that other requests are not kept waiting."""
INSTANCE: Final = 128
QUERY_FIELDS: Final = 64


class Gone(TreadleError):
    """The client went away while its request was being read: nobody is left to answer."""

    default = "cancelled"


class Call:
    """A request on its way through the server.

    `caller` is who sends it; for a route that is open to everyone, nobody. `trace` is the trace id (16
    bytes), `params` the values of the path, `route` the path's form without them. `status` is 0 until the
    answer has begun. `basic` says whether its client may be asked for user and password. `cross_origin` are
    the headers that let another origin's page read it.
    """

    __slots__ = ("_held", "_receive", "basic", "caller", "cross_origin", "headers", "params", "route",
                 "scope", "send", "service", "status", "trace")  # fmt: skip

    def __init__(self, service: Service, scope: Scope, receive: Receive, send: Send, trace: bytes) -> None:
        self.service = service
        self.scope = scope
        self.send = send
        self.trace = trace
        self.headers: Mapping[bytes, bytes] = dict(scope["headers"])
        self.params: Mapping[str, str] = {}
        self.route = ""
        self.basic = False
        self.status = 0
        self.cross_origin: Headers = ()
        self.caller = Caller("")
        self._receive = receive
        self._held = 0

    # What came with it.

    def header(self, name: bytes) -> str | None:
        """A header's value; raises `Malformed` where it is not ASCII."""
        value = self.headers.get(name)
        if value is None:
            return None
        try:
            return value.decode("ascii")
        except UnicodeDecodeError:
            raise Malformed(f"the header {name.decode()} holds characters beyond ASCII") from None

    async def establish(self) -> None:
        """Find out who sends this. Raises `Denied` or `Malformed`, both `unauthenticated`."""
        caller = await self.service.caller_of(self.headers.get(b"authorization"))
        self.caller = caller._replace(instance=self.instance())

    def instance(self) -> str:
        """Which process of the principal calls: the header Treadle-Instance, or its address."""
        given = self.header(b"treadle-instance")
        if given is None:
            client = self.scope.get("client")
            return client[0] if client else ""
        if not given.isprintable() or not 0 < len(given) <= INSTANCE:
            raise Malformed(f"Treadle-Instance has 1 to {INSTANCE} printable characters, such as host-7/4242")
        return given

    def query(self, known: Iterable[str]) -> dict[str, list[str]]:
        """The query's values by name; raises for a name that the route does not know."""
        try:
            pairs = parse_qsl(
                self.scope["query_string"].decode("ascii"),
                keep_blank_values=True,
                strict_parsing=bool(self.scope["query_string"]),
                errors="strict",
                max_num_fields=QUERY_FIELDS,
            )
        except ValueError:
            raise Malformed("the query of the address cannot be read; write name=value&name=value") from None
        found: dict[str, list[str]] = {}
        names = list(known)
        for name, value in pairs:
            if name not in names:
                raise InvalidInput(f"there is no parameter {name[:64]!r}{nearest(name, names)}", path="query")
            found.setdefault(name, []).append(value)
        return found

    # Its body.

    async def body(self, limit: int | None = None, media: Sequence[str] = ("application/json",)) -> bytes:
        """The whole body, of one of the types in `media` and at most `limit` bytes.

        Raises `TooLarge`, `RequestError` (`unsupported_media_type`), `Malformed` (too slow), `OverCapacity`.
        """
        self.check_media(media)
        limit = self.service.options.max_body if limit is None else limit
        self.check_length(limit)
        part, more = await self.receive()
        if not more:
            if len(part) > limit:
                raise _too_large(limit)
            return part
        whole = bytearray(part)
        while more and len(whole) <= limit:
            part, more = await self.receive()
            whole += part
        if len(whole) > limit:
            raise _too_large(limit)
        return bytes(whole)

    def check_media(self, media: Sequence[str]) -> None:
        """Refuse a body of another type, and one that is compressed."""
        kind = content_type(self.headers.get(b"content-type", b""))
        if kind not in media:
            raise RequestError(
                f"send {' or '.join(media)} in UTF-8, and say so in Content-Type",
                code="unsupported_media_type",
            )
        if self.headers.get(b"content-encoding", b"identity").lower() != b"identity":
            raise RequestError("send the body as it is, not compressed", code="unsupported_media_type")

    def check_length(self, limit: int) -> None:
        """Refuse by its declared length what is too long, before any of it is read."""
        length = self.headers.get(b"content-length")
        if length is not None and int(length) > limit:
            raise _too_large(limit)

    async def receive(self) -> tuple[bytes, bool]:
        """The next part of the body, and whether more comes; raises `Gone` when the client went away.

        A client that sends nothing for too long is sent away by the connection itself. What is read counts
        against the bytes that the server holds of all requests, until `release`.
        """
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise Gone("the client went away")
        part: bytes = message["body"]
        if part:
            self.hold(len(part))
        return part, message["more_body"]

    @property
    def held(self) -> int:
        """Bytes that this request makes the server hold."""
        return self._held

    def hold(self, size: int) -> None:
        """Count bytes that this request makes the server hold."""
        if not self.service.hold(size):
            raise OverCapacity("the server holds as many bytes of requests as it may; try again in a moment")
        self._held += size

    def release(self, size: int | None = None) -> None:
        """Give back `size` bytes that were held, or all of them."""
        size = self._held if size is None else size
        self._held -= size
        self.service.hold(-size)

    async def json(self) -> dict[str, Any]:
        """The body as a JSON object; raises `Malformed` for anything else."""
        data = await self.body()
        value = scan_json(data) if len(data) < LARGE else await self.service.thread(scan_json, data)
        if not isinstance(value, dict):
            raise Malformed('the body must be a JSON object, such as {"input": {}}')
        return value

    # What it may see.

    def check_accept(self, media: str) -> None:
        """Raise (`not_acceptable`) where Accept rules `media` out."""
        accept = self.headers.get(b"accept")
        if accept is not None and not accepts(accept, media):
            raise RequestError(f"this answer comes as {media}; accept that", code="not_acceptable")

    async def read(self, function: Callable[[State], Result], permission: Permission | None = None) -> Result:
        """Run a read on a thread, after the caller's token and `permission` were checked anew."""
        return await self.service.read(self.caller, function, permission)


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"the body is larger than {limit:,} bytes; send less, or several commands as JSON Lines")


@lru_cache(maxsize=256)
def content_type(header: bytes) -> str:
    """The media type of a Content-Type header, '' where it cannot be read or the text is not UTF-8."""
    kind, *parameters = header.decode("latin-1").lower().split(";")
    for parameter in parameters:
        name, _, value = parameter.strip().partition("=")
        if name == "charset" and value.strip('"') not in ("utf-8", "utf8", "us-ascii"):
            return ""
    return kind.strip()


@lru_cache(maxsize=256)
def accepts(header: bytes, media: str) -> bool:
    """Whether an Accept header lets `media` through: the most specific range counts, q=0 rules out."""
    kind = media.partition("/")[0]
    best, quality = -1, 0.0
    for item in header.decode("latin-1").lower().split(","):
        range_, *parameters = (part.strip() for part in item.split(";"))
        rank = {"*/*": 0, f"{kind}/*": 1, media: 2}.get(range_, -1)
        if rank > best:
            best, quality = rank, _quality(parameters)
    return best >= 0 and quality > 0


def _quality(parameters: Iterable[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0


@lru_cache(maxsize=256)
def preferences(header: bytes) -> dict[str, str]:
    """The preferences of a Prefer header (RFC 7240) by name; what cannot be read is left out."""
    found: dict[str, str] = {}
    for item in header.decode("latin-1").lower().split(","):
        name, _, value = item.partition(";")[0].strip().partition("=")
        found.setdefault(name.strip(), value.strip().strip('"'))
    return found
