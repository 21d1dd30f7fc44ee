"""Two workers written with nothing but the generated client print a queue over HTTP; one of them is killed.

The server is a process of its own. The workers (`printer.py`) have tokens that allow to find, claim and
finish jobs, and nothing else. `queue_client.py` is what `treadle generate python` writes in this folder.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from printer import LEASE, SHOP, Printer, say
from queue_client import AddJob, QueueClient

import treadle
from treadle.access import roles

HERE = Path(__file__).resolve().parent
DATABASE = HERE / "work.db"
JOBS = 12


def worker(address: str, token: str, number: int, silent_after: int | None, told: Connection) -> None:
    """A worker's process: it says when it is ready, begins when it is told to, and says how it ends."""
    with treadle.connect(address, token=token, instance=f"printer-{number}") as remote:
        told.send("ready")
        told.recv()
        Printer(QueueClient(remote), number, lambda: told.send("silent")).run(silent_after)
        told.send("done")


def prepare() -> dict[str, str]:
    """A new database with the contract, the query and the roles of treadle.toml; a token for each role."""
    for path in HERE.glob("work.db*"):
        path.unlink()
    settings = tomllib.loads((HERE / "treadle.toml").read_text(encoding="utf-8"))
    with treadle.open(DATABASE) as db:
        declared = roles.read(settings["roles"])
        db.deploy(HERE / "queue.riff", queries=HERE / "waiting.riffq", roles=declared)
        return {role.name: db.tokens.create(f"{role.name}-service", role=role.name).text for role in declared}


@contextmanager
def serving() -> Iterator[str]:
    """`treadle serve` as a process of its own; its address."""
    command = [sys.executable, "-m", "treadle.cli", "serve", "--bind", "127.0.0.1:0"]
    server = subprocess.Popen(command, cwd=HERE, stderr=subprocess.PIPE, text=True)
    try:
        for line in server.stderr or ():
            if line.startswith("serving at"):
                yield line.split()[2]
                break
        else:
            raise SystemExit("the server did not start")
    finally:
        server.terminate()
        server.communicate(timeout=20)


def fill(desk: QueueClient) -> None:
    """Queue the jobs, all in one request."""
    jobs = [
        AddJob(key=f"add-{number}", shop=SHOP, number=number, title=f"Menu {number}")
        for number in range(1, JOBS + 1)
    ]
    added = [answer for answer in desk.run_many(jobs) if isinstance(answer, AddJob.Added)]
    say(f"the desk queues {len(added)} jobs")


def forbidden(client: QueueClient) -> None:
    """What a printer's token does not allow."""
    try:
        client.add_job(key=treadle.key(), shop=SHOP, number=99, title="Not mine to add")
    except treadle.Denied as error:
        say(f"a printer's token adds no job: {error}")


def work(address: str, token: str) -> None:
    """Run both workers, kill the first one when it holds a job, and wait for the second."""
    context = get_context("spawn")
    workers = []
    for number, silent_after in ((1, 1), (2, None)):
        here, there = context.Pipe()
        process = context.Process(target=worker, args=(address, token, number, silent_after, there))
        process.start()
        here.recv()
        workers.append((process, here))
    (first, one), (second, two) = workers
    for told in (one, two):
        told.send("go")
    if one.recv() != "silent":
        raise SystemExit("printer-1 got no second job; run it again")
    first.kill()
    first.join()
    say(f"printer-1 is killed (exit code {first.exitcode}); its lease runs out after {LEASE} seconds")
    second.join()


def check() -> None:
    """Every job was printed once; the one that was held by the killed worker has a second token."""
    with treadle.open(DATABASE, create=False) as db:
        rows = [db.row("Job", (SHOP, number)) for number in range(1, JOBS + 1)]
        states = [row.fields["state"] for row in rows if row]
        tokens = [row.fields["token"] for row in rows if row]
        say(f"printed: {states.count('Printed')} of {JOBS}; claimed twice: {tokens.count(2)}")
        finished = [entry for entry in db.log() if entry.name == "Finish" and entry.success]
        report = db.verify()
        if len(finished) != JOBS or states.count("Printed") != JOBS or not report.ok:
            raise SystemExit("the queue was not printed exactly once")
        say(f"history: {report.evaluated} commands evaluated again, nothing disagrees")


def main() -> None:
    tokens = prepare()
    print("A server, and two workers written with the generated client:")
    with serving() as address:
        with treadle.connect(address, token=tokens["desk"]) as remote:
            fill(QueueClient(remote))
        with treadle.connect(address, token=tokens["printer"]) as remote:
            forbidden(QueueClient(remote))
        work(address, tokens["printer"])
    check()


if __name__ == "__main__":
    main()
