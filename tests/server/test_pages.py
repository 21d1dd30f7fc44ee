"""The how-to of the server runs as it is read, and the files for systemd and containers are what they say."""

from __future__ import annotations

import configparser
import os
import re
import shutil
import signal
import socket
from pathlib import Path

import pytest

from tests.support.pages import run_page
from tests.support.shared import ROOT
from treadle import config

PORT = 17_480
"""The port that the page uses."""


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def test_the_how_to_runs_and_prints_what_it_shows(tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    if not is_free(PORT):
        pytest.skip(f"port {PORT}, which the page uses, is taken")
    page = (ROOT / "docs/howto/serve.md").read_text(encoding="utf-8")
    start = "treadle serve 2> serve.log &"
    assert page.count(start) == 1
    try:
        assert run_page(page.replace(start, start + " echo $! > server.pid"), tmp_path) > 20
        assert is_free(PORT)
    finally:
        end(tmp_path / "shop/server.pid")


def end(file: Path) -> None:
    """End the server that a page which failed left running, and nothing else."""
    try:
        os.kill(int(file.read_text(encoding="ascii")), signal.SIGKILL)
    except (OSError, ValueError):
        pass


def test_the_unit_starts_the_server_and_gives_it_time_to_stop() -> None:
    unit = configparser.RawConfigParser(strict=False)
    unit.read(ROOT / "deploy/treadle.service", encoding="utf-8")
    service = unit["Service"]
    assert service["ExecStart"].endswith("/treadle serve") and service["KillSignal"] == "SIGTERM"
    assert int(service["TimeoutStopSec"]) > config.SETTINGS["server.drain_seconds"].default
    for wall in ("NoNewPrivileges", "PrivateTmp", "ProtectHome"):
        assert service[wall] == "yes"
    assert service["ProtectSystem"] == "strict"
    assert service["ReadWritePaths"] == service["WorkingDirectory"] and service["UMask"] == "0077"


def test_the_container_serves_as_somebody_and_stops_as_it_should() -> None:
    text = (ROOT / "deploy/Containerfile").read_text(encoding="utf-8")
    last = text.rpartition("FROM ")[2]
    assert "USER treadle" in last and "STOPSIGNAL SIGTERM" in last and 'CMD ["serve"]' in last
    variables = re.findall(r"TREADLE_[A-Z_]+", last)
    assert variables and set(variables) <= {setting.variable for setting in config.SETTINGS.values()}
    for copied in re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE):
        assert all((ROOT / name).exists() for name in copied.split())
    extras = re.search(r"'\.\[([a-z,]+)\]'", text)
    assert extras and "server" in extras[1].split(",")


def test_the_versions_in_the_container_are_those_of_the_lock() -> None:
    text = (ROOT / "deploy/Containerfile").read_text(encoding="utf-8")
    assert "sed -e '/--hash=/d' -e 's/ \\\\$//' requirements/dev.lock" in text
    lock = (ROOT / "requirements/dev.lock").read_text(encoding="utf-8")
    left = re.sub(r" \\$", "", re.sub(r"^.*--hash=.*\n", "", lock, flags=re.MULTILINE), flags=re.MULTILINE)
    assert all(re.match(r"(#|[a-z0-9.-]+(\[[a-z,]+\])?==\S+)", line) for line in left.splitlines() if line)
