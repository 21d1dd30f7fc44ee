"""Signed advances: on a small and a large graph, and over HTTP against Oxigraph's own server.

The server of the package `oxigraph` gets the same updates on a disk of its own, and does less with them: no
guard, no signatures, no counts, no log, and no flush before it answers. Its program is found on the path, or
where OXIGRAPH says; without it the comparison is left out.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import httpx2
import pyoxigraph

import treadle
from bench.over_http import processor_seconds
from tests.support.graphs import ENFORCED, advance_text, insert, loop
from tests.support.server import serving
from tests.support.workflows import Release
from treadle.access.roles import Role
from treadle.graph.terms import IRI, Quad

RUNS: Final = 1_000
CLIENTS: Final = (1, 8)
ROUNDS: Final = 3
SIZES: Final = (1_000, 1_000_000)
ADVANCES: Final = 200
ROWS: Final = (10_000, 100_000)
RELEASE: Final = Release()
SPARQL: Final = "application/sparql-update"


def run_of(number: int) -> IRI:
    return IRI(f"http://example.org/runs/{number}")


def setup(runs: int) -> set[Quad]:
    """The plan, the registration, and runs at the start."""
    quads = RELEASE.plan_quads() | RELEASE.registration_quads()
    return quads.union(*(RELEASE.run_quads(run=run_of(number)) for number in range(runs)))


def advance(number: int, revision: int) -> str:
    """The update that advances a run from a revision, signed."""
    return advance_text(replace(loop(RELEASE, revision), run=run_of(number)))


def filler(count: int) -> str:
    """Statements about other things, five to a subject."""
    return "".join(
        f'<http://example.org/things/{n // 5}> <http://example.org/p{n % 5}> "value {n}" .\n'
        for n in range(count)
    )


# In process.


def timed(db: treadle.Database, revisions: range) -> list[float]:
    """Seconds of each advance of one run."""
    graph, took = db.acting_as("bench").graph, []
    for text in [advance(0, revision) for revision in revisions]:
        began = time.perf_counter()
        done = graph.update(text)
        took.append(time.perf_counter() - began)
        if done.asserted != 12:
            raise RuntimeError(f"an advance added {done.asserted} statements")
    return took


def loaded(path: Path, size: int) -> tuple[treadle.Database, float]:
    """An enrolled database with statements about other things, and the seconds that loading took."""
    db = treadle.open(path, graph=ENFORCED)
    text = filler(size)
    began = time.perf_counter()
    db.graph.load(text, "ntriples", principal="bench")
    took = time.perf_counter() - began
    db.graph.update(insert(setup(1)), principal="bench")
    timed(db, range(20))
    return db, took


def by_size(folder: Path) -> None:
    """The same advances on graphs of several sizes, taking turns."""
    print(f"{'statements':<14}{'load, s':>10}{'µs an advance':>16}{'ratio':>8}")
    opened = [loaded(folder / f"{size}.db", size) for size in SIZES]
    took: list[list[float]] = [[] for _ in SIZES]
    for turn in range(ROUNDS):
        first = 20 + turn * ADVANCES
        for (db, _), seconds in zip(opened, took, strict=True):
            seconds += timed(db, range(first, first + ADVANCES))
    medians = [statistics.median(seconds) * 1e6 for seconds in took]
    for size, (db, load), median in zip(SIZES, opened, medians, strict=True):
        print(f"{size:<14,}{load:>10.1f}{median:>16,.0f}{median / medians[0]:>8.2f}")
        db.close()


def by_rows(folder: Path) -> None:
    """Template inserts of ten times the solutions."""
    print(f"\n{'solutions':<14}{'INSERT, s':>10}{'µs each':>16}{'ratio':>8}")
    first = 0.0
    for rows in ROWS:
        with treadle.open(folder / f"{rows}.db") as db:
            db.graph.load(filler(rows), "ntriples", principal="bench")
            text = "INSERT { ?s <http://example.org/copy> ?o } WHERE { ?s ?p ?o }"
            began = time.perf_counter()
            done = db.graph.update(text, principal="bench", timeout=120)
            took = time.perf_counter() - began
        if done.asserted != rows:
            raise RuntimeError(f"{done.asserted} of {rows} statements were added")
        first = first or took / rows
        print(f"{rows:<14,}{took:>10.2f}{took / rows * 1e6:>16,.1f}{took / rows / first:>8.2f}")


def by_caller(folder: Path) -> None:
    """One caller, each advance on the disk before the next: ours, and a store that flushes."""
    print(f"\n{'in process, durable':<24}{'advances/s':>12}{'ratio':>8}")
    texts = [advance(0, revision) for revision in range(ADVANCES)]
    bare = pyoxigraph.Store(str(folder / "bare"))
    bare.update(insert(setup(1)))
    began = time.perf_counter()
    for text in texts:
        bare.update(text)
        bare.flush()
    theirs = ADVANCES / (time.perf_counter() - began)
    with treadle.open(folder / "one.db", graph=ENFORCED) as db:
        db.graph.update(insert(setup(1)), principal="bench")
        ours = ADVANCES / sum(timed(db, range(ADVANCES)))
    for name, found in (("treadle", ours), ("pyoxigraph and flush", theirs)):
        print(f"{name:<24}{found:>12,.0f}{found / theirs:>8.2f}")


# Over HTTP.


class Target(NamedTuple):
    """A server: its process, where it takes updates, and the token that it wants."""

    name: str
    pid: int
    port: int
    token: str


class Client(asyncio.Protocol):
    """One keep-alive connection that sends the next update when the last one is answered."""

    def __init__(self, token: str, bodies: list[bytes]) -> None:
        self.done = asyncio.get_running_loop().create_future()
        self._head = (
            f"POST /update HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n"
            f"content-type: {SPARQL}\r\ncontent-length: "
        )
        self._bodies = bodies
        self._buffer = b""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._send()

    def _send(self) -> None:
        if not self._bodies:
            self._transport.close()
            self.done.set_result(None)
            return
        body = self._bodies.pop()
        self._transport.write(f"{self._head}{len(body)}\r\n\r\n".encode() + body)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, end, body = self._buffer.partition(b"\r\n\r\n")
        if not end or len(body) < length(head):
            return
        good = head.startswith(b"HTTP/1.1 204") or b'"asserted":12' in body.replace(b" ", b"")
        if not good:
            self.done.set_exception(RuntimeError(self._buffer.decode()))
        self._buffer = b""
        if good:
            self._send()


def length(head: bytes) -> int:
    """What the head of an answer says of its body's length."""
    _, found, rest = head.lower().partition(b"content-length: ")
    return int(rest.split(b"\r\n")[0]) if found else 0


