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
from pathlib import Path
from typing import Any, Final, NamedTuple

import httpx2

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


def advances(runs: int, revision: int) -> list[str]:
    """An advance of each run that is at a revision, signed."""
    moves = (loop(RELEASE, revision) for _ in range(runs))
    return [advance_text(move._replace_run(run_of(n))) for n, move in enumerate(moves)]


def filler(count: int) -> str:
    """Statements about other things, 5 to a subject."""
    lines = (
        f'<http://example.org/things/{n // 5}> <http://example.org/p{n % 5}> "value {n}" .\n' for n in range(count)
    )
    return "".join(lines)


# In process.


def timed_advances(db: treadle.Database, number: int, revisions: range) -> list[float]:
    """Seconds of each advance of one run."""
    graph, took = db.acting_as("bench").graph, []
    for text in [advances_of(number, revision) for revision in revisions]:
        began = time.perf_counter()
        done = graph.update(text)
        took.append(time.perf_counter() - began)
        if done.asserted != 12:
            raise RuntimeError(f"an advance added {done.asserted} statements")
    return took


def in_process(folder: Path) -> None:
    """The same advances on graphs of several sizes, taking turns."""
    print(f"{'statements':<14}{'load, s':>9}{'µs an advance':>15}{'ratio':>8}")
    opened, loaded = [], []
    for size in SIZES:
        db = treadle.open(folder / f"{size}.db", graph=ENFORCED)
        began = time.perf_counter()
        db.graph.load(filler(size), "ntriples", principal="bench")
        loaded.append(time.perf_counter() - began)
        db.graph.update(insert(setup(1)), principal="bench")
        timed_advances(db, 0, range(20))
        opened.append(db)
    took: list[list[float]] = [[] for _ in SIZES]
    for turn in range(ROUNDS):
        for place, db in enumerate(opened):
            first = 20 + turn * ADVANCES
            took[place] += timed_advances(db, 0, range(first, first + ADVANCES))
    medians = [statistics.median(each) * 1e6 for each in took]
    for size, load, median in zip(SIZES, loaded, medians, strict=True):
        print(f"{size:<14,}{load:>9.1f}{median:>15,.0f}{median / medians[0]:>8.2f}")
    for db in opened:
        db.close()
