"""Carrying out the steps of an exchange over HTTP: a driver that blocks and one that awaits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import httpx2

from treadle.access.presence import beside
from treadle.client.exchange import Answer, Lost, Pause, Reply, Send, Steps
from treadle.errors import Closed, InvalidInput
from treadle.version import __version__

Result = TypeVar("Result")

CONNECTIONS: Final = 100
INSTANCE: Final = "Treadle-Instance"
IDLE_SECONDS: Final = 10.0
"""A connection that was idle for longer is not used again: the server closes it a little later."""
_NOT_SENT: Final = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError)
_LONGEST_RETRY: Final = 60.0


def checked_url(url: str) -> str:
    """A base address, without a slash at its end; raises `InvalidInput` for what is none."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise InvalidInput("write the server's address, such as http://127.0.0.1:7480", path="url")
    if parts.username is not None or parts.query or parts.fragment:
        raise InvalidInput("write the bare address; a token goes into token=…", path="url")
    return url.rstrip("/") + "/"


def settings(url: str, token: str | None, instance: str | None) -> dict[str, Any]:
    """What both kinds of HTTP client are made with; raises `InvalidInput`."""
    headers = {"User-Agent": f"treadle/{__version__}", "Accept": "application/json, */*;q=0.1"}
    if token is not None:
        if not token or not token.isascii() or not token.isprintable() or " " in token:
            raise InvalidInput("a token has 43 letters, digits, - and _", path="token")
        headers["Authorization"] = f"Bearer {token}"
    if instance is not None:
        if not instance or not instance.isascii() or not instance.isprintable():
            raise InvalidInput("write printable ASCII, such as host-7/4242", path="instance")
        headers[INSTANCE] = instance
    limits = httpx2.Limits(
        max_connections=CONNECTIONS,
        max_keepalive_connections=CONNECTIONS,
        keepalive_expiry=IDLE_SECONDS,
    )
    return {"base_url": checked_url(url), "headers": headers, "limits": limits, "follow_redirects": False}


class Http:
    """Steps carried out one after another, on the caller's thread."""

    def __init__(self, client: httpx2.Client, said: str = "") -> None:
        self.client = client
        self._headers: dict[str, str] = {}
        if said:
            instance = beside(client.headers.get(INSTANCE, ""), said)
            self._headers = {INSTANCE: instance} if instance else {}

    def presenting(self, said: str) -> Http:
        """The same connections, for calls that say this beside the instance's name."""
        return Http(self.client, said)

    def drive(self, steps: Steps[Result]) -> Result:
        """What the steps come to; raises what they raise."""
        answer: Answer = None
        try:
            while True:
                step = steps.send(answer)
                answer = self._take(step)
        except StopIteration as done:
            result: Result = done.value
            return result

    def _take(self, step: Send | Pause) -> Answer:
        if isinstance(step, Pause):
            time.sleep(step.seconds)
            return None
        self._check_open()
        try:
            return reply(self.client.request(**request(step, self._headers)))
        except httpx2.HTTPError as error:
            return failure(error)

    def _check_open(self) -> None:
        if self.client.is_closed:
            raise closed()


class AsyncHttp:
    """Steps carried out one after another, by the running task."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self.client = client

    async def drive(self, steps: Steps[Result]) -> Result:
        """What the steps come to; raises what they raise."""
        answer: Answer = None
        try:
            while True:
                step = steps.send(answer)
                answer = await self._take(step)
        except StopIteration as done:
            result: Result = done.value
            return result

    async def _take(self, step: Send | Pause) -> Answer:
        if isinstance(step, Pause):
            await asyncio.sleep(step.seconds)
            return None
        if self.client.is_closed:
            raise closed()
        try:
            return reply(await self.client.request(**request(step)))
        except httpx2.HTTPError as error:
            return failure(error)


def closed() -> Closed:
    """The error of a client that was closed."""
    return Closed("the client was closed; connect again")


def request(step: Send, more: Mapping[str, str] = {}) -> dict[str, Any]:
    """A step as the arguments of a request, with more headers."""
    headers: Mapping[str, str] = {**step.headers, **more}
    if step.body is not None:
        headers = {"Content-Type": "application/json", **headers}
    return {
        "method": step.method,
        "url": step.path,
        "content": step.body,
        "headers": headers,
        "timeout": step.seconds,
    }


def reply(response: httpx2.Response) -> Reply:
    """A response, read to its end."""
    wait = response.headers.get("retry-after", "")
    seconds = min(float(wait), _LONGEST_RETRY) if wait.isascii() and wait.isdecimal() else None
    return Reply(response.status_code, response.content, seconds)


def failure(error: httpx2.HTTPError) -> Lost:
    """A request without a response: whether it can have reached the server."""
    if isinstance(error, _NOT_SENT):
        return Lost(False, "the server cannot be reached; check its address and that it runs")
    if isinstance(error, httpx2.UnsupportedProtocol | httpx2.LocalProtocolError):
        return Lost(False, "the request cannot be made")
    if isinstance(error, httpx2.TimeoutException):
        return Lost(True, "the server did not answer in time")
    return Lost(True, "the connection ended before an answer came")
