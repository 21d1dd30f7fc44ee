"""Requests a second over HTTP: single commands from 32 keep-alive clients, and a stream of JSON Lines.

Each is compared with the same server, the same checks and a handler that does nothing, in one run. The
server and the clients are processes of their own. Run `python bench/over_http.py`; it prints the best rounds.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
import uuid
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.support.contracts import SOURCE
from treadle.server.answers import Answer
from treadle.server.app import GROUPS
from treadle.server.call import Call
from treadle.server.endpoint import Endpoint

CLIENTS = 32
SECONDS = 2.0
ROUNDS = 3
LINES = 20_000
ORGANIZATION = str(uuid.UUID(int=7))


async def empty(call: Call) -> Answer:
    """Reads the body as a command's is read, and answers the same each time."""
    await call.json()
    return Answer(200, b'{"outcome":"Created"}')


async def empty_lines(call: Call) -> Answer:
    """Reads lines and answers one for each."""
    count, more = 0, True
    while more:
        part, more = await call.receive()
        count += part.count(b"\n")
        call.release()
    return Answer(200, b'{"outcome":"Created"}\n' * count)


ENDPOINTS = (
    Endpoint("POST", "/bench/empty", empty, "Nothing."),
    Endpoint("POST", "/bench/lines", empty_lines, "Nothing, for each line.", produces=""),
)


class Rate(NamedTuple):
    """Requests (or lines) a second, and microseconds of the server's processor time for each."""

    per_second: float
    processor: float


class Measured(NamedTuple):
    """The best rounds of the real handler and of the empty one."""

    name: str
    real: Rate
    empty: Rate

    @property
    def ratio(self) -> float:
        return self.real.per_second / self.empty.per_second


class Client(asyncio.Protocol):
    """One keep-alive connection that sends the next request when the last one is answered."""

    def __init__(self, path: str, until: float, token: str) -> None:
        self.done = asyncio.get_running_loop().create_future()
        self.count = 0
        self._head = (
            f"POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n"
            "content-type: application/json\r\ncontent-length: "
        )
        self._until = until
        self._buffer = b""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._send()

    def _send(self) -> None:
        given = {
            "request_key": uuid.uuid4().hex,
            "organization_id": ORGANIZATION,
            "work_id": str(uuid.uuid4()),
        }
        body = json.dumps({"input": given})
        self._transport.write(f"{self._head}{len(body)}\r\n\r\n{body}".encode())

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, end, body = self._buffer.partition(b"\r\n\r\n")
        if not end or len(body) < int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0]):
            return
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(self._buffer.decode())
        self._buffer = b""
        self.count += 1
        if time.monotonic() < self._until:
            self._send()
        else:
            self._transport.close()
            self.done.set_result(None)


async def singles(port: int, path: str, token: str, clients: int) -> tuple[int, float]:
    """Requests of keep-alive clients that each wait for their answer, and the seconds they took."""
    loop = asyncio.get_running_loop()
    began = time.monotonic()
    made = [
        (await loop.create_connection(lambda: Client(path, began + SECONDS, token), "127.0.0.1", port))[1]
        for _ in range(clients)
    ]
    await asyncio.wait_for(asyncio.gather(*(client.done for client in made)), 60)
    return sum(client.count for client in made), time.monotonic() - began


async def lines(port: int, path: str, token: str) -> tuple[int, float]:
    """Lines of one stream, written and read at the same time, and the seconds they took."""
    body = b"".join(
        json.dumps(
            {
                "command": "CreateWork",
                "input": {
                    "request_key": uuid.uuid4().hex,
                    "organization_id": ORGANIZATION,
                    "work_id": str(uuid.uuid4()),
                },
            }
        ).encode()
        + b"\n"
        for _ in range(LINES)
    )
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**24)
    began = time.monotonic()
    writer.write(
        f"POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n"
        "content-type: application/jsonl\r\nconnection: close\r\n"
        f"content-length: {len(body)}\r\n\r\n".encode()
    )

    async def send() -> None:
        for start in range(0, len(body), 65_536):
            writer.write(body[start : start + 65_536])
            await writer.drain()

    sending = asyncio.create_task(send())
    answered = 0
    while part := await asyncio.wait_for(reader.read(1 << 20), 60):
        answered += part.count(b'"outcome":"Created"')
    await sending
    took = time.monotonic() - began
    writer.close()
    if answered < LINES * 0.99:  # a count may fall between two parts that were read
        raise RuntimeError(f"{answered} of {LINES} lines were answered")
    return LINES, took


def processor_seconds(pid: int) -> float:
    """The processor time that a process has used; 0 where the system does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def client_process(server: int, port: int, kind: str, path: str, token: str) -> Rate:
    """Run the clients in a process of their own."""
    before = processor_seconds(server)
    words = [sys.executable, __file__, "client", str(port), kind, path]
    done = subprocess.run(
        words, env=os.environ | {"TREADLE_TEST_TOKEN": token}, capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    count, seconds = map(float, done.stdout.split())
    return Rate(count / seconds, (processor_seconds(server) - before) / count * 1e6)


def measure() -> list[Measured]:
    """Both comparisons."""
    token = "t" * 43
    with TemporaryDirectory() as folder:
        server = subprocess.Popen(
            [sys.executable, __file__, "server", f"{folder}/bench.db"],
            env=os.environ | {"TREADLE_TEST_TOKEN": token},
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            port = int(server.stdout.readline().rpartition(":")[2]) if server.stdout else 0
            found = []
            for name, kind, real, nothing in (
                ("single command, 32 clients", "singles", "/v1/commands/CreateWork", "/bench/empty"),
                ("JSON Lines, one stream", "lines", "/v1/commands", "/bench/lines"),
            ):
                pairs = [
                    [client_process(server.pid, port, kind, path, token) for path in (real, nothing)]
                    for _ in range(ROUNDS)
                ]
                found.append(Measured(name, *(max(column) for column in zip(*pairs, strict=True))))
            return found
        finally:
            server.terminate()
            server.wait(30)


def run_server(path: str) -> None:
    """The server's process."""
    import treadle
    from treadle.server import lifecycle
    from treadle.server.options import Options

    options = Options(port=0, throwaway=os.environ["TREADLE_TEST_TOKEN"])
    with treadle.open(path) as database:
        database.deploy(SOURCE)
        lifecycle.serve(
            database, options, lambda at: print(at, flush=True), groups=(*GROUPS, "bench.over_http")
        )


def main() -> None:
    """Print the table, or be one of the processes."""
    if sys.argv[1:2] == ["server"]:
        run_server(sys.argv[2])
    elif sys.argv[1:2] == ["client"]:
        port, kind, path = int(sys.argv[2]), sys.argv[3], sys.argv[4]
        token = os.environ["TREADLE_TEST_TOKEN"]
        rate = singles(port, path, token, CLIENTS) if kind == "singles" else lines(port, path, token)
        print(*asyncio.run(rate))
    else:
        print(f"{'work':<28}{'per second':>12}{'empty handler':>15}{'ratio':>8}{'server µs each, both':>24}")
        for row in measure():
            rates = f"{row.real.per_second:>12,.0f}{row.empty.per_second:>15,.0f}{row.ratio:>8.2f}"
            print(f"{row.name:<28}{rates}{row.real.processor:>14,.0f}{row.empty.processor:>10,.0f}")


if __name__ == "__main__":
    main()
