"""What may be set about a server."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from treadle import limits


@dataclass(frozen=True)
class Options:
    """How a server listens and where it stops. Sizes are bytes, times seconds.

    `open_owner`: a caller without a token is the owner; only on loopback. `throwaway`: a token that lives as
    long as the process and stands for the owner; None for none. `hosts` are further names that a request's
    Host may have, `origins` the web pages' origins that may call. `log_requests`: one line for each request.
    """

    host: str = "127.0.0.1"
    port: int = 7480
    open_owner: bool = False
    throwaway: str | None = None
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    max_body: int = limits.HTTP_BODY_BYTES
    request_seconds: float = limits.HTTP_REQUEST_SECONDS
    idle_seconds: float = limits.HTTP_IDLE_SECONDS
    max_connections: int = limits.HTTP_CONNECTIONS
    drain_seconds: float = limits.HTTP_DRAIN_SECONDS
    log_requests: bool = False

    @property
    def loopback(self) -> bool:
        """Whether only this machine itself can reach the server."""
        return is_loopback(self.host)


def is_loopback(host: str) -> bool:
    """Whether a host to listen on is this machine itself; a name other than localhost may be anything."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
