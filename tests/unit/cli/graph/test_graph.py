"""`treadle graph`: a signed run from keys to an offline verification, on a database and against a server."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import treadle
from tests.support.dropping import DroppingProxy
from tests.support.graphs import advance_text, insert
from tests.support.legacy import legacy_plan, legacy_run, v1
from tests.support.server import serving
from tests.support.sparql_server import GraphServer, graph_database
from tests.support.workflows import Release
from tests.unit.cli.conftest import Call, Done
from treadle.cli.graph import common
from treadle.graph import dataset
from treadle.graph.signatures import public_key_of

PLAN, RUN = "http://example.org/plans/release", "http://example.org/runs/42"
AGENT = "urn:agent:alice"
SIGN = ("--agent", AGENT, "--key", "alice.pem")
STEPS = ("submit: Draft -> Review", "reject: Review -> Draft", "approve: Review -> Released")
DEFINE = ("graph", "define", PLAN, "--label", "Release", "--initial", "Draft", "--terminal", "Released",
          *(word for step in STEPS for word in ("--step", step)))  # fmt: skip
R = Release()


def good(done: Done) -> Done:
    assert done.code == 0, done
    return done


def register(call: Call, **at: str) -> str:
    """Make a key and load its registration; returns the public key."""
    good(call("graph", "keys", "init", "alice.pem", "--agent", AGENT))
    text = good(call("graph", "keys", "register-text", "alice.pem", "--agent", AGENT, "--attests", PLAN)).out
    good(call("graph", "load", "-", "--format", "turtle", "--as", "admin", stdin=text.encode()))
    return good(call("graph", "keys", "show", "alice.pem")).out.strip()


@pytest.fixture
def enrolled(call: Call, tmp_path: Path) -> Path:
    """A project whose database is enrolled, with a plan and a run, and alice's key."""
    (tmp_path / "treadle.toml").write_text(
        '[database]\nurl = "work.db"\n[graph.governance]\nenforce_workflows = true\n', encoding="utf-8"
    )
    register(call)
    good(call(*DEFINE))
    good(call("graph", "start", RUN, PLAN))
    return tmp_path


