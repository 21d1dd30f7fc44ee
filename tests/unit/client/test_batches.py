"""Batches without a network: which lines are sent again, which are not, and what each one's answer is."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import treadle
from tests.support.clients import SCOPE, WORK, interface
from treadle.client.batches import Batch
from treadle.client.exchange import Answer, Deadline, Lost, Pause, Policy, Reply, Send
from treadle.client.wire import Face
from treadle.errors import Denied, KeyReused, OutcomeUnknown, OverCapacity, TreadleError
from treadle.server.problems import problem

FACE = Face(interface(WORK, ""))
POLICY = Policy(attempts=3, timeout=30.0, attempt_timeout=10.0)
GONE = Lost(True, "the connection ended")
NOT_SENT = Lost(False, "nobody there")


def keyed(number: int) -> tuple[str, dict[str, Any]]:
    given = {"request_key": f"k{number}", "organization_id": SCOPE, "work_id": UUID(int=number)}
    return "CreateWork", given


SHOW = ("ShowWork", {"organization_id": SCOPE, "work_id": SCOPE})
EXISTS = {
    "outcome": "Exists",
    "fields": {},
    "workflow_revisions": [],
    "commit": 5,
    "time": "2030-01-01T00:00:00Z",
    "history": "h.1",
    "replayed": False,
}
MISSING = EXISTS | {"outcome": "Missing"}


def lines(*answers: Any) -> Reply:
    """An answer of these lines: receipts, errors, or bytes as they are."""
    parts = [
        one
        if isinstance(one, bytes)
        else json.dumps(problem(one) if isinstance(one, TreadleError) else one).encode()
        for one in answers
    ]
    return Reply(200, b"".join(part + b"\n" for part in parts))


def played(commands: list[Any], answers: list[Answer]) -> tuple[list[Any], list[list[str]]]:
    """The commands' answers, and for each request the keys (or names) of its lines."""
    batch = Batch(commands, FACE, None)
    batch.write(history=None, contract=None)
    steps, answer, left = batch.send(POLICY, None), None, list(answers)
    sent: list[list[str]] = []
    try:
        while True:
            step = steps.send(answer)
            answer = None
            if isinstance(step, Send):
                bodies = [json.loads(line) for line in (step.body or b"").splitlines()]
                sent.append([body["input"].get("request_key", body["command"]) for body in bodies])
                answer = left.pop(0)
            else:
                assert isinstance(step, Pause)
    except StopIteration:
        assert not left
        return batch.answers, sent


def codes(answers: list[Any]) -> list[str]:
    return [one.outcome if isinstance(one, treadle.Receipt) else one.code for one in answers]


def test_only_the_lines_that_found_no_room_are_sent_again_in_order() -> None:
    full = OverCapacity("full")
    answers, sent = played(
        [keyed(1), keyed(2), keyed(3)], [lines(full, EXISTS, full), lines(EXISTS, full), lines(EXISTS)]
    )
    assert codes(answers) == ["Exists"] * 3
    assert sent == [["k1", "k2", "k3"], ["k1", "k3"], ["k3"]]


def test_a_lost_answer_is_asked_for_again_but_not_without_a_key() -> None:
    answers, sent = played([keyed(1), SHOW, keyed(2)], [GONE, lines(EXISTS, EXISTS)])
    assert codes(answers) == ["Exists", "outcome_unknown", "Exists"]
    assert sent == [["k1", "ShowWork", "k2"], ["k1", "k2"]]
    answers, sent = played([keyed(1), SHOW], [NOT_SENT, lines(EXISTS, MISSING)])
    assert codes(answers) == ["Exists", "Missing"] and len(sent) == 2


def test_an_answer_that_ends_early_leaves_the_rest_in_doubt() -> None:
    answers, sent = played([keyed(1), keyed(2), SHOW], [lines(EXISTS), lines(EXISTS)])
    assert codes(answers) == ["Exists", "Exists", "outcome_unknown"] and sent[1] == ["k2"]
    answers, sent = played([keyed(1), keyed(2)], [lines(EXISTS, b'{"outcome": "Exi'), lines(EXISTS)])
    assert codes(answers) == ["Exists", "Exists"] and sent[1] == ["k2"]


def test_doubt_stays_until_an_answer_ends_it() -> None:
    denied, reused = Denied("no"), KeyReused("another input")
    answers, _ = played([keyed(1), keyed(2)], [GONE, lines(denied, reused)])
    assert codes(answers) == ["outcome_unknown", "idempotency_key_reused"]
    assert isinstance(answers[0], OutcomeUnknown) and isinstance(answers[0].__cause__, Denied)
    answers, _ = played([keyed(1)], [GONE, GONE, GONE])
    assert codes(answers) == ["outcome_unknown"]
    answers, _ = played([keyed(1)], [NOT_SENT, NOT_SENT, NOT_SENT])
    assert codes(answers) == ["unreachable"]


def test_a_refusal_of_the_whole_request_is_that_of_each_line() -> None:
    error = Denied("send a token", code="unauthenticated")
    whole = Reply(401, json.dumps(problem(error)).encode())
    answers, sent = played([keyed(1), keyed(2)], [whole])
    assert codes(answers) == ["unauthenticated"] * 2 and len(sent) == 1


def test_a_receipt_that_cannot_be_read_is_no_error_that_says_nothing_happened() -> None:
    answers, sent = played([keyed(1)], [lines(EXISTS | {"outcome": "Brand_new"})])
    assert codes(answers) == ["outcome_unknown"] and len(sent) == 1


def test_what_is_not_sent_before_the_time_is_over_says_so() -> None:
    batch = Batch([keyed(1)], FACE, None)
    batch.write(history=None, contract=None)
    assert list(batch.send(POLICY, Deadline(0.0))) == [] and codes(batch.answers) == ["busy"]
