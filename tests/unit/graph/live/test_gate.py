from __future__ import annotations

import threading

from treadle.graph.live.gate import Gate


def test_what_is_durable_passes_at_once() -> None:
    gate = Gate()
    assert gate.passed(gate.round) is True
    gate.applying()
    gate.kept()
    assert gate.passed(gate.round) is True


def test_who_saw_a_change_waits_until_it_is_durable() -> None:
    gate = Gate()
    round_ = gate.round
    gate.applying()
    assert gate.passed(round_, timeout=0.01) is None
    answers: list[bool | None] = []
    waiting = threading.Thread(target=lambda: answers.append(gate.passed(round_)))
    waiting.start()
    gate.kept()
    waiting.join()
    assert answers == [True]


def test_who_saw_what_was_taken_back_looks_again() -> None:
    gate = Gate()
    round_ = gate.round
    gate.applying()
    gate.undone()
    assert gate.passed(round_) is False
    assert gate.passed(gate.round) is True


def test_a_later_change_does_not_hide_that_an_earlier_one_was_taken_back() -> None:
    gate = Gate()
    round_ = gate.round
    gate.applying()
    gate.undone()
    gate.applying()
    gate.kept()
    assert gate.passed(round_) is False
