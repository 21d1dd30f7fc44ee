"""Diagrams of workflows: what they show, as Mermaid, DOT and SVG, and where the drawing puts it."""

from __future__ import annotations

import re
import time
from itertools import combinations
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.effort import effort
from treadle.errors import UnknownName
from treadle.model.contract import Contract
from treadle.plan.diagram import FORMS, Edge, diagram, diagrams, dot, mermaid, svg
from treadle.plan.diagram.chart import listed
from treadle.plan.diagram.layers import Box, Drawing, Link, draw
from treadle.plan.diagram.svg import described
from treadle.riff import compile_contract

SOURCE = """
contract Shop version 1 {
  enum JobState { Waiting, Printing, Done, Failed, Lost }
  entity Job {
    key (shop_id: uuid, job_id: uuid)
    field state: JobState
    field printer: optional<uuid>
    field until: optional<timestamp>
    field fence: u64
  }
  aggregate Jobs { root Job partition_by shop_id conflict_key (shop_id, job_id) }
  workflow JobLife {
    entity Job state state initial Waiting
    transition Start from (Waiting) to Printing
    transition Finish from (Printing) to Done
    transition Fail from (Waiting, Printing) to Failed
    transition Touch from (Printing) to Printing
    lease printing { owner printer expires_at until fencing_token fence duration_seconds (5, 900) }
  }
  command AddJob {
    input key: uuid input shop_id: uuid input job_id: uuid
    idempotency_key key
    create Job(shop_id, job_id) as job else JobExists {}
    set job.fence = 0
    return Added {}
  }
  command Claim {
    input key: uuid input shop_id: uuid input job_id: uuid
    input printer_id: uuid input seconds: u64 input seen: u64
    idempotency_key key
    mutate Job(shop_id, job_id) as job else JobMissing {}
    lease claim printing on job owner printer_id duration_seconds seconds revision seen
      stale Stale {} unavailable Taken {} invalid Bad {} exhausted Exhausted {}
    return Claimed {}
  }
  command Start {
    input key: uuid input shop_id: uuid input job_id: uuid
    input printer_id: uuid input token: u64 input seen: u64
    idempotency_key key
    mutate Job(shop_id, job_id) as job else JobMissing {}
    lease fence printing on job owner printer_id fencing_token token revision seen
      stale Stale {} invalid NotHolder {} expired Lapsed {}
    transition Start on job revision seen stale Stale {} illegal NotWaiting {}
    return Started {}
  }
  command GiveUp {
    input key: uuid input shop_id: uuid input job_id: uuid input seen: u64
    idempotency_key key
    mutate Job(shop_id, job_id) as job else JobMissing {}
    lease expire printing on job revision seen stale Stale {} active StillHeld {}
    transition Fail on job revision seen stale Stale {} illegal Over {}
    return GaveUp {}
  }
}
"""


@pytest.fixture(scope="module")
def contract() -> Contract:
    compiled = compile_contract(SOURCE)
    assert compiled.contract is not None, compiled.render()
    return compiled.contract


def test_the_states_with_who_takes_each_step(contract: Contract) -> None:
    shown = diagram(contract, "JobLife").states
    assert (shown.title, shown.subtitle) == ("JobLife", "Job.state")
    assert [(node.name, node.kind) for node in shown.nodes] == [
        ("", "start"), ("Waiting", "state"), ("Printing", "state"), ("Done", "final"), ("Failed", "final"),
        ("Lost", "final"),
    ]  # fmt: skip
    assert Edge("", "Waiting", "AddJob") in shown.edges
    assert Edge("Waiting", "Printing", "Start", "holding printing") in shown.edges
    assert Edge("Printing", "Failed", "Fail", "by GiveUp") in shown.edges, "expire proves no holder"
    assert Edge("Printing", "Printing", "Touch", "by no command") in shown.edges


