"""The print shop, whose contract lies beside this repository: every outcome, and three versions."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.support.lives import LAST_SECOND, START, Life, Place
from tests.support.shared import shared

SHOP, INK, LASER, NOBODY = UUID(int=1), UUID(int=21), UUID(int=22), UUID(int=99)


@pytest.fixture
def shop(url: str) -> Iterator[Life]:
    source = shared("cases/contracts/print_shop.riff").read_text(encoding="utf-8")
    life = Life(url, "print_shop", source, shop_id=SHOP, printer_id=INK)
    yield life
    life.close()


def job_id(number: int) -> UUID:
    return UUID(int=1000 + number)


def job(place: Place, number: int) -> dict[str, Any]:
    found = place.row("Job", SHOP, job_id(number))
    assert found is not None
    return found


def held(place: Place, number: int, /, **other: Any) -> dict[str, Any]:
    """The evidence of who holds a job now, with what is given in its place."""
    now = job(place, number)
    return {"job_id": job_id(number), "token": now["fence"], "expected_revision": now["revision"]} | other


def claim(place: Place, number: int, seconds: int = 60) -> None:
    revision = job(place, number)["revision"]
    place.run("Claim", "Claimed", job_id=job_id(number), seconds=seconds, expected_revision=revision)


def wrong_evidence(place: Place, command: str, number: int, **more: Any) -> None:
    place.run(command, "JobMissing", **held(place, number, job_id=NOBODY, **more))
    place.run(command, "Stale", **held(place, number, expected_revision=99, **more))
    place.run(command, "NotHolder", **held(place, number, token=77, **more))
    place.run(command, "NotHolder", **held(place, number, printer_id=LASER, **more))


def opening(life: Life) -> None:
    life.run("OpenShop", "Opened", name="Corner")
    life.run("OpenShop", "ShopExists", name="Corner")
    life.run("AddPrinter", "ShopMissing", shop_id=NOBODY, serial="S1")
    life.run("AddPrinter", "PrinterAdded", serial="S1")
    life.run("AddPrinter", "PrinterExists", serial="S2")
    life.run("AddPrinter", "SerialTaken", printer_id=LASER, serial="S1")
    life.run("RemovePrinter", "PrinterMissing", printer_id=NOBODY)
    assert life.run("RemovePrinter", "PrinterRemoved").fields == {"serial": "S1"}
    life.run("AddPrinter", "PrinterAdded", serial="S1")


def jobs(life: Life) -> None:
    menu = {"job_id": job_id(1), "title": "Menu", "pages": 3}
    life.run("AddJob", "ShopMissing", **menu, shop_id=NOBODY)
    life.run("AddJob", "Added", **menu)
    life.run("AddJob", "JobExists", **menu)
    life.run("AddJob", "TooLong", job_id=job_id(2), title="Book", pages=1001)
    life.fails("AddJob", "invariant_violated", "SomePages", job_id=job_id(2), title="None", pages=0)
    many = {"job_ids": [job_id(2), job_id(3)], "title": "Flyer", "pages": 1}
    given = {name: value for name, value in many.items() if name in life.inputs("AddJobs")}
    life.run("AddJobs", "ShopMissing", **given, shop_id=NOBODY)
    life.run("AddJobs", "AddedAll", **given)
    life.run("AddJobs", "JobExists", **given | {"job_ids": [job_id(4), job_id(3)]})
    assert life.row("Job", SHOP, job_id(4)) is None


def leases(life: Life) -> None:
    place = life.place
    life.run("Claim", "JobMissing", job_id=NOBODY, seconds=60, expected_revision=1)
    life.run("Claim", "Stale", job_id=job_id(1), seconds=60, expected_revision=2)
    life.run("Claim", "BadDuration", job_id=job_id(1), seconds=4, expected_revision=1)
    claim(place, 1)
    life.run("Claim", "Taken", job_id=job_id(1), seconds=60, expected_revision=2)
    for command, more in (("Renew", {"seconds": 60}), ("Release", {}), ("Start", {}), ("Finish", {})):
        wrong_evidence(place, command, 1, **more)
    assert life.run("Renew", "Renewed", **held(place, 1), seconds=90).fields["until"] == START + timedelta(
        seconds=90
    )
    life.run("Finish", "NotPrinting", **held(place, 1))
    life.run("Expire", "JobMissing", job_id=NOBODY, expected_revision=1)
    life.run("Expire", "Stale", job_id=job_id(1), expected_revision=1)
    life.run("Expire", "StillHeld", **{k: v for k, v in held(place, 1).items() if k != "token"})
    place.later(seconds=90)
    for command, more in (("Renew", {"seconds": 60}), ("Start", {})):
        life.run(command, "Lapsed", **held(place, 1), **more)
    life.run("Expire", "Expired", **{k: v for k, v in held(place, 1).items() if k != "token"})
    claim(place, 1)
    life.run("Start", "Started", **held(place, 1))
    life.run("Start", "NotWaiting", **held(place, 1))
    place.later(seconds=60)
    life.run("Finish", "Lapsed", **held(place, 1))
    claim(place, 1)
    life.run("Finish", "Finished", **held(place, 1))
    life.run("Release", "Released", **held(place, 1))


def others(life: Life) -> None:
    end = life.another(LAST_SECOND - timedelta(seconds=20))
    end.run("OpenShop", "Opened", name="Late")
    end.run("AddJob", "Added", job_id=job_id(1), title="Menu", pages=3)
    end.run("Claim", "Exhausted", job_id=job_id(1), seconds=60, expected_revision=1)
    claim(end, 1, 10)
    end.run("Renew", "Exhausted", **held(end, 1), seconds=60)
    cells = (SHOP.bytes, job_id(50).bytes, "Waiting", "Old", 7, None, None, None, 3, 2)
    life.place.restore("RestoreJobs", "Restored", cells, revision=5)
    life.place.restore("RestoreJobs", "JobExists", cells)


def test_every_outcome_and_three_versions(shop: Life) -> None:
    opening(shop)
    jobs(shop)
    leases(shop)
    others(shop)
    shop.check_reached()
    shop.refuses(
        ("    transition Start from (Waiting) to Printing\n", ""),
        ("transition Start on job revision expected_revision stale Stale {} illegal NotWaiting {}", ""),
        says="JobLife.Start: .*Job",
    )
    second_version(shop)
    third_version(shop)
    shop.check()


def second_version(life: Life) -> None:
    place = life.place
    claim(place, 2)
    before = job(place, 2)
    life.follow()
    assert job(place, 2) == before | {"sheets": 1, "added_on": START.date()}
    assert job(place, 50)["sheets"] == 4
    assert life.row("Shop", SHOP)["opened_on"] == START.date()  # type: ignore[index]
    life.run("Start", "Started", **held(place, 2))
    life.run("AddJob", "Added", job_id=job_id(60), title="Card", pages=5)
    assert job(place, 60)["sheets"] == 3
    life.check_reached()


def third_version(life: Life) -> None:
    place = life.place
    life.follow()
    life.run("Renew", "Renewed", **held(place, 2), seconds=1500)
    life.run("Finish", "Finished", **held(place, 2))
    assert life.row("Printer", SHOP, INK)["works"] is True  # type: ignore[index]
    life.check_reached()
