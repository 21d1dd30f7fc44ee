"""`/openapi.json` and `/docs`: what the server offers, to a program and to a person."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Final

import msgspec

from treadle.engine.state import State
from treadle.server import openapi
from treadle.server.answers import Answer
from treadle.server.call import Call
from treadle.server.endpoint import OPEN, Endpoint
from treadle.version import __version__

OPENAPI_MEDIA: Final = "application/json"


def endpoints(all_: Callable[[], Iterable[Endpoint]]) -> tuple[Endpoint, ...]:
    """The routes of the documents about all routes."""

    async def document(call: Call) -> Answer:
        """The OpenAPI document, as much of it as the caller may use."""

        def read(state: State) -> bytes:
            key = (state.generation, call.caller.role)
            return call.service.keep(key, lambda: _document(state, call, all_()))

        return Answer(200, await call.read(read))

    return (
        Endpoint("GET", "/openapi.json", document, "The OpenAPI document."),
        Endpoint("GET", "/docs", page, "A page that shows it.", OPEN, produces="text/html"),
    )


def _document(state: State, call: Call, endpoints: Iterable[Endpoint]) -> bytes:
    return msgspec.json.encode(openapi.document(openapi.Described(state, call.caller), endpoints))


async def page(call: Call) -> Answer:
    """One page with its own style and script, which asks for a token and reads /openapi.json."""
    text = _page()
    return Answer(200, text, "text/html; charset=utf-8", ((b"content-security-policy", _policy(text)),))


def _page() -> bytes:
    template = files(__name__.rpartition(".")[0]).joinpath("docs.html").read_text(encoding="utf-8")
    return template.replace("{{version}}", escape(__version__)).encode()


def _policy(page: bytes) -> bytes:
    """Only the page's own script and style run, it speaks to its own server, and nothing frames it."""
    script, style = (_digest(page, tag) for tag in (b"script", b"style"))
    return (
        b"default-src 'none'; script-src '%b'; style-src '%b'; connect-src 'self'; "
        b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'" % (script, style)
    )


def _digest(page: bytes, tag: bytes) -> bytes:
    inner = page.partition(b"<" + tag + b">")[2].partition(b"</" + tag + b">")[0]
    return b"sha256-" + b64encode(sha256(inner).digest())
