"""A TCP proxy that loses what it is told to lose: connections, requests, answers."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

Fate = Literal["refuse", "cut", "lose", "stall", "pass"]
"""`refuse` closes before anything is read, `cut` after the request was read but not passed on, and `lose`
after the server has answered, without passing the answer on; `stall` reads and says nothing until the proxy
is closed; `pass` loses nothing."""


class Proxy:
    """Passes connections on to `port`; each request waits for `delay` seconds and uses up one of `fates`."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.fates: list[Fate] = []
        self.delay = 0.0
        self.closed = threading.Event()
        self.connections = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._threads: list[threading.Thread] = []
        self._open: list[socket.socket] = []

    def serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(client)
            thread = threading.Thread(target=self._connection, args=(client,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def close(self) -> None:
        self.closed.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for one in self._open:
            one.close()

    def _connection(self, client: socket.socket) -> None:
        try:
            with client, socket.create_connection(("127.0.0.1", self._port)) as server:
                while self._exchange(client, server):
                    pass
        except OSError:
            pass

    def _exchange(self, client: socket.socket, server: socket.socket) -> bool:
        """One request and its answer; false at the end of the connection."""
        if self.fates and self.fates[0] == "refuse":
            self.fates.pop(0)
            return False
        request = _message(client)
        if not request:
            return False
        fate = self.fates.pop(0) if self.fates else None
        if fate == "cut" or (fate == "stall" and self.closed.wait()) or self.closed.wait(self.delay):
            return False
        server.sendall(request)
        answer = _message(server)
        if fate == "lose":
            return False
        client.sendall(answer)
        return True


def _message(wire: socket.socket) -> bytes:
    """One HTTP message with a Content-Length, or in chunks; empty where the wire was closed."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = wire.recv(65_536)
        if not part:
            return b""
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [
        line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")
    ]
    if not lengths and b"transfer-encoding: chunked" in head.lower():
        while not data.endswith(b"0\r\n\r\n"):
            data += wire.recv(65_536)
        return data
    missing = int(lengths[0]) - len(body) if lengths else 0
    while missing > 0:
        part = wire.recv(65_536)
        data += part
        missing -= len(part)
    return data


@contextmanager
def proxied(url: str) -> Iterator[Proxy]:
    """A proxy before a server on loopback."""
    proxy = Proxy(int(url.rpartition(":")[2]))
    thread = threading.Thread(target=proxy.serve, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.close()
        thread.join(5)
