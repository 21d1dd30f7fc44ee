"""Requests that trip exactly one reason of the guard, and their nearest legal neighbours.

Each is a function of a `Release`, so that any two can be put into one request about different entities.
"""

from tests.support.cases.base import Case
from tests.support.cases.definitions import DEFINITIONS
from tests.support.cases.events import EVENTS
from tests.support.cases.registrations import REGISTRATIONS
from tests.support.cases.runs import RUNS
from tests.support.cases.signers import SIGNERS
from tests.support.cases.subjects import SUBJECTS

CASES: list[Case] = [*SUBJECTS, *REGISTRATIONS, *DEFINITIONS, *RUNS, *EVENTS, *SIGNERS]


def first_of(reason: str) -> Case:
    """The first case of a reason: the one that the tests of order compose."""
    return next(case for case in CASES if case.reason == reason)


__all__ = ["CASES", "Case", "first_of"]
