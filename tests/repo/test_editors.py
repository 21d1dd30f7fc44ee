"""The editor's files: what they name is there, and the extension starts the server that we ship."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.shared import ROOT
from treadle.cli.verbs import VERBS

EDITORS = ROOT / "editors"
PACKAGE: dict[str, Any] = json.loads((EDITORS / "package.json").read_text(encoding="utf-8"))

VSCODE = """
exports.workspace = {
  workspaceFolders: [{ uri: { fsPath: "/project" } }],
  getConfiguration: () => ({ get: (name, other) => JSON.parse(process.env.COMMAND || "null") || other }),
};
"""
CLIENT = """
exports.TransportKind = { stdio: 0 };
exports.LanguageClient = class {
  constructor(id, name, server, options) { this.made = { id, server, options }; }
  async start() { console.log(JSON.stringify(this.made)); }
  async stop() { console.log(JSON.stringify("stopped")); }
};
"""
PROGRAM = 'const e = require("./extension.js"); e.activate().then(() => e.deactivate());'


def test_every_file_that_is_named_is_there() -> None:
    contributes = PACKAGE["contributes"]
    named = [PACKAGE["main"], *(each["configuration"] for each in contributes["languages"])]
    named += [each["path"] for each in contributes["grammars"]]
    assert not [path for path in named if not (EDITORS / path).is_file()]
    for grammar in contributes["grammars"]:
        content = json.loads((EDITORS / grammar["path"]).read_text(encoding="utf-8"))
        assert content["scopeName"] == grammar["scopeName"]
    json.loads((EDITORS / "language-configuration.json").read_text(encoding="utf-8"))


def test_what_is_started_is_a_verb() -> None:
    program, verb = PACKAGE["contributes"]["configuration"]["properties"]["treadle.command"]["default"]
    assert program == "treadle" and verb in {each.name for each in VERBS}


@pytest.mark.parametrize(
    "command, started",
    [
        ("null", ("treadle", ["lsp"])),
        ('[".venv/bin/treadle", "lsp"]', ("/project/.venv/bin/treadle", ["lsp"])),
        ('["/usr/bin/treadle", "lsp", "--debug"]', ("/usr/bin/treadle", ["lsp", "--debug"])),
    ],
)
def test_the_extension_starts_the_server(
    command: str, started: tuple[str, list[str]], tmp_path: Path
) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    shutil.copy(EDITORS / "extension.js", tmp_path)
    (tmp_path / "node_modules/vscode-languageclient").mkdir(parents=True)
    (tmp_path / "node_modules/vscode.js").write_text(VSCODE)
    (tmp_path / "node_modules/vscode-languageclient/node.js").write_text(CLIENT)
    done = subprocess.run(
        [node, "-e", PROGRAM], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60,
        env={"COMMAND": command, "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    first, last = (json.loads(line) for line in done.stdout.splitlines())
    assert (first["server"]["command"], first["server"]["args"]) == started
    assert first["server"]["options"] == {"cwd": "/project"}
    assert [each["language"] for each in first["options"]["documentSelector"]] == ["riff", "riffq"]
    assert last == "stopped"
