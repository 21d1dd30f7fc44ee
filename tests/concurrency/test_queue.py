"""Many workers on one queue: each job once, few claims in vain. `python -m bench workers` is the long run."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path

import treadle
from tests.support.effort import effort
from tests.support.jobs import OPEN, TURN, deploy, outcomes, queue, service
from treadle.workers import Worker

WORKERS = 16
MOST = 1.3
"""Claims tried for each one won, at most."""


def test_workers_of_one_queue_keep_out_of_each_other_s_way(tmp_path: Path) -> None:
    jobs = effort(400)
    with treadle.open(tmp_path / "jobs.db") as db:
        deploy(db)
        queue(db, range(jobs))
        made = [Worker(lambda row, turn: None, name="w", **OPEN, **TURN) for _ in range(WORKERS)]
        threads = [
            threading.Thread(target=one.run, args=(service(db),), kwargs={"until_idle": True}) for one in made
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(100)
        total: Counter[str] = Counter()
        for one in made:
            total.update(one.counters.snapshot())
        assert outcomes(db, "Finish") == {"Finished": jobs}
    assert total["finished"] == total["claims_won"] == jobs
    assert total["claims_tried"] <= MOST * jobs, total
