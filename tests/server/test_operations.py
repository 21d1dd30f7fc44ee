"""What operators see and do: health, readiness, metrics, logs, traces, stopping."""

from __future__ import annotations

import json
import re
import signal
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

import treadle
from tests.server.conftest import fresh, item, problem, run
from tests.support.server import ANN, BOB, DEPOT, Raw, Running, client, depot, head, serving
from treadle.testing import ManualClock

JSONL = "content-type: application/jsonl"


def samples(http: httpx2.Client) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """The metrics by name and labels."""
    answer = http.get("/metrics")
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/plain")
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def value(found: dict[Any, float], name: str, **labels: str) -> float:
    return found.get((f"treadle_{name}", tuple(sorted(labels.items()))), 0.0)


@pytest.fixture
def place(folder: Path) -> Path:
    return folder / f"operations-{fresh()}.db"


def test_health_and_readiness_need_no_token_and_tell_little(server: Running) -> None:
    with client(server) as http:
        assert http.get("/health").json() == {"status": "ok", "version": treadle.__version__}
        assert http.get("/version").json() == {"name": "treadle", "version": treadle.__version__}
        ready = http.get("/ready").json()
        assert ready["status"] == "ready" and ready["contract"] == 1
        assert -3600 < ready["clock"]["floor_seconds"] <= 1
        assert http.head("/health").content == b""


def test_every_metric_has_our_name_and_few_labels(http: httpx2.Client) -> None:
    run(http, "AddItem", item())
    found = samples(http)
    assert all(name.startswith("treadle_") for name, _ in found)
    labels = {label for _, pairs in found for label, _ in pairs}
    assert labels <= {
        "route", "method", "status", "le", "command", "outcome", "workflow", "result", "state", "kind",
        "code", "version", "reason",
    }  # fmt: skip
    routes = {dict(pairs)["route"] for name, pairs in found if name.endswith("requests_total")}
    assert not [route for route in routes if re.search(r"[0-9a-f]{8}-|AddItem", route)]


def test_metrics_are_sampled_from_the_store_whoever_wrote(place: Path) -> None:
    tokens = depot(place)
    with treadle.open(place) as db:
        worker = db.acting_as("embedded", role="all")
        with serving(place) as running, client(running, tokens["all"]) as http:
            items = [item() for _ in range(4)]
            for one in items:
                worker.run("AddItem", one)

            def claim(one: dict[str, Any], holder: str, revision: int, seconds: int = 1) -> str:
                given = {"key": fresh(), "depot": one["depot"], "item": one["item"], "holder": holder}
                asked = given | {"seconds": seconds, "expected_revision": revision}
                return worker.run("Claim", asked).outcome

            def begin(one: dict[str, Any], revision: int, holder: str = ANN) -> str:
                given = {"key": fresh(), "depot": one["depot"], "item": one["item"], "holder": holder}
                return worker.run("Begin", given | {"fence": 1, "expected_revision": revision}).outcome

            assert claim(items[0], ANN, 1, 900) == "Claimed"
            assert claim(items[0], BOB, 2, 900) == "Taken" and claim(items[0], BOB, 1, 900) == "Stale"
            assert begin(items[0], 2, BOB) == "NotHolder" and begin(items[0], 2) == "Begun"
            assert claim(items[1], ANN, 1) == claim(items[2], ANN, 1) == "Claimed"
            time.sleep(1.1)
            expire = {
                "key": fresh(),
                "depot": items[1]["depot"],
                "item": items[1]["item"],
                "expected_revision": 2,
            }
            assert worker.run("Expire", expire).outcome == "Expired"
            assert claim(items[2], BOB, 2) == "Claimed"
            time.sleep(1.1)
            found = samples(http)
            life = {"workflow": "Life"}
            assert value(found, "items", **life, state="Waiting") == 3
            assert value(found, "items", **life, state="Working") == 1
            assert value(found, "items", **life, state="Done") == 0
            assert value(found, "leases_held", **life) == 1 and value(found, "leases_lapsed", **life) == 1
            assert 2 < value(found, "oldest_ready_seconds", **life) < 60
            assert value(found, "claims_total", **life, result="won") == 4
            assert value(found, "claims_total", **life, result="unavailable") == 1
            assert value(found, "claims_total", **life, result="stale") == 1
            assert (
                value(found, "leases_lost_total", **life) == 1 and value(found, "retries_total", **life) == 1
            )
            assert value(found, "leases_expired_total", **life) == 1
            assert value(found, "fenced_writes_total", **life) == 1
            assert value(found, "commands_total", command="AddItem", outcome="Added") == 4
            assert value(found, "sample_lag_records") == 0 and value(found, "wal_bytes") > 0
            assert value(found, "log_head") == db.head[0]