def test_a_large_graph_shows_how_far_its_index_is(
    call: Call, enrolled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[tuple[int, int]] = []

    @contextmanager
    def recorded(what: str) -> Iterator[Any]:
        yield lambda done, whole: steps.append((done, whole))

    monkeypatch.setattr(common, "progress", recorded)
    good(call("graph", "status", RUN))
    assert steps == []
    monkeypatch.setattr(dataset, "_BATCH", 10)
    good(call("graph", "query", "ASK {}"))
    assert [done for done, _ in steps][:2] == [10, 20] and steps[-1][0] == steps[-1][1] > 20


def test_a_run_from_plan_to_offline_verification(call: Call, enrolled: Path) -> None:
    assert "was defined already" in good(call(*DEFINE)).out
    assert "was started already" in good(call("graph", "start", RUN, PLAN)).out
    shown = good(call("graph", "status", RUN)).out
    assert "Draft, revision 0" in shown and "may: submit -> Review" in shown
    for step in ("submit", "reject", "submit", "approve"):
        done = good(call("graph", "advance", RUN, step, *SIGN, "--json")).json
        assert done["step"] == f"{PLAN}/{step}" and not done["resolved"]
    view = good(call("graph", "status", RUN, "--json")).json
    assert (view["state"], view["revision"], view["finished"], view["legal"]) == ("Released", "4", True, [])
    lines = good(call("graph", "history", RUN)).out.splitlines()
    assert len(lines) == 4 and all("signed" in line for line in lines)
    assert "holds, 4 signed events to Released at revision 4" in good(call("graph", "verify", RUN)).out
    key = good(call("graph", "keys", "show", "alice.pem")).out.strip()
    good(call("graph", "export", "--out", "export.ttl"))
    offline = ("graph", "verify", RUN, "--file", "export.ttl", "--trust")
    assert good(call(*offline, f"alice={key}", "--json")).json["events"] == 4
    other = public_key_of(b"\x01" * 32)
    assert call(*offline, f"alice={other}").code == 1
    forged = enrolled / "export.ttl"
    forged.write_text(forged.read_text().replace('"Released"', '"Draft"'), encoding="utf-8")
    assert call(*offline, f"alice={key}").code == 1
    assert good(call("verify")).code == 0


def test_refusals_and_conflicts(call: Call, enrolled: Path) -> None:
    done = call("graph", "advance", RUN, "approve", *SIGN)
    assert done.code == 2 and "take one of: submit" in done.err
    assert call("graph", "advance", RUN, "submit").code == 2
    assert call("graph", "advance", RUN, "submit", *SIGN, "--expected-revision", "7").code == 4
    assert call("graph", "advance", "urn:never", "submit", *SIGN).code == 2
    assert call("graph", "advance", "no IRI", "submit", *SIGN).code == 2
    assert call("graph", "define", PLAN, "--label", "x", "--initial", "Draft", "--terminal", "End",
                "--step", "end: Draft -> End").code == 2  # fmt: skip
    good(call("graph", "keys", "init", "mallory.pem", "--agent", "urn:agent:mallory"))
    stranger = ("--agent", "urn:agent:mallory", "--key", "mallory.pem")
    found = call("graph", "advance", RUN, "submit", *stranger, "--json")
    assert (found.code, found.json["error"]["reason"]) == (2, "signer_unregistered")
    forged = ("--agent", AGENT, "--key", "mallory.pem")
    assert "signature_invalid" in call("graph", "advance", RUN, "submit", *forged).err
    assert call("graph", "update", "DROP ALL", "--as", "eve", "--json").json["error"]["reason"]
    assert "Draft, revision 0" in good(call("graph", "status", RUN)).out


def test_keys_are_never_replaced_or_printed(call: Call, tmp_path: Path) -> None:
    shown = good(call("graph", "keys", "init", "alice.pem", "--agent", AGENT, "--json")).json
    assert (tmp_path / "alice.pem").stat().st_mode & 0o777 == 0o600
    before = (tmp_path / "alice.pem").read_bytes()
    again = call("graph", "keys", "init", "alice.pem", "--agent", AGENT)
    assert again.code == 2 and "never regenerated" in again.err
    assert (tmp_path / "alice.pem").read_bytes() == before
    text = good(
        call("graph", "keys", "register-text", "alice.pem", "--agent", AGENT, "--attests", PLAN, "--no-bind")
    ).out
    assert shown["public_key"] in text and "agent>" not in text
    assert call("graph", "keys", "init", "x.pem", "--agent", "alice").code == 2
    os.chmod(tmp_path / "alice.pem", 0o644)
    assert "chmod 600" in call("graph", "keys", "show", "alice.pem").err


def test_data(call: Call, tmp_path: Path) -> None:
    (tmp_path / "a.ttl").write_text("<urn:a> <urn:b> 1 , 'x\x1b[2J' .", encoding="utf-8")
    told = good(call("graph", "load", "a.ttl", "--as", "ann")).out
    assert told == "commit 1: 2 statements added, 0 removed\n"
    assert good(call("graph", "load", "a.ttl", "--as", "ann", "--json")).json["tx"] is None
    table = good(call("graph", "query", "SELECT ?o { ?s ?p ?o } ORDER BY ?o")).out
    assert "?o" in table and "\x1b" not in table
    rows = good(call("graph", "query", "-", "--json", stdin=b"SELECT ?o { ?s ?p 1 BIND(1 AS ?o) }")).json
    assert rows["results"]["bindings"][0]["o"]["value"] == "1"
    assert good(call("graph", "query", "ASK {}")).out == "yes\n"
    assert "<urn:b>" in good(call("graph", "query", "CONSTRUCT WHERE { ?s ?p ?o }")).out
    assert good(call("graph", "update", "DELETE WHERE { ?s ?p 1 }", "--as", "ann")).out.startswith("commit 2")
    assert len(good(call("graph", "export")).out.splitlines()) == 1
    good(call("graph", "load", "a.ttl", "--graph", "urn:g", "--replace", "--as", "ann"))
    union = good(call("graph", "query", "SELECT DISTINCT * { ?s ?p ?o }", "--union", "--json")).json
    assert len(union["results"]["bindings"]) == 2
    for bad, said in (
        (("graph", "load", "a.ttl"), "say who acts"),
        (("graph", "load", "missing.ttl", "--as", "ann"), "No such file"),
        (("graph", "load", "-", "--as", "ann"), "--format"),
        (("graph", "query", "SELECT"), "line 1"),
        (("graph", "update", "LOAD <file:///etc/passwd>", "--as", "ann"), "LOAD is refused"),
        (("graph", "export", "--format", "trig", "--graph", "urn:g"), "whole dataset"),
    ):
        done = call(*bad)
        assert done.code == 2 and said in done.err, bad
    log = good(call("log", "--long")).out
    assert "update load +2 -0" in log and "+  <urn:a> <urn:b>" in log


# Before switching it on.


def test_migrate_enroll_rollback(call: Call, tmp_path: Path) -> None:
    (tmp_path / "treadle.toml").write_text('[database]\nurl = "work.db"\n', encoding="utf-8")
    with treadle.open(tmp_path / "work.db") as db:
        old = legacy_plan() | legacy_run("Review") | v1("submit", "2020-01-01T00:00:00Z", signed=False)
        db.graph.update(insert(old), principal="legacy")
    assert call("graph", "enroll").code == 2
    assert call("graph", "doctor").code == 1
    assert call("graph", "migrate").code == 2
    assert call("graph", "migrate", "--apply").code == 2
    planned = call("graph", "migrate", "--plan", "--json")
    assert planned.code == 1 and planned.json["blocked"]
    answers: tuple[str, ...] = ("--initial", f"{R.plan}=Draft")
    assert "is unsigned" in call("graph", "migrate", "--plan", *answers).out
    assert call("graph", "migrate", "--apply", "--backup", "before", *answers).code == 1
    answers += ("--accept-unsigned", str(R.run))
    assert good(call("graph", "migrate", "--plan", *answers)).code == 0
    done = good(call("graph", "migrate", "--apply", "--backup", "before", *answers))
    assert "migrated" in done.out and (tmp_path / "work.db.before.backup").exists()
    assert call("graph", "migrate", "--apply", "--backup", "before", *answers).code == 2
    assert "enrolled" in good(call("graph", "enroll", "--as", "ann")).out
    assert "already" in good(call("graph", "enroll")).out
    assert good(call("graph", "doctor", "--json")).json["enrolled"] is True
    assert call("graph", "migrate", "--plan").code == 2
    with treadle.open(tmp_path / "work.db") as db:
        db.graph.update(insert(R.registration_quads()), principal="admin")
        db.graph.update(advance_text(R.advance("reject", "Review", "Draft", revision=1)), principal="agent")
        assert call("graph", "rollback", "before").code == 2
        busy = call("graph", "rollback", "before", "--discard-advances")
        assert busy.code == 7 and "has the database open" in busy.err
    assert call("graph", "rollback", "never").code == 2
    assert call("graph", "rollback", "../x").code == 2
    refused = call("graph", "rollback", "before", "--json")
    assert (refused.code, refused.json["error"]["reason"]) == (2, "advances_discarded")
    done = good(call("graph", "rollback", "before", "--discard-advances", "--json"))
    assert done.json["advances"] == 1 and done.json["commits"] == 4
    assert Path(done.json["kept"]).exists()
    with treadle.open(tmp_path / "work.db") as db:
        assert db.graph.capabilities()["processing"] == "disabled"
        assert db.verify().ok
    with treadle.open(Path(done.json["kept"])) as db:
        assert db.graph.capabilities()["processing"] == "enabled"
        assert db.verify().ok
    assert not [name for name in os.listdir(tmp_path) if "rolling" in name]


def test_archive_and_disenroll(call: Call, enrolled: Path) -> None:
    for step in ("submit", "approve"):
        good(call("graph", "advance", RUN, step, *SIGN))
    good(call("graph", "start", f"{RUN}1", PLAN))
    done = good(call("graph", "archive", "done.nq", "--plan", PLAN, "--as", "ann"))
    assert "1 run, 0 plans" in done.out and "1 of its runs stay" in done.out
    assert len((enrolled / "done.nq").read_text().splitlines()) == 24
    assert call("graph", "archive", "done.nq").code == 2
    assert (
        "is off" in good(call("graph", "disenroll", "--set", "graph.governance.enforce_workflows=true")).out
    )
    contrary = call("graph", "status", f"{RUN}1", "--set", "graph.governance.enforce_workflows=true")
    assert contrary.code == 0


# Against a server.


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GraphServer]:
    path = tmp_path_factory.mktemp("server") / "graph.db"
    tokens = graph_database(path, enrolled=True)
    with serving(path) as running:
        found = GraphServer(running, path, tokens)
        yield found
        found.close()