def test_the_lease_with_the_operations_that_commands_perform(contract: Contract) -> None:
    lease = diagram(contract, "JobLife").lease
    assert lease is not None and lease.subtitle == "printer, fence, 5 to 900 s"
    steps = {(edge.source, edge.name, edge.target) for edge in lease.edges}
    assert steps == {
        ("", "", "free"),
        ("free", "claim", "held"),
        ("lapsed", "claim", "held"),
        ("held", "fence", "held"),
        ("lapsed", "expire", "free"),
        ("held", "until", "lapsed"),
    }
    assert [edge.name for edge in lease.edges if edge.waits] == ["until"], "time alone takes one step"


def test_mermaid(contract: Contract) -> None:
    text = mermaid(diagram(contract, "JobLife"))
    assert text.startswith("stateDiagram-v2\n  state JobLife {\n    [*] --> Waiting: AddJob\n")
    assert "    Waiting --> Printing: Start, holding printing\n" in text
    assert "    Lost\n" in text, "a state without a step is there too"
    assert "    --\n    [*] --> free\n    free --> held: claim, by Claim\n" in text
    assert "    held --> lapsed: until has passed\n" in text and text.endswith("  }\n")


def test_mermaid_does_not_read_a_name_as_its_own_word() -> None:
    source = SOURCE.replace("Waiting", "state").replace("Lost", "free").replace("Done", "Note")
    contract = compile_contract(source).contract
    assert contract is not None
    text = mermaid(diagrams(contract)[0])
    assert '    state "state" as state_\n' in text and '    state "Note" as Note_\n' in text
    assert "    [*] --> state_: AddJob\n" in text
    assert '    state "free" as free_\n' in text, "the lease's free is not the workflow's"


def test_dot(contract: Contract) -> None:
    text = dot(diagram(contract, "JobLife"))
    assert text.startswith('digraph "JobLife" {\n') and text.count("subgraph cluster_") == 2
    assert '"0.Waiting" -> "0.Printing" [label="Start\\nholding printing"];' in text
    assert '"0.Done" [label="Done", peripheries=2];' in text
    assert '"1.held" -> "1.lapsed" [label="until\\nhas passed", style=dashed];' in text
    assert text.count("{") == text.count("}")


def test_svg_is_a_document_that_says_what_it_shows(contract: Contract) -> None:
    root = ElementTree.fromstring(svg(diagram(contract, "JobLife"), notes={"Printing": "1,204 <3"}))
    space = {"s": "http://www.w3.org/2000/svg"}
    assert root.get("role") == "img"
    assert root.findtext("s:title", namespaces=space) == "Workflow JobLife of Job.state"
    assert "Waiting to Printing: Start holding printing" in str(root.findtext("s:desc", namespaces=space))
    texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    names = {"Waiting", "Printing", "Done", "Failed", "Lost", "free", "held", "lapsed", "Start", "Touch"}
    assert names <= set(texts)
    assert "1,204 <3" in texts and "AddJob" in texts and "lease printing" in texts


def test_svg_for_a_page_that_forbids_styles(contract: Contract) -> None:
    text = svg(diagram(contract, "JobLife"), style=False)
    assert "<style" not in text and "style=" not in text and "<script" not in text
    assert not re.search(r"(href|url\(|https?://(?!www\.w3\.org/2000/svg))", text), "it asks for nothing"


def test_every_form_is_the_same_each_time(contract: Contract) -> None:
    shown = diagrams(contract)
    assert [one.name for one in shown] == ["JobLife"]
    for form in FORMS.values():
        assert form(shown[0]) == form(diagram(contract, "JobLife")) and form(shown[0]).endswith("\n")


def test_the_words_name_every_step(contract: Contract) -> None:
    said = described(diagram(contract, "JobLife"))
    assert said.startswith("JobLife: begins Waiting by AddJob; Waiting to Printing: Start holding printing;")
    assert "lease printing: begins free; free to held: claim by Claim; lapsed to held: claim" in said


def test_an_unknown_workflow_names_the_nearest(contract: Contract) -> None:
    with pytest.raises(UnknownName, match="no workflow Joblife in contract Shop; the nearest is JobLife"):
        diagram(contract, "Joblife")