def test_replays_and_problems_are_counted(http: httpx2.Client) -> None:
    before = samples(http)
    given = item()
    run(http, "AddItem", given)
    run(http, "AddItem", given)
    run(http, "AddItem", {})
    after = samples(http)
    for name, labels in (
        ("replays_total", {"command": "AddItem"}),
        ("problems_total", {"code": "invalid_input"}),
    ):
        assert value(after, name, **labels) == value(before, name, **labels) + 1


def test_a_database_without_a_contract_is_ready_to_get_one(place: Path) -> None:
    with treadle.open(place):
        pass
    with serving(place, "--insecure-loopback") as running, client(running) as http:
        assert http.get("/ready").json()["contract"] is None
        problem(http.get("/v1/contract"), 404, "unknown_name")
        problem(run(http, "AddItem", {}), 404, "unknown_name")
        assert http.get("/openapi.json").json()["info"]["version"] == "0"
        source = (Path(__file__).parents[1] / "support/depot.riff").read_text(encoding="utf-8")
        made = http.put("/v1/contract", json={"source": source, "expected_version": 0}).json()
        assert (made["version"], made["before"]) == (1, 0)
        assert run(http, "AddItem", item()).json()["outcome"] == "Added"
        assert http.get("/ready").json()["contract"] == 1
        assert samples(http)


def test_a_clock_far_ahead_is_not_ready(place: Path) -> None:
    with treadle.open(place, clock=ManualClock(datetime(2020, 1, 1, tzinfo=UTC))) as db:
        db.deploy((Path(__file__).parents[1] / "support/depot.riff").read_text(encoding="utf-8"))
    with serving(place, "--insecure-loopback") as running, client(running) as http:
        problem(http.get("/ready"), 503, "clock_jumped")
        problem(run(http, "AddItem", item()), 503, "clock_jumped")
        assert http.get("/health").status_code == 200


# Stopping.


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_an_idle_server_with_code_0(place: Path, number: int) -> None:
    depot(place)
    with serving(place) as running, client(running) as http:
        http.get("/health")
        running.signal(number)
        assert running.process.wait(10) == 0
    assert running.log()[-1]["event"] == "stopped"


def test_what_was_sent_before_the_signal_is_answered(place: Path) -> None:
    tokens = depot(place)
    with serving(place) as running:
        with Raw(running.port) as raw:
            raw.send(head("/v1/commands", tokens["all"], JSONL, "transfer-encoding: chunked"))
            assert raw.status() == 200
            sent = json.dumps({"command": "AddItem", "input": item()}).encode() + b"\n"
            raw.send(b"%x\r\n%b\r\n" % (len(sent), sent))
            while b'"outcome"' not in raw.received:
                raw.received += raw.socket.recv(65_536)
            running.signal(signal.SIGTERM)
            time.sleep(0.3)
            with pytest.raises(OSError):
                Raw(running.port, timeout=2)
            more = json.dumps({"command": "AddItem", "input": item()}).encode() + b"\n"
            raw.send(b"%x\r\n%b\r\n0\r\n\r\n" % (len(more), more))
            rest = raw.rest()
            assert rest.count(b'"outcome":"Added"') == 1 and rest.endswith(b"0\r\n\r\n")
        assert running.process.wait(10) == 0
    with treadle.open(place) as db:
        assert db.verify().ok