@pytest.fixture
def proxy(server: GraphServer) -> Iterator[DroppingProxy]:
    found = DroppingProxy("127.0.0.1", server.running.port)
    yield found
    found.close()


@pytest.fixture
def remote(
    call: Call, server: GraphServer, proxy: DroppingProxy, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> tuple[str, ...]:
    """The flags of a client whose run and plan are its own; its key is registered."""
    monkeypatch.setenv("TREADLE_TOKEN", server.tokens["all"])
    monkeypatch.setattr("treadle.graph.client.settling.Sender._wait", lambda self, attempt: None)
    name = tmp_path.name
    agent, plan, run = (
        f"urn:agent:a-{name}",
        f"http://example.org/plans/{name}",
        f"http://example.org/runs/{name}",
    )
    good(call("graph", "keys", "init", "key.pem", "--agent", agent))
    text = good(call("graph", "keys", "register-text", "key.pem", "--agent", agent, "--attests", plan)).out
    headers = {"content-type": "text/turtle"}
    assert (
        server.all.post("/rdf-graph-store?default", content=text.encode(), headers=headers).status_code == 204
    )
    at = ("--url", proxy.address)
    good(call("graph", "define", plan, "--label", "R", "--initial", "Draft", "--terminal", "Done",
              "--step", "again: Draft -> Draft", "--step", "end: Draft -> Done", *at))  # fmt: skip
    good(call("graph", "start", run, plan, *at))
    proxy.updates.clear()
    return run, agent


def advance(
    call: Call, proxy: DroppingProxy, remote: tuple[str, ...], step: str = "again", *more: str
) -> Done:
    run, agent = remote
    return call(
        "graph",
        "advance",
        run,
        step,
        "--agent",
        agent,
        "--key",
        "key.pem",
        "--url",
        proxy.address,
        "--json",
        *more,
    )


def revision(call: Call, proxy: DroppingProxy, run: str) -> str:
    found: str = good(call("graph", "status", run, "--url", proxy.address, "--json")).json["revision"]
    return found


@pytest.mark.parametrize(
    ("faults", "resolved", "sent"),
    [
        ([], False, 1),
        (["lost"], False, 2),
        (["answer lost"], True, 1),
        (["half"], True, 1),
        (["late"], True, 2),
        (["lost", "answer lost"], True, 2),
        (["lost", "lost", "lost", "lost"], False, 5),
    ],
)
def test_answers_that_are_lost_before_and_after_the_commit(
    call: Call,
    proxy: DroppingProxy,
    remote: tuple[str, ...],
    faults: Any,
    resolved: bool,
    sent: int,
) -> None:
    proxy.faults = list(faults)
    done = advance(call, proxy, remote)
    assert done.code == 0, done
    assert done.json["resolved"] is resolved
    assert revision(call, proxy, remote[0]) == "1"
    assert len(proxy.updates) == sent and len(set(proxy.updates)) == 1
    good(call("graph", "verify", remote[0], "--url", proxy.address))


def test_indeterminate_and_then_resolved(
    call: Call, proxy: DroppingProxy, remote: tuple[str, ...], tmp_path: Path
) -> None:
    proxy.faults = ["lost"] * 9
    done = advance(call, proxy, remote, "again", "--keep", "kept.json")
    assert done.code == 8
    kept = json.loads((tmp_path / "kept.json").read_text())
    assert done.json["pending"] == kept and done.json["error"]["code"] == "outcome_unknown"
    proxy.faults = []
    for resolved in (False, True):
        again = good(call("graph", "resolve", "kept.json", "--url", proxy.address, "--json"))
        assert again.json["resolved"] is resolved
    assert revision(call, proxy, remote[0]) == "1"
    proxy.faults = ["lost"] * 9
    run, agent = remote
    told = call(
        "graph", "advance", run, "again", "--agent", agent, "--key", "key.pem", "--url", proxy.address
    )
    assert told.code == 8 and "graph resolve" in told.err
    proxy.faults = []
    assert good(call("graph", "resolve", "-", "--url", proxy.address, stdin=told.out.encode())).code == 0
    assert revision(call, proxy, run) == "2"
    good(advance(call, proxy, remote))
    assert call("graph", "resolve", "-", "--url", proxy.address, stdin=told.out.encode()).code == 0


def test_a_signed_advance_that_lost_its_race(
    call: Call, proxy: DroppingProxy, remote: tuple[str, ...]
) -> None:
    proxy.faults = ["lost"] * 9
    lost = advance(call, proxy, remote)
    assert lost.code == 8
    proxy.faults = []
    good(advance(call, proxy, remote))
    pending = json.dumps(lost.json["pending"]).encode()
    assert call("graph", "resolve", "-", "--url", proxy.address, stdin=pending).code == 4
    assert revision(call, proxy, remote[0]) == "1"


def test_nobody_there(
    call: Call, remote: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, proxy: DroppingProxy
) -> None:
    proxy.close()
    assert call("graph", "status", remote[0], "--url", "http://127.0.0.1:9").code == 7
    assert call("graph", "status", remote[0], "--url", "nonsense").code == 7


def test_permissions(
    call: Call,
    server: GraphServer,
    remote: tuple[str, ...],
    proxy: DroppingProxy,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for token, code in (("agent", 0), ("reader", 2), ("nothing", 2)):
        monkeypatch.setenv("TREADLE_TOKEN", server.tokens[token])
        assert advance(call, proxy, remote).code == code, token
    monkeypatch.setenv("TREADLE_TOKEN", server.tokens["agent"])
    assert (
        call(
            "graph",
            "start",
            f"{remote[0]}/2",
            f"{remote[0]}".replace("runs", "plans"),
            "--url",
            proxy.address,
        ).code
        == 2
    )
