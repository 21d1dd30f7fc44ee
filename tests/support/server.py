"""A real server: `treadle serve` as a process of its own on loopback, and what speaks to it."""

from __future__ import annotations

import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2

import treadle
from treadle.access.roles import Role

HERE = Path(__file__).resolve().parent
DEPOT_SOURCE = (HERE / "depot.riff").read_text(encoding="utf-8")
DEPOT_QUERIES = (HERE / "depot.riffq").read_text(encoding="utf-8")
DEPOT, OTHER_DEPOT = UUID(int=0xD), UUID(int=0xE)
ANN, BOB = str(UUID(int=1)), str(UUID(int=2))
COMMANDS = ("AddItem", "ShowItem", "Claim", "Begin", "Expire", "AddThing")
ROLES = (
    Role(
        "all",
        commands=COMMANDS,
        queries=("WaitingItems", "OneThing"),
        streams=("ItemAdded",),
        graph=("read", "update"),
        operations=("admin", "restore"),
    ),
    Role("worker", commands=("Claim", "Begin", "ShowItem")),
    Role("tenant", commands=COMMANDS, queries=("WaitingItems",), operations=("audit",), tenant=True),
    Role("auditor", operations=("audit",)),
    Role("nothing"),
)


def depot(path: Path) -> dict[str, str]:
    """A new database with the depot's contract, queries and roles; a token for each role."""
    with treadle.open(path) as db:
        db.deploy(DEPOT_SOURCE, queries=DEPOT_QUERIES, roles=ROLES)
        return {
            role.name: db.tokens.create(
                f"{role.name}-service", role=role.name, tenant=str(DEPOT) if role.tenant else ""
            ).text
            for role in ROLES
        }


class Running:
    """A server's process. `lines` are those of its standard error so far."""

    def __init__(self, *words: str, environment: dict[str, str] | None = None) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TREADLE_")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "treadle.cli", *words],
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=kept | (environment or {}),
        )
        self.lines: list[str] = []
        self._new: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.address = ""

    def _read(self) -> None:
        for line in self.process.stderr or ():
            self.lines.append(line.rstrip("\n"))
            self._new.put(line.rstrip("\n"))
        self._new.put(None)

    def wait_for(self, text: str, timeout: float = 30) -> str:
        """The next line with `text` in it."""
        while True:
            line = self._new.get(timeout=timeout)
            if line is None:
                raise AssertionError(f"the server ended before {text!r}:\n" + "\n".join(self.lines))
            if text in line:
                return line

    def started(self) -> Running:
        self.address = self.wait_for("serving at").split()[2]
        return self

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def stop(self, timeout: float = 30) -> int:
        """End it as an operator does; returns its exit code."""
        if self.process.poll() is None:
            self.signal(signal.SIGTERM)
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        self._reader.join(5)
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
        return code

    def log(self) -> list[dict[str, Any]]:
        """The lines of the structured log."""
        return [json.loads(line) for line in self.lines if line.startswith("{")]


@contextmanager
def serving(path: Path | str, *words: str) -> Iterator[Running]:
    """`treadle serve` on a free port of loopback."""
    running = Running("serve", "--bind", "127.0.0.1:0", "--database-url", str(path), *words)
    try:
        yield running.started()
    finally:
        running.stop()


def client(running: Running, token: str | None = None, **more: Any) -> httpx2.Client:
    """A client of a server, with a token."""
    headers = {"authorization": f"Bearer {token}"} if token is not None else {}
    return httpx2.Client(base_url=running.address, headers=headers, timeout=30, trust_env=False, **more)


class Raw:
    """A bare connection, for what no client library sends."""

    def __init__(self, port: int, timeout: float = 20) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)

    def __enter__(self) -> Raw:
        return self

    def __exit__(self, *unused: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> Raw:
        self.socket.sendall(data)
        return self

    def rest(self) -> bytes:
        """Everything until the server closes."""
        parts = []
        try:
            while part := self.socket.recv(65_536):
                parts.append(part)
        except ConnectionResetError:
            pass
        return b"".join(parts)

    def status(self) -> int:
        """The status of the first answer; reads until its head is there."""
        data = b""
        while b"\r\n\r\n" not in data:
            part = self.socket.recv(65_536)
            if not part:
                break
            data += part
        self.received = data
        return int(data.split(b" ", 2)[1]) if data else 0


def head(path: str, token: str | None, *headers: str, method: str = "POST", host: str = "localhost") -> bytes:
    """A request's head."""
    lines = [f"{method} {path} HTTP/1.1", f"host: {host}", *headers]
    if token is not None:
        lines.append(f"authorization: Bearer {token}")
    return "\r\n".join([*lines, "", ""]).encode()
