"""`treadle diagram`: one workflow or all of them, printed or written."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.unit.cli.conftest import Call

LAMPS = """contract Lamps version 1 {
  enum Colour { Red, Green }
  entity Lamp { key (lamp_id: uuid) field colour: Colour }
  entity Sign { key (sign_id: uuid) field colour: Colour }
  aggregate Lamps { root Lamp partition_by lamp_id conflict_key (lamp_id) }
  aggregate Signs { root Sign partition_by sign_id conflict_key (sign_id) }
  workflow Light { entity Lamp state colour initial Red transition Go from (Red) to Green }
  workflow Show { entity Sign state colour initial Red transition Turn from (Red) to Green }
}
"""
NONE = "contract Small version 1 {\n  enum Colour { Red, Green }\n}\n"


def test_the_only_workflow(project: Call) -> None:
    done = project("diagram")
    assert done.code == 0 and done.out.startswith("stateDiagram-v2\n  state JobLife {\n")
    assert done.out.endswith("  }\n")
    assert project("diagram", "shop.riff", "JobLife").out == done.out == project("diagram", "JobLife").out
    assert project("diagram", "-", stdin=Path("shop.riff").read_bytes()).out == done.out


def test_other_forms(project: Call) -> None:
    assert project("diagram", "--as", "dot").out.startswith('digraph "JobLife" {\n')
    svg = project("diagram", "--as", "svg").out
    assert ElementTree.fromstring(svg).tag == "{http://www.w3.org/2000/svg}svg"
    done = project("diagram", "--as", "png")
    assert done.code == 2 and "mermaid" in done.err and "svg" in done.err


def test_into_a_file(project: Call) -> None:
    done = project("diagram", "JobLife", "--as", "svg", "--output", "job.svg")
    assert (done.code, done.out, done.err) == (0, "", "wrote job.svg\n")
    assert Path("job.svg").read_text() == project("diagram", "--as", "svg").out


def test_several_workflows_go_into_a_folder(call: Call) -> None:
    Path("lamps.riff").write_text(LAMPS)
    done = call("diagram", "lamps.riff")
    assert done.code == 2 and "name one (Light, Show), or --output FOLDER/" in done.err
    assert call("diagram", "lamps.riff", "Show").out.startswith("stateDiagram-v2\n  [*] --> Red\n")
    done = call("diagram", "lamps.riff", "--output", "pictures/", "--as", "dot")
    assert done.code == 0 and done.err == "wrote pictures/Light.dot\nwrote pictures/Show.dot\n"
    assert call("diagram", "lamps.riff", "--output", "one.dot", "--as", "dot").code == 2
    assert not Path("one.dot").exists()


def test_json(project: Call) -> None:
    (shown,) = project("diagram", "--json").json["diagrams"]
    assert shown["workflow"] == "JobLife" and shown["states"]["subtitle"] == "Job.state"
    assert {"source": "held", "target": "held", "name": "renew", "by": "by Renew", "waits": False} in shown[
        "lease"
    ]["edges"]


@pytest.mark.parametrize(
    "words, code, message",
    [
        (("small.riff",), 2, "contract Small declares no workflow"),
        (("lamps.riff", "Lihgt"), 4, "no workflow Lihgt in contract Lamps; the nearest is Light"),
        (("nowhere.riff",), 2, "nowhere.riff: No such file or directory"),
        (("a", "b", "c"), 2, "name a contract's file and a workflow of it"),
        ((), 2, "no contract: name its file"),
        (("broken.riff",), 1, "error S005"),
    ],
)
def test_what_cannot_be_drawn(words: tuple[str, ...], code: int, message: str, call: Call) -> None:
    Path("small.riff").write_text(NONE)
    Path("lamps.riff").write_text(LAMPS)
    Path("broken.riff").write_text("contract X")
    done = call("diagram", *words)
    assert done.code == code and message in done.err and done.out == ""
