"""A proxy before a server that loses requests and answers on demand."""

from __future__ import annotations

import socket
import threading
from typing import Literal

Fault = Literal["ok", "lost", "answer lost", "half", "late"]


class DroppingProxy:
    """Forwards connections to a server, one request each; `faults` are taken one for each update.

    `lost`: the request never reaches the server. `answer lost`: it does, and the answer is gone. `half`: the
    answer is cut in its middle. `late`: it reaches the server only together with the next update.
    """

    def __init__(self, host: str, port: int) -> None:
        self.faults: list[Fault] = []
        self.updates: list[bytes] = []
        self._server = (host, port)
        self._late: list[bytes] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._listener.close()

    def _run(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                self._serve(connection)

    def _serve(self, connection: socket.socket) -> None:
        request = read_message(connection)
        if not request:
            return
        request = request.replace(b"Connection: keep-alive", b"Connection: close")
        if not request.startswith(b"POST /update"):
            connection.sendall(self._ask(request))
            return
        body = request.partition(b"\r\n\r\n")[2]
        self.updates.append(body)
        fault = self.faults.pop(0) if self.faults else "ok"
        if fault == "lost":
            return
        if fault == "late":
            self._late.append(request)
            return
        for late in self._late:
            self._ask(late)
        self._late.clear()
        answer = self._ask(request)
        if fault == "answer lost":
            return
        connection.sendall(answer[: len(answer) // 2] if fault == "half" else answer)

    def _ask(self, request: bytes) -> bytes:
        with socket.create_connection(self._server, timeout=20) as server:
            server.sendall(request)
            return read_message(server)


def read_message(connection: socket.socket) -> bytes:
    """One HTTP message with a content-length, or none."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(65_536)
        if not part:
            return data
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    length = 0
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            length = int(value)
    while len(body) < length:
        part = connection.recv(65_536)
        if not part:
            break
        body += part
    return head + b"\r\n\r\n" + body