def test_many_commands_are_cut() -> None:
    assert listed(["A", "B", "C", "D"]) == "A, B, C, D"
    assert listed(["A", "B", "C", "D", "E"]) == "A, B, C and 2 more"


# Where things stand.


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[Box], list[Link]]:
    names = [f"s{number}" for number in range(draw(st.integers(1, 9)))]
    boxes = [
        Box(name, draw(st.integers(10, 120)), draw(st.integers(10, 60)), draw(st.sampled_from([0, 80])))
        for name in names
    ]
    ends = st.tuples(st.sampled_from(names), st.sampled_from(names)).filter(lambda pair: pair[0] != pair[1])
    pairs = draw(st.lists(ends, max_size=16, unique=True)) if len(names) > 1 else []
    return boxes, [Link(*pair, draw(st.integers(0, 150)), draw(st.integers(0, 40))) for pair in pairs]


def rectangles(boxes: list[Box], links: list[Link], made: Drawing) -> list[tuple[float, float, float, float]]:
    """Left, top, right and bottom of every box and label."""
    found = []
    for box in boxes:
        x, y = made.places[box.name]
        left, right = x - box.width / 2, x + box.width / 2 + box.right
        found.append((left, y - box.height / 2, right, y + box.height / 2))
    for link, route in zip(links, made.routes, strict=True):
        x, y = route.label
        found.append((x, y - link.height / 2, x + link.width, y + link.height / 2))
    return found


@settings(max_examples=effort(150), deadline=None)
@given(graphs())
def test_nothing_lies_on_another_thing(graph: tuple[list[Box], list[Link]]) -> None:
    boxes, links = graph
    made = draw(boxes, links)
    parts = rectangles(boxes, links, made)
    for one, other in combinations(parts, 2):
        apart = one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
        assert apart, (one, other)
    for left, top, right, bottom in parts:
        assert left >= -0.01 and top >= -0.01 and right <= made.width + 0.01 and bottom <= made.height + 0.01
    assert draw(boxes, links) == made


@settings(max_examples=effort(150), deadline=None)
@given(graphs())
def test_every_link_leads_from_its_source_to_its_target(graph: tuple[list[Box], list[Link]]) -> None:
    boxes, links = graph
    made = draw(boxes, links)
    sizes = {box.name: box for box in boxes}
    for link, route in zip(links, made.routes, strict=True):
        for name, point in ((link.source, route.points[0]), (link.target, route.points[-1])):
            place, box = made.places[name], sizes[name]
            assert abs(point.x - place.x) <= box.width / 2
            assert abs(abs(point.y - place.y) - box.height / 2) < 0.01, "at its upper or lower side"


def test_a_straight_way_is_drawn_straight() -> None:
    boxes = [Box(name, 80, 30) for name in "abc"]
    made = draw(boxes, [Link("a", "b", 40, 20), Link("b", "c", 40, 20)])
    assert {round(place.x) for place in made.places.values()} == {40}
    assert [made.places[name].y for name in "abc"] == sorted(made.places[name].y for name in "abc")


def test_no_line_crosses_where_none_must() -> None:
    boxes = [Box(name, 30, 30) for name in "abcdef"]
    links = [Link("a", "d", 5, 5), Link("a", "c", 5, 5), Link("c", "e", 5, 5), Link("d", "f", 5, 5)]
    made = draw(boxes, links, "a")
    x = {name: place.x for name, place in made.places.items()}
    assert (x["c"] < x["d"]) == (x["e"] < x["f"])


def test_the_largest_workflow_is_drawn_in_time() -> None:
    boxes = [Box(f"s{number}", 80, 33) for number in range(1_024)]
    pairs = {(number * 7 % 1_024, number * number % 1_024) for number in range(4_096)}
    links = [Link(f"s{a}", f"s{b}", 60, 30) for a, b in sorted(pairs) if a != b]
    started = time.monotonic()
    draw(boxes, links)
    draw(boxes[:1], [])
    draw([], [])
    assert time.monotonic() - started < 20
