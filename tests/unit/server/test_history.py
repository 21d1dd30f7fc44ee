"""What the server says of a log whose beginning was pruned."""

from __future__ import annotations

import httpx2

import treadle
from tests.support.engines import SOURCE, create
from tests.support.serving import serving


def test_records_that_were_pruned_are_named_as_such() -> None:
    with treadle.open(":memory:") as db:
        db.deploy(SOURCE)
        db.run_many([create(number) for number in range(4)], principal="tests")
        with serving(db, open_owner=True) as address, httpx2.Client(base_url=address) as http:
            assert http.get("/v1/log").json()["pruned"] == 0
            db.retention().log(through=3)
            page = http.get("/v1/log", params={"from": 2, "limit": 1}).json()
            assert ([one["number"] for one in page["records"]], page["next"], page["pruned"]) == ([4], 5, 3)
            gone, never = http.get("/v1/log/3"), http.get("/v1/log/99")
            assert (gone.status_code, never.status_code) == (404, 404)
            assert "up to 3 were pruned" in gone.json()["detail"] and "pruned" not in never.json()["detail"]
            assert http.get("/v1/log/4").json()["number"] == 4
        with serving(db, open_owner=True) as address, treadle.connect(address) as client:
            assert next(iter(client.log())).number == 4
