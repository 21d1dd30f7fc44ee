"""A route, with what it needs of its caller and what it says of itself.

Every route of the server is an `Endpoint` in the tuple `ENDPOINTS` of its module. `access` says who may
call: everyone (`OPEN`), whoever has a token (`CALLER`: the handler itself asks the roles for what it is
about), or whoever has a permission. `writes` marks what can change the database; a test walks all of these
and shows that none of them goes around access and log.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from starlette.types import Receive, Scope, Send

from treadle.access.roles import Permission
from treadle.errors import RequestError
from treadle.server.answers import Answer
from treadle.server.call import Call
from treadle.server.sending import write

if TYPE_CHECKING:
    from treadle.server.described import Described

Handler: TypeAlias = Callable[[Call], Awaitable[Answer | None]]
"""Answers a call; None where it has sent its answer itself, part by part."""

Operation: TypeAlias = tuple[str, Mapping[str, Any]]
"""A path and the OpenAPI operation on it."""

OPEN: Final = "open"
CALLER: Final = "caller"
Access: TypeAlias = Literal["open", "caller"] | Permission


class Endpoint(NamedTuple):
    """One method of one path.

    `produces` is the media type of its success; a request that does not accept it is refused. '' where the
    handler decides. `describe` gives its OpenAPI operations; a route without one is not part of the document.
    `basic` is true where clients that know user and password only are asked for them (the password is the
    token); on other routes a browser would put up its own dialogue.
    """

    method: str
    path: str
    handler: Handler
    summary: str
    access: Access = CALLER
    writes: bool = False
    produces: str = "application/json"
    describe: Callable[[Described], Iterable[Operation]] | None = None
    basic: bool = False


class Path:
    """The endpoints of one path, as an ASGI application."""

    def __init__(self, endpoints: Iterable[Endpoint]) -> None:
        self._by_method = {one.method: one for one in endpoints}
        if "GET" in self._by_method:
            self._by_method["HEAD"] = self._by_method["GET"]
        self.allow = ", ".join(sorted(self._by_method))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        call: Call = scope["treadle.call"]
        call.params = scope["path_params"]
        endpoint = self._by_method.get(scope["method"])
        if endpoint is None:
            raise RequestError(
                f"this address knows {self.allow}", code="method_not_allowed", allow=self.allow.encode()
            )
        call.route = endpoint.path
        call.basic = endpoint.basic
        if endpoint.access != OPEN:
            await call.establish()
        if endpoint.produces:
            call.check_accept(endpoint.produces)
        if endpoint.access != OPEN and endpoint.access != CALLER:
            call.service.roles.check_permission(call.caller, endpoint.access)
        answer = await endpoint.handler(call)
        if answer is not None:
            await write(call, answer)