def test_a_second_signal_ends_it_at_once(place: Path) -> None:
    tokens = depot(place)
    with serving(place) as running, Raw(running.port) as raw:
        raw.send(head("/v1/commands", tokens["all"], JSONL, "transfer-encoding: chunked"))
        assert raw.status() == 200
        running.signal(signal.SIGTERM)
        time.sleep(0.5)
        assert running.process.poll() is None
        running.signal(signal.SIGTERM)
        assert running.process.wait(5) == 0


def test_a_drain_has_an_end(place: Path) -> None:
    tokens = depot(place)
    with serving(place, "--set", "server.drain_seconds=1") as running, Raw(running.port) as raw:
        raw.send(head("/v1/commands", tokens["all"], JSONL, "transfer-encoding: chunked"))
        assert raw.status() == 200
        began = time.monotonic()
        running.signal(signal.SIGTERM)
        assert running.process.wait(10) == 0 and time.monotonic() - began < 6


def test_nothing_that_was_acknowledged_is_lost_when_it_is_killed(place: Path) -> None:
    tokens = depot(place)
    acknowledged: list[dict[str, Any]] = []
    with serving(place) as running:

        def send() -> None:
            with client(running, tokens["all"]) as http:
                while True:
                    given = item()
                    try:
                        if run(http, "AddItem", given).json()["outcome"] == "Added":
                            acknowledged.append(given)
                    except (httpx2.HTTPError, OSError):
                        return

        threads = [threading.Thread(target=send) for _ in range(4)]
        for thread in threads:
            thread.start()
        time.sleep(0.5)
        running.process.kill()
        for thread in threads:
            thread.join()
    assert acknowledged
    with treadle.open(place) as db:
        assert db.verify().ok
        missing = [one for one in acknowledged if db.row("Item", (DEPOT, one["item"])) is None]
        assert not missing


# Logs and traces.


def test_logs_hold_names_and_numbers_and_nothing_of_a_request(place: Path) -> None:
    tokens = depot(place)
    marked = item(title="MARKED-TITLE", key="MARKED-KEY", pin="MARKED-PIN")
    with (
        serving(place, "--set", "server.log_requests=true") as running,
        client(running, tokens["all"]) as http,
    ):
        trace = run(http, "AddItem", marked).headers["trace-id"]
        run(http, "AddItem", marked | {"title": 7})
        http.get(f"/v1/log?of=Item&key={DEPOT}&key={marked['item']}")
        http.get("/MARKED-PATH", headers={"authorization": "Bearer MARKED-TOKEN"})
    lines = [line for line in running.log() if line["event"] == "request"]
    first = lines[0]
    assert (first["method"], first["route"], first["status"]) == ("POST", "/v1/commands/{name}", 200)
    assert (first["principal"], first["role"], first["trace"]) == ("all-service", "all", trace)
    assert [line["status"] for line in lines] == [200, 422, 200, 404]
    everything = "\n".join(running.lines)
    assert "MARKED" not in everything and tokens["all"] not in everything and marked["item"] not in everything


def test_without_the_setting_only_failures_are_logged(server: Running, http: httpx2.Client) -> None:
    run(http, "AddItem", item())
    assert not [line for line in server.log() if line["event"] == "request" and line["status"] < 500]


@pytest.mark.parametrize(
    "given",
    [
        "00-" + "0" * 32 + "-" + "1" * 16 + "-01",
        "ff-" + "1" * 32 + "-" + "1" * 16 + "-01",
        "00-" + "G" * 32 + "-" + "1" * 16 + "-01",
        "00-1-1-1",
        "x",
        "0" * 1000,
    ],
)
def test_a_trace_that_cannot_be_read_is_replaced(http: httpx2.Client, given: str) -> None:
    trace = http.get("/health", headers={"traceparent": given}).headers["trace-id"]
    assert re.fullmatch("[0-9a-f]{32}", trace) and trace not in given


