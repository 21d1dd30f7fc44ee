"""The application: groups of routes, put together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Final

from starlette.middleware.errors import ServerErrorMiddleware
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from treadle.database import Database
from treadle.errors import UnknownName, check
from treadle.server import documents
from treadle.server.endpoint import Endpoint, Path
from treadle.server.gate import Gate, internal
from treadle.server.options import Options
from treadle.server.service import Service

GROUPS: Final = (
    "treadle.server.commands",
    "treadle.server.lines",
    "treadle.server.named",
    "treadle.server.streams",
    "treadle.server.working",
    "treadle.server.history",
    "treadle.server.why",
    "treadle.server.contract",
    "treadle.server.interface",
    "treadle.server.workflows",
    "treadle.server.operations",
    "treadle.server.mcp",
    "treadle.server.graph.routes",
)
"""Modules with routes, each in its tuple `ENDPOINTS`; those asked for most come first."""


def endpoints(groups: Iterable[str] = GROUPS) -> tuple[Endpoint, ...]:
    """Every route of these groups, and the two that describe them."""
    found: list[Endpoint] = []
    for group in groups:
        found += import_module(group).ENDPOINTS
    found += documents.endpoints(lambda: found)
    addresses = [(one.method, one.path) for one in found]
    check(len(set(addresses)) == len(addresses), "no two routes have the same method and path")
    return tuple(found)


def routes(all_: Iterable[Endpoint]) -> list[Route]:
    """The routes, one for each path."""
    by_path: dict[str, list[Endpoint]] = {}
    for endpoint in all_:
        by_path.setdefault(endpoint.path, []).append(endpoint)
    return [Route(path, Path(group)) for path, group in by_path.items()]


class Places:
    """The application at each address: looked up by its path, or matched where paths have parameters."""

    def __init__(self, all_: Sequence[Route]) -> None:
        self._router = Router(all_, redirect_slashes=False, default=nowhere)
        self._exact: dict[str, ASGIApp] = {}
        for route in all_:
            first = next(one for one in all_ if one is route or one.path_regex.match(route.path))
            if first is route and not route.param_convertors:
                self._exact[route.path] = route.app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = None if scope.get("root_path") else self._exact.get(scope["path"])
        if found is None:
            await self._router(scope, receive, send)
        else:
            scope["path_params"] = {}
            await found(scope, receive, send)


async def nowhere(scope: Scope, receive: Receive, send: Send) -> None:
    """There is no such address."""
    raise UnknownName("there is nothing at this address; /openapi.json lists what there is")


def create_app(database: Database, options: Options, groups: Sequence[str] = GROUPS) -> Application:
    """The ASGI application that serves a database. It closes its threads at shutdown, not the database."""
    service = Service(database, options)
    places = Places(routes(endpoints(groups)))
    return Application(ServerErrorMiddleware(Gate(places, service), handler=internal), service)


class Application:
    """The application and the service behind it."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self.service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)
