"""The laws of a lease over random commands and a moving clock, against a model of a few lines.

One holder at a time; the fence only grows, by one at each claim; each success adds one revision; a
failure changes nothing; the same arguments give the same verdict; at equality a lease has expired.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.contracts import work_contract
from tests.support.effort import effort
from tests.support.view import DictView
from treadle.model.facts import Sealed, Verdict
from treadle.plan import build

CONTRACT = work_contract()
PLAN = build(CONTRACT)
ORG, WORK = b"o" * 16, b"w" * 16
OWNERS = (b"a" * 16, b"b" * 16)
SECOND = 1_000_000
START = 1_700_000_000_000_000


class Act(NamedTuple):
    """One command. The caller's evidence is right plus an error that is mostly zero."""

    command: str
    wait: int
    owner: int
    token_error: int
    revision_error: int
    duration: int


ERROR = st.sampled_from([0, 0, 0, 0, 1, -1])
ACTS = st.builds(
    Act,
    command=st.sampled_from(["ClaimWork", "RenewWork", "ReleaseWork", "ExpireWork", "FenceWork"]),
    wait=st.sampled_from([0, 0, 1, SECOND, 5 * SECOND - 1, 5 * SECOND, 900 * SECOND]),
    owner=st.integers(0, 1),
    token_error=ERROR,
    revision_error=ERROR,
    duration=st.sampled_from([4, 5, 5, 60, 900, 901]),
)


class Model(NamedTuple):
    """What the row should be: revision, holder and end of the lease (None: nobody), fence, attempts."""

    revision: int = 1
    holder: bytes | None = None
    until: int = 0
    fence: int = 0
    attempts: int = 0


def expected(model: Model, command: str, now: int, values: dict[str, Any]) -> tuple[str, Model]:
    """The rules, told once more and in another way: by who holds what, not by fields."""
    if values["expected_revision"] != model.revision:
        return "Stale", model
    after = model._replace(revision=model.revision + 1)
    live = model.holder is not None and now < model.until
    mine = model.holder == values["owner_id"] and model.fence == values["token"]
    timed = 5 <= values["duration"] <= 900
    until = now + values["duration"] * SECOND
    match command:
        case "ClaimWork":
            answer = "Done" if timed and not live else "Unavailable" if timed else "Invalid"
            claimed = after._replace(
                holder=values["owner_id"], until=until, fence=model.fence + 1, attempts=model.attempts + 1
            )
            return answer, claimed if answer == "Done" else model
        case "RenewWork":
            answer = "Invalid" if not (mine and timed) else "Done" if live else "Expired"
            return answer, after._replace(until=until) if answer == "Done" else model
        case "FenceWork":
            answer = "Invalid" if not mine else "Done" if live else "Expired"
            return answer, after if answer == "Done" else model
        case "ReleaseWork":
            return ("Done", after._replace(holder=None)) if mine else ("Invalid", model)
        case _:
            ended = model.holder is not None and not live
            return ("Done", after._replace(holder=None)) if ended else ("Active", model)


def seen(view: DictView) -> Model:
    """The row as a model."""
    row = view.rows["WorkItem", (ORG, WORK)]
    owner, until, fence, attempts = row.cells[3:]
    assert (owner is None) == (until is None)
    return Model(row.revision, owner, until or 0, fence, attempts)


def same(one: Model, other: Model) -> bool:
    """Equal, where the end of a lease that nobody holds says nothing."""
    return one == other if one.holder is not None else one._replace(until=0) == other._replace(until=0)


@settings(max_examples=effort(150), deadline=None)
@given(st.lists(ACTS, max_size=40))
def test_a_lease_obeys_its_laws(acts: list[Act]) -> None:
    view, model, now = DictView(CONTRACT), Model(), START
    view.put("WorkItem", (ORG, WORK, "Queued", None, None, 0, 0))
    for act in acts:
        now += act.wait
        values: dict[str, Any] = {
            "request_key": "k",
            "organization_id": ORG,
            "work_id": WORK,
            "owner_id": OWNERS[act.owner],
            "token": max(0, model.fence + act.token_error),
            "duration": act.duration,
            "expected_revision": model.revision + act.revision_error,
        }
        plan = PLAN.commands[act.command]
        input = tuple(values[field.name] for field in plan.inputs)
        verdict = plan.evaluate(input, Sealed(now), view)
        assert plan.evaluate(input, Sealed(now), view) == verdict
        outcome, after = expected(model, act.command, now, values)
        assert verdict.outcome == outcome
        view.apply(verdict)
        check_laws(model, seen(view), now, verdict)
        assert same(seen(view), after)
        model = seen(view)


def check_laws(before: Model, after: Model, now: int, verdict: Verdict) -> None:
    """What holds for any command, whatever the model says of it."""
    assert after.revision == before.revision + verdict.success
    assert before.fence <= after.fence <= before.fence + 1
    assert verdict.success or same(before, after)
    if after.holder != before.holder and before.holder is not None and after.holder is not None:
        assert before.until <= now, "a live lease passed to another holder"
        assert after.fence == before.fence + 1
    if after.fence > before.fence:
        assert after.holder is not None
        assert after.attempts == before.attempts + 1