def itself(client: Client) -> Client:
    return client


async def send(port: int, token: str, bodies: list[bytes], clients: int) -> float:
    """Send all updates from some clients; the seconds that it took."""
    loop_, began = asyncio.get_running_loop(), time.monotonic()
    parts = [bodies[number::clients] for number in range(clients)]
    made = [Client(token, part) for part in parts]
    for client in made:
        await loop_.create_connection(partial(itself, client), "127.0.0.1", port)
    await asyncio.wait_for(asyncio.gather(*(client.done for client in made)), 120)
    return time.monotonic() - began


def rate(target: Target, texts: list[str], clients: int) -> tuple[float, float]:
    """Advances a second from clients in a process of their own, and µs of the server's processor for each."""
    before = processor_seconds(target.pid)
    words = [sys.executable, "-m", "bench.graph", str(target.port), str(clients)]
    done = subprocess.run(
        words,
        input=json.dumps(texts),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={**os.environ, "TREADLE_TEST_TOKEN": target.token},
    )
    used = processor_seconds(target.pid) - before
    return len(texts) / float(done.stdout), used / len(texts) * 1e6


def oxigraph() -> str | None:
    """The program of Oxigraph's server."""
    places = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    return os.environ.get("OXIGRAPH") or shutil.which("oxigraph", path=places)


@contextmanager
def theirs(program: str, folder: Path) -> Iterator[Target]:
    """Oxigraph's server with the runs, and nothing that guards them."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    words = [program, "serve", "--location", str(folder / "oxigraph"), "--bind", f"127.0.0.1:{port}"]
    process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    try:
        body = insert(setup(RUNS)).encode()
        for attempt in range(100):
            try:
                httpx2.post(f"http://127.0.0.1:{port}/update", content=body, headers={"content-type": SPARQL})
                break
            except httpx2.TransportError:
                time.sleep(0.05 if attempt < 99 else 0)
        yield Target("oxigraph", process.pid, port, "none")
    finally:
        process.terminate()
        process.wait()


@contextmanager
def ours(folder: Path) -> Iterator[Target]:
    """`treadle serve` with the runs, enrolled."""
    path = folder / "graph.db"
    with treadle.open(path, graph=ENFORCED) as db:
        db.deploy("contract Graph version 1 {}", roles=(Role("agent", graph=("read", "update")),))
        db.graph.update(insert(setup(RUNS)), principal="bench")
        token = db.tokens.create("bench", role="agent").text
    with serving(path) as running:
        yield Target("treadle", running.process.pid, running.port, token)


def over_http(folder: Path) -> None:
    """Both servers, taking turns; each turn advances every run once."""
    print(f"\n{'clients':<10}{'server':<10}{'advances/s':>12}{'ratio':>8}{'server µs each':>17}")
    program = oxigraph()
    if program is None:
        print("no program oxigraph: pip install oxigraph, or say where it is with OXIGRAPH=")
    with ours(folder) as first, theirs(program, folder) if program else no_server() as second:
        targets = [one for one in (first, second) if one is not None]
        best: dict[tuple[int, str], tuple[float, float]] = {}
        for turn in range(ROUNDS * len(CLIENTS)):
            clients = CLIENTS[turn % len(CLIENTS)]
            texts = [advance(number, turn) for number in range(RUNS)]
            for target in targets:
                found = rate(target, texts, clients)
                best[clients, target.name] = max(found, best.get((clients, target.name), found))
    for (clients, name), (per_second, used) in best.items():
        against = best.get((clients, "oxigraph"), (0.0, 0.0))[0]
        ratio = f"{per_second / against:>8.2f}" if against else f"{'':>8}"
        print(f"{clients:<10}{name:<10}{per_second:>12,.0f}{ratio}{used:>17,.0f}")


@contextmanager
def no_server() -> Iterator[None]:
    yield None


def main() -> None:
    """Print the tables, or be the process of the clients."""
    if len(sys.argv) == 3 and sys.argv[1].isdigit():
        bodies = [text.encode() for text in json.load(sys.stdin)]
        print(asyncio.run(send(int(sys.argv[1]), os.environ["TREADLE_TEST_TOKEN"], bodies, int(sys.argv[2]))))
        return
    with tempfile.TemporaryDirectory() as folder:
        over_http(Path(folder))
        by_caller(Path(folder))
        by_rows(Path(folder))
        by_size(Path(folder))


if __name__ == "__main__":
    main()
