"""A clinic: slots that are unique, secrets for those involved, patients who are forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any
from uuid import UUID

import pytest

import treadle
from tests.support.lives import Life

CLINIC, GREY, HOUSE = UUID(int=1), UUID(int=21), UUID(int=22)
ANN, BEN, NOBODY = UUID(int=31), UUID(int=32), UUID(int=99)
TODAY, LATER, BORN = date(2031, 6, 2), date(2031, 6, 9), date(1990, 1, 1)
DESK = {"desk": True, "doctor": NOBODY}


@pytest.fixture
def clinic(url: str) -> Iterator[Life]:
    life = Life(url, "clinic", clinic=CLINIC, doctor=GREY, day=TODAY, born=BORN)
    yield life
    life.close()


def visit(number: int) -> UUID:
    return UUID(int=100 + number)


def row(life: Life, number: int) -> dict[str, Any]:
    found = life.row("Visit", CLINIC, visit(number))
    assert found is not None
    return found


def book(life: Life, number: int, expect: str = "Booked", **given: Any) -> None:
    life.run("Book", expect, **{"visit": visit(number), "patient": ANN, "slot": number} | given)


def step(life: Life, command: str, number: int, expect: str, **given: Any) -> treadle.Receipt:
    revision = row(life, number)["revision"]
    return life.run(command, expect, **{"visit": visit(number), "revision": revision} | given)


def people(life: Life) -> None:
    life.run("Join", "Joined", name="Grey")
    life.run("Join", "DoctorExists", name="Grey")
    life.run("Join", "Joined", doctor=HOUSE, name="House")
    assert life.run("Note", "Noted", patient=ANN, history="fine").fields == {"visits": 1}
    life.run("Note", "OtherBirthday", patient=ANN, history="", born=date(1991, 1, 1))
    life.run("Note", "Noted", patient=ANN, history="better")
    assert life.row("Patient", CLINIC, ANN)["revision"] == 2  # type: ignore[index]
    life.run("Agree", "NoPatient", patient=NOBODY, topic="photos")
    life.run("Agree", "NoTopic", patient=ANN, topic="")
    life.run("Agree", "Agreed", patient=ANN, topic="photos")
    again = life.run("Agree", "Agreed", patient=ANN, topic="photos", until=LATER)
    assert again.fields == {"given": TODAY, "until": LATER}
    with pytest.raises(treadle.TreadleError):
        life.run("Agree", "", patient=ANN, topic="x" * 21)


def visits(life: Life) -> None:
    book(life, 1)
    book(life, 1, "VisitExists")
    book(life, 2, "SlotTaken", slot=1)
    book(life, 2, "Shut", slot=17)
    book(life, 2, "Past", day=date(2031, 6, 1))
    book(life, 2, "NoDoctor", doctor=NOBODY)
    book(life, 2, patient=BEN)
    many = [wanted(number) for number in (3, 4)]
    life.run("BookAll", "NoDoctor", visits=[many[0], wanted(5, doctor=NOBODY)])
    life.run("BookAll", "VisitExists", visits=[many[0], wanted(1)])
    life.run("BookAll", "SlotTaken", visits=[many[0], wanted(5, slot=3)])
    assert life.row("Visit", CLINIC, visit(3)) is None, "all or nothing"
    life.fails("BookAll", "invariant_violated", "Hours", visits=[wanted(5, slot=0)])
    life.run("BookAll", "AllBooked", visits=many)
    life.run("Move", "Moved", visit=visit(3), slot=9, day=LATER)
    life.run("Move", "NoVisit", visit=NOBODY, slot=9)
    life.run("Move", "NoDoctor", visit=visit(3), slot=9, doctor=NOBODY)
    life.run("Move", "SlotTaken", visit=visit(3), slot=1)
    life.run("Move", "Shut", visit=visit(3), slot=0)


def wanted(number: int, **given: Any) -> dict[str, Any]:
    """A visit as a record of a list."""
    fields = {"clinic": CLINIC, "visit": visit(number), "state": "Booked", "doctor": GREY, "patient": ANN}
    return fields | {"day": TODAY, "slot": number} | given


def course(life: Life) -> None:
    """A visit from its booking to its end."""
    life.run("Arrive", "NoVisit", visit=NOBODY, revision=1)
    life.run("Arrive", "Stale", visit=visit(1), revision=9)
    step(life, "Arrive", 3, "OtherDay")
    life.run("See", "NoVisit", visit=NOBODY, diagnosis="", revision=1)
    life.run("See", "Stale", visit=visit(1), diagnosis="", revision=9)
    step(life, "See", 1, "NotHere", diagnosis="")
    life.run("Tell", "NotSeen", visit=visit(1))
    step(life, "Arrive", 1, "ArrivedAt")
    step(life, "Arrive", 1, "NotBooked")
    life.run("Move", "NotBooked", visit=visit(1), slot=12)
    step(life, "See", 1, "Seen", diagnosis="a cold")
    assert life.run("Tell", "Told", visit=visit(1)).fields == {"diagnosis": "a cold"}
    life.run("Tell", "NoVisit", visit=NOBODY)
    life.run("Miss", "NoVisit", visit=NOBODY, revision=1)
    life.run("Miss", "Stale", visit=visit(2), revision=9)
    step(life, "Miss", 1, "NotBooked")
    step(life, "Miss", 2, "Missed")


def leaving(life: Life) -> None:
    life.run("Leave", "NoDoctor", doctor=NOBODY)
    life.run("Leave", "HasVisits")
    life.run("Leave", "Left", doctor=HOUSE)
    life.run("Forget", "NoPatient", patient=NOBODY)
    for topic in ("letters", "calls"):
        life.run("Agree", "Agreed", patient=ANN, topic=topic)
    life.run("Forget", "TooManyConsents", patient=ANN)
    life.run("Note", "Noted", patient=BEN, history="new")
    life.run("Agree", "Agreed", patient=BEN, topic="calls")
    assert life.run("Forget", "Forgotten", patient=BEN).fields == {"visits": 1}
    assert life.row("Consent", CLINIC, BEN, "calls") is None
    life.place.restore("RestorePatients", "PatientsRestored", (CLINIC.bytes, BEN.bytes, 7_305, "old", 4))
    life.place.restore("RestorePatients", "PatientExists", (CLINIC.bytes, BEN.bytes, 7_305, "old", 4))


def policies(life: Life) -> None:
    """A doctor sees the own visits and patients; the desk sees all and changes no visit."""
    grey, house = {"doctor": GREY, "desk": False}, {"doctor": HOUSE, "desk": False}
    life.run("Tell", "Told", visit=visit(1), by="grey", facts=grey)
    life.run("Tell", "NoVisit", visit=visit(1), by="house", facts=house)
    life.run("Tell", "Told", visit=visit(1), by="desk", facts=DESK)
    life.place.denied("Book", visit=visit(20), patient=ANN, slot=15, by="grey", facts=grey)
    life.run("Book", "Booked", visit=visit(20), patient=ANN, slot=15, by="desk", facts=DESK)
    life.place.denied("Miss", visit=visit(20), revision=1, by="desk", facts=DESK)
    life.run("Miss", "NoVisit", visit=visit(20), revision=1, by="house", facts=house)
    life.run("Agree", "Agreed", patient=ANN, topic="photos", by="grey", facts=grey)
    life.run("Agree", "NoPatient", patient=ANN, topic="photos", by="house", facts=house)
    life.place.denied("Note", patient=ANN, history="x", by="grey", facts=grey)


def test_every_outcome_and_three_versions(clinic: Life) -> None:
    people(clinic)
    visits(clinic)
    course(clinic)
    leaving(clinic)
    clinic.check_reached()
    policies(clinic)
    clinic.refuses(
        ("field slot: u64", "field slot: u64\n    field kind: Kind"),
        (
            "set row.slot = slot\n    return Booked",
            "set row.slot = slot\n    set row.kind = Kind.Checkup\n    return Booked",
        ),
        ("set row.slot = wanted.slot", "set row.slot = wanted.slot\n      set row.kind = wanted.kind"),
        says=r"BookAll: its inputs change \(visits\).*record",
    )
    clinic.refuses(("secret history", "history"), says="Patient.history: it is no longer secret")
    second_version(clinic)
    third_version(clinic)
    clinic.check()


def second_version(life: Life) -> None:
    seen = row(life, 1)
    life.follow()
    assert row(life, 1) == seen | {"kind": "Checkup"}
    assert life.row("Doctor", CLINIC, GREY)["since"] == TODAY  # type: ignore[index]
    life.fails("Note", "invariant_violated", "Grown", patient=NOBODY, history="", born=date(2040, 1, 1))
    life.run("BookAll", "AllBooked", visits=[wanted(12, kind="Treatment")])
    assert row(life, 12)["kind"] is None
    life.check_reached()


def third_version(life: Life) -> None:
    """Doctors' names are unique, consents are found by day, and a seen visit may be seen again."""
    life.run("Join", "Joined", doctor=HOUSE, name="Grey")
    life.place.later(days=1)
    with pytest.raises(treadle.ContractError, match="unique one_name is taken by another row"):
        deploy_third(life)
    life.back()
    life.run("Leave", "Left", doctor=HOUSE)
    deploy_third(life)
    life.run("Join", "NameTaken", doctor=HOUSE, name="Grey")
    life.run("Agree", "Agreed", patient=ANN, topic="photos")
    step(life, "See", 1, "Seen", diagnosis="still a cold")
    life.check_reached()


def deploy_third(life: Life) -> None:
    life.follow()