# dev.

SEED = """\
{"command": "AddItem", "input": {"depot": "%s", "item": "%s", "title": "One"}}

{"command": "AddItem", "input": {"key": "mine", "depot": "%s", "item": "%s", "title": "Two"}}
"""


def project(folder: Path) -> Path:
    made = folder / f"project-{fresh()}"
    made.mkdir()
    support = Path(__file__).parents[1] / "support"
    (made / "depot.riff").write_bytes((support / "depot.riff").read_bytes())
    (made / "depot.riffq").write_bytes((support / "depot.riffq").read_bytes())
    (made / "treadle.toml").write_text(
        '[database]\nurl = "depot.db"\n[contract]\nsource = "depot.riff"\nqueries = ["*.riffq"]\n'
        '[[roles]]\nname = "worker"\ncommands = ["Claim"]\n',
        encoding="utf-8",
    )
    return made


def developing(made: Path, *words: str) -> Running:
    return Running("dev", "--config", str(made / "treadle.toml"), "--bind", "127.0.0.1:0", *words)


def test_dev_deploys_seeds_and_hands_out_a_token_for_this_run(folder: Path) -> None:
    made = project(folder)
    (made / "seed.jsonl").write_text(SEED % (DEPOT, fresh(), DEPOT, fresh()), encoding="utf-8")
    tokens: list[str] = []
    for replay in ("2 commands run", "0 commands run"):
        running = developing(made, "--seed", str(made / "seed.jsonl"))
        try:
            running.wait_for(replay)
            running.started()
            tokens.append(running.wait_for("token for this run").rpartition(" ")[2])
            with client(running, tokens[-1]) as http:
                assert run(http, "AddItem", item()).json()["outcome"] == "Added"
                assert "WaitingItems" in http.get("/v1/contract").json()["queries"]
                assert http.get("/v1/contract").json()["source"]
            with client(running, tokens[0]) as http:
                assert http.get("/v1/contract").status_code == (200 if len(tokens) == 1 else 401)
            with client(running) as http:
                problem(http.get("/v1/contract"), 401, "unauthenticated")
        finally:
            assert running.stop() == 0
    with treadle.open(made / "depot.db") as db:
        assert db.tokens.list() == []


def test_dev_follows_the_files_and_keeps_what_works(folder: Path) -> None:
    made = project(folder)
    running = developing(made)
    try:
        token = running.started().wait_for("token for this run").rpartition(" ")[2]
        source = (made / "depot.riff").read_text(encoding="utf-8")
        with client(running, token) as http:
            (made / "depot.riff").write_text(
                source.replace("command Claim", "command Clam {"), encoding="utf-8"
            )
            running.wait_for("error")
            assert http.get("/v1/contract").json()["version"] == 1
            (made / "depot.riff").write_text(source.replace("version 1", "version 2"), encoding="utf-8")
            running.wait_for("version 2 is active, after 1")
            assert http.get("/v1/contract").json()["version"] == 2
            (made / "treadle.toml").write_text("[database]\nurll = 1\n", encoding="utf-8")
            running.wait_for("unknown key database.urll")
            assert http.get("/health").status_code == 200
    finally:
        assert running.stop() == 0


def test_dev_stays_on_this_machine(folder: Path) -> None:
    made = project(folder)
    running = Running("dev", "--config", str(made / "treadle.toml"), "--bind", "0.0.0.0:0")
    try:
        assert running.process.wait(30) == 2
    finally:
        running.stop()
    assert any("bind to 127.0.0.1" in line for line in running.lines)


def test_a_port_that_is_taken(server: Running, place: Path) -> None:
    depot(place)
    running = Running("serve", "--bind", f"127.0.0.1:{server.port}", "-d", str(place))
    try:
        assert running.process.wait(30) == 2
    finally:
        running.stop()
    assert any("cannot listen" in line for line in running.lines)
