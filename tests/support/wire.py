"""A proxy before PostgreSQL that cuts a connection before, during or after a COMMIT."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Literal

Cut = Literal["begin", "before", "lost", "after"]
"""Where to cut, once: as a writer begins; as COMMIT arrives, which is not passed on; after COMMIT was passed
on and carried out, whose answer is lost; after COMMIT's answer was passed on."""

_BEGIN = b"BEGIN ISOLATION LEVEL READ COMMITTED"
_COMMIT = b"COMMIT\0"


class Wire:
    """Passes connections on to a server's port on loopback."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.cut: Cut | None = None
        self.cuts = 0
        self.down = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._open: list[socket.socket] = []

    def serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self.down:
                client.close()
                continue
            server = socket.create_connection(("127.0.0.1", self._port))
            self._open += [client, server]
            for one in (client, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            committed = threading.Event()
            for function in (self._requests, self._answers):
                threading.Thread(target=function, args=(client, server, committed), daemon=True).start()

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut_all()

    def cut_all(self) -> None:
        """Cut every connection now."""
        for one in self._open:
            _end(one)
        self._open.clear()

    def _cut(self, *ends: socket.socket) -> None:
        self.cuts += 1
        self.cut = None
        for one in ends:
            _end(one)

    def _requests(self, client: socket.socket, server: socket.socket, committed: threading.Event) -> None:
        with suppress(OSError):
            while data := client.recv(65_536):
                if self.cut == "begin" and _BEGIN in data:
                    self._cut(client, server)
                    return
                if self.cut == "before" and _COMMIT in data:
                    self._cut(client, server)
                    return
                if _COMMIT in data:
                    committed.set()
                server.sendall(data)
        _end(server)

    def _answers(self, client: socket.socket, server: socket.socket, committed: threading.Event) -> None:
        with suppress(OSError):
            while data := server.recv(65_536):
                if committed.is_set() and self.cut == "lost":
                    self._cut(client, server)
                    return
                client.sendall(data)
                if committed.is_set() and self.cut == "after":
                    self._cut(server)
                    client.shutdown(socket.SHUT_RDWR)  # no reset, which would overtake the answer
                    return
                committed.clear()
        _end(client)


def _end(one: socket.socket) -> None:
    """Cut with a reset, as a machine that died would."""
    with suppress(OSError):
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        one.shutdown(socket.SHUT_RDWR)
    one.close()


@contextmanager
def wired(port: int) -> Iterator[Wire]:
    """A proxy before a server on loopback."""
    wire = Wire(port)
    thread = threading.Thread(target=wire.serve, daemon=True)
    thread.start()
    try:
        yield wire
    finally:
        wire.close()
        thread.join(5)
