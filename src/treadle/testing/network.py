"""A way to a server that fails on demand, to see what a client of yours does then."""

from __future__ import annotations

from typing import Final, Literal

import httpx2

Fault = Literal["unreachable", "answer_lost"]

_FAULTS: Final = ("unreachable", "answer_lost")


class FaultTransport(httpx2.BaseTransport):
    """The way to a server, for `treadle.connect(url, http=httpx2.Client(transport=FaultTransport()))`.

    `requests` counts those since `arm`, `fired` those that failed: commands, queries and streams, not what a
    client reads on its own, such as the contract. `inner` is the transport that carries out what does not
    fail; plain HTTP by default.
    """

    def __init__(self, inner: httpx2.BaseTransport | None = None) -> None:
        self._inner = inner or httpx2.HTTPTransport()
        self.arm(None)

    def arm(self, fault: Fault | None, *, at: int = 1, times: int | None = 1) -> None:
        """Let `times` requests fail (None: all), from request `at` (from 1) on.

        "unreachable": nobody answers at the address, and nothing was sent. "answer_lost": the server did what
        it was asked, and the connection ended before its answer came. None lets nothing fail.
        """
        if fault is not None and fault not in _FAULTS:
            raise ValueError(f"fault {fault!r}: write {' or '.join(_FAULTS)}")
        self._fault = fault
        self._at = at
        self._times = times
        self.requests = 0
        self.fired = 0

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Carry out a request, or fail it."""
        if self._fault == "unreachable" and self._times is None and self._at <= self.requests + 1:
            self.requests, self.fired = self.requests + 1, self.fired + 1
            raise _unreachable(request)
        if request.method != "POST":
            return self._inner.handle_request(request)
        self.requests += 1
        due = self.requests >= self._at and (self._times is None or self.fired < self._times)
        if self._fault is None or not due:
            return self._inner.handle_request(request)
        self.fired += 1
        if self._fault == "unreachable":
            raise _unreachable(request)
        response = self._inner.handle_request(request)
        response.read()
        response.close()
        raise httpx2.ReadError("the answer was lost on purpose", request=request)

    def close(self) -> None:
        """Close the transport within."""
        self._inner.close()


def _unreachable(request: httpx2.Request) -> httpx2.ConnectError:
    return httpx2.ConnectError("unreachable on purpose", request=request)
