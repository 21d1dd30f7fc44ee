"""Generated TypeScript is clean under the strictest compiler, and does in Node what Python's client does."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

import treadle
from tests.support.clients import NAMES, NAMES_QUERIES, SCOPE, WORK, interface
from tests.support.proxy import proxied
from tests.support.serving import serving
from tests.support.shared import ROOT
from treadle.access.roles import Role
from treadle.bindings import typescript_module

PROGRAM = (ROOT / "tests/typing/program.ts").read_text(encoding="utf-8")
TSC = ROOT / "node_modules/.bin/tsc"
OPTIONS = {
    "strict": True,
    "target": "ES2022",
    "module": "ES2022",
    "moduleResolution": "bundler",
    "lib": ["ES2022", "DOM", "DOM.Iterable"],
    "types": [],
    "noUncheckedIndexedAccess": True,
    "exactOptionalPropertyTypes": True,
    "noImplicitOverride": True,
    "noPropertyAccessFromIndexSignature": True,
    "noUnusedLocals": True,
    "noUnusedParameters": True,
    "noImplicitReturns": True,
    "noFallthroughCasesInSwitch": True,
    "verbatimModuleSyntax": True,
    "isolatedModules": True,
    "erasableSyntaxOnly": True,
    "outDir": "out",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Modules of several contracts, and the program."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("npm and Node.js are not installed")
    assert TSC.exists(), "tsc is not installed; run `make node`"
    made = tmp_path_factory.mktemp("typescript")
    modules = {"names_client.ts": interface(), "work_client.ts": interface(WORK, "")}
    everything = (ROOT / "tests/golden/riff/everything.riff").read_text(encoding="utf-8")
    modules["everything_client.ts"] = interface(everything, "")
    for name, found in modules.items():
        (made / name).write_text(typescript_module(found), encoding="utf-8")
    (made / "program.ts").write_text(PROGRAM, encoding="utf-8")
    (made / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    settings = {"compilerOptions": OPTIONS, "files": [*modules, "program.ts"]}
    (made / "tsconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    return made


def test_the_compiler_reports_what_is_wrong_and_nothing_else(folder: Path) -> None:
    done = subprocess.run([TSC, "-p", folder], cwd=folder, capture_output=True, text=True, timeout=110)
    found = set(re.findall(r"^(\S+?)\((\d+),\d+\): error", done.stdout, re.MULTILINE))
    wrong = {number for number, line in enumerate(PROGRAM.splitlines(), 1) if line.endswith("// wrong")}
    assert found == {("program.ts", str(number)) for number in wrong}, done.stdout + done.stderr


def test_the_same_contract_gives_the_same_bytes() -> None:
    assert typescript_module(interface()) == typescript_module(interface())


@pytest.fixture(scope="module")
def ran(folder: Path) -> dict[str, Any]:
    """What the program shows of a live server, and what the server recorded of it."""
    subprocess.run([TSC, "-p", folder], cwd=folder, capture_output=True, timeout=110)
    commands = ("return_all", "ReturnAll", "run", "Bulk", "Copy")
    role = Role("all", commands=commands, queries=("class", "Counted"))
    with treadle.open(":memory:") as db:
        db.deploy(NAMES, queries=NAMES_QUERIES, roles=[role])
        token = db.tokens.create("tester", role="all").text
        with serving(db) as url, proxied(url) as proxy:
            proxy.fates = ["lose", "refuse", "pass", "lose"]
            done = subprocess.run(
                ["node", "out/program.js", url, token, proxy.url, nobody()],
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=110,
            )
            assert done.returncode == 0, done.stdout + done.stderr
        instances = {entry.instance for entry in db.log() if entry.kind == "command"}
        receipt = db.acting_as("tester", role="all").recall("return_all", "key-1")
    assert receipt is not None
    return json.loads(done.stdout) | {"instances": instances, "embedded": receipt.to_json()}


def nobody() -> str:
    """An address where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_receipts_are_those_of_the_database(ran: dict[str, Any]) -> None:
    shown = ran
    made, again = shown["made"], shown["again"]
    assert again == made | {"replayed": True} and not made["replayed"]
    assert made["outcome"] == "class" and made["fields"]["made"] == {
        "str": str(SCOPE),
        "id": "1n",
        "int": f"{-(2**63)}n",
        "class": "None",
        "lambda": "while",
        "Lambda": "λ\u2028",
        "when_": "2030-01-01T09:30:15.250000Z",
        "day": "2030-02-28",
        "amount": "-1234567890123456.7890",
        "price": "0.10",
        "blob": list(range(40)),
        "flag": True,
        "tags": ["a", "é"],
        "colours": None,
        "self": None,
        "_private": f"{2**64 - 1}n",
        "__mangled": "",
        "token": None,
    }
    assert made["fields"]["receipt"] == "1n" and made["fields"]["import"] == "None"
    assert shown["exists"]["outcome"] == "Exists" and shown["exists"]["fields"] == {}
    assert shown["read"]["fields"]["found"] == made["fields"]["made"]
    assert shown["absent"]["outcome"] == "from"
    assert shown["amounts"] == [f"{-(2**63) + 999}n", "36n"]
    assert shown["contract"] == interface().identity and "node/1" in shown["instances"]
    embedded = shown["embedded"]
    assert {name: made[name] for name in ("commit", "time", "history")} == {
        name: embedded[name] for name in ("commit", "time", "history")
    }


def test_batches_and_pages(ran: dict[str, Any]) -> None:
    shown = ran
    assert (shown["batch"], shown["empty key"], shown["copied"]) == (1_200, "malformed", "Done")
    assert shown["told"] == [[1_000, 1_201], [1_201, 1_201]]
    assert [row["id"] for row in shown["page"]["fields"]["page"]] == ["1n", "100n"]
    assert shown["page"]["fields"]["it"]["id"] == "1n" and shown["page"]["commit"].endswith("n")
    assert shown["why"] == ["Str", [str(SCOPE), 1], True, True, None, "absent"]
    assert shown["no why"].startswith("unknown_name: ")
    assert shown["pages"] == [2, 2, 2, 2, 2] and shown["count"]["count"] == "1201n"


def test_refusals_have_their_codes(ran: dict[str, Any]) -> None:
    codes = [text.split(":")[0] for text in ran["refused"]]
    assert codes == [
        "invalid_input",
        "invalid_input",
        "invalid_input",
        "idempotency_key_reused",
        "unauthenticated",
        "unreachable",
    ]
    assert "input.id" in ran["refused"][0] and "input.price" in ran["refused"][2]
    assert ran["history"][0].startswith("history_changed") and ran["history"][1] is True


def test_lost_answers_are_found_again_by_the_same_key(ran: dict[str, Any]) -> None:
    replayed, batch = ran["lost"]
    assert replayed and batch["outcome"] == "Added" and batch["replayed"]
