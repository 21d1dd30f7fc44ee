"""A PostgreSQL server for the tests of one process: made when it is first asked for, ended with the process.

PostgreSQL refuses to run as root, so where the tests do, it runs as another user.
"""

from __future__ import annotations

import atexit
import functools
import glob
import itertools
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest

_GUARD: Final = """
import json, signal, subprocess, sys
user = json.loads(sys.argv[1])
server = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd="/", **user)
print(server.pid, flush=True)
sys.stdin.read()
server.send_signal(signal.SIGQUIT)
server.wait()
"""
"""Ends the server when the tests' process ends, however it does."""

_ROOM: Final = 2 << 30


def _memory() -> str | None:
    """A folder where files cost nothing, for tests whose point is not the disk; None where there is none."""
    try:
        found = os.statvfs("/dev/shm")
    except OSError:
        return None
    roomy = found.f_bavail * found.f_frsize > _ROOM and os.access("/dev/shm", os.W_OK)
    return "/dev/shm" if roomy else None


_schemas: Final = itertools.count(1)


def binaries() -> Path | None:
    """The folder of `initdb` and `postgres`, the newest there is."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else []
    folders += map(Path, sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True))
    return next(
        (each for each in folders if (each / "initdb").exists() and (each / "postgres").exists()), None
    )


class Server:
    """A cluster in a folder of its own, reached through loopback."""

    def __init__(self, folder: Path, *, durable: bool = False) -> None:
        self.folder = folder
        self.durable = durable
        self.port = 0
        self._guard: subprocess.Popen[str] | None = None
        self.pid = 0

    def _as_user(self) -> dict[str, Any]:
        """What makes a program another user's, where this one is root."""
        if os.geteuid() != 0:
            return {}
        users = {each.pw_name: each for each in pwd.getpwall()}
        user = users.get("postgres") or users["nobody"]
        os.chown(self.folder, user.pw_uid, user.pw_gid)
        return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}

    def make(self) -> None:
        """Make the cluster."""
        binary = binaries()
        assert binary is not None
        arguments = ["-A", "trust", "-U", "treadle", "-E", "UTF8", "--locale=C", "--no-sync"]
        subprocess.run(
            [binary / "initdb", "-D", self.folder / "data", *arguments],
            check=True,
            cwd="/",
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            **self._as_user(),
        )

    def start(self) -> None:
        """Start the server on a free port, or on the one it had, and wait until it answers."""
        binary = binaries()
        assert binary is not None
        self.port = self.port or _free_port()
        settings = {
            "password_encryption": "scram-sha-256",
            "port": self.port,
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "fsync": "on" if self.durable else "off",
            "full_page_writes": "on" if self.durable else "off",
            "max_connections": 60,
            "shared_buffers": "32MB",
            "max_wal_size": "256MB",
            "autovacuum_naptime": "1min",
        }
        words = ["-D", str(self.folder / "data")]
        words += [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with open(self.folder / "log", "ab") as log:
            self._guard = subprocess.Popen(
                [sys.executable, "-c", _GUARD, json.dumps(self._as_user()), str(binary / "postgres"), *words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self._guard.stdout is not None
        self.pid = int(self._guard.stdout.readline())
        self._wait()

    def _wait(self) -> None:
        until = time.monotonic() + 60
        while True:
            try:
                psycopg.connect(self.url(None), connect_timeout=2).close()
                return
            except psycopg.Error:
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)

    def stop(self) -> None:
        """End the server at once, as a crash would; its data stay."""
        if self._guard is not None:
            assert self._guard.stdin is not None and self._guard.stdout is not None
            self._guard.stdin.close()
            self._guard.wait(60)
            self._guard.stdout.close()
            self._guard = None

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def become_standby(self) -> None:
        """Make a stopped server one that follows a primary, of which it will never hear."""
        (self.folder / "data" / "standby.signal").touch()

    def ask_password_of(self, role: str) -> None:
        """From now on the role needs its password."""
        rules = self.folder / "data" / "pg_hba.conf"
        rules.write_text(f"host all {role} 127.0.0.1/32 scram-sha-256\n{rules.read_text()}")
        self.ask("SELECT pg_reload_conf()")
        time.sleep(0.2)  # it is read a moment later

    def url(self, schema: str | None, *, port: int = 0, **more: object) -> str:
        """The URL of a schema in the database `postgres`; without one, libpq's own."""
        values = {} if schema is None else {"schema": schema}
        query = "&".join(f"{name}={value}" for name, value in {**values, **more}.items())
        return f"postgresql://treadle@127.0.0.1:{port or self.port}/postgres{'?' + query if query else ''}"

    def ask(self, text: str) -> list[Any]:
        """Ask the server, as a person with psql would."""
        with psycopg.connect(self.url(None), autocommit=True) as connection:
            cursor = connection.execute(text.encode())
            return cursor.fetchall() if cursor.description else []


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def skip_unless_installed() -> None:
    """Skip the test, with the reason, where there is no PostgreSQL to start."""
    if binaries() is None:
        pytest.skip("PostgreSQL's server is not installed here (initdb, postgres)")


def made(*, durable: bool = False) -> Server:
    """A new server that runs; stop it, and remove its folder."""
    folder = tempfile.mkdtemp(prefix="treadle-pg-", dir=None if durable else _memory())
    server = Server(Path(folder), durable=durable)
    try:
        server.make()
        server.start()
    finally:
        if not server.pid:
            removed(server)
    return server


def removed(server: Server) -> None:
    """Stop a server and remove everything it had."""
    server.stop()
    shutil.rmtree(server.folder, ignore_errors=True)


@functools.cache
def _shared(process: int) -> Server:
    server = made()

    def end() -> None:
        if os.getpid() == process:
            removed(server)

    atexit.register(end)
    return server


def shared() -> Server:
    """This process's server; skips the test where there can be none."""
    skip_unless_installed()
    return _shared(os.getpid())


def fresh_schema() -> str:
    """A name that no other test of this process has had."""
    return f"t{next(_schemas)}"


def fresh_url() -> str:
    """The URL of a new, empty schema on this process's server."""
    return shared().url(fresh_schema())


def dropped(schema: str) -> None:
    """Remove a schema and everything in it."""
    shared().ask(f'DROP SCHEMA IF EXISTS "{schema}" CASCADE')
