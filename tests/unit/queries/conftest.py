"""A database with jobs of two shops, a policy on them, and queries."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from uuid import UUID

import pytest

import treadle
from treadle.database import Database
from treadle.testing import ManualClock

CONTRACT = """contract Shop version 1 {
  enum State { New, Busy, Done }
  entity Job {
    key (shop: uuid, job: uuid)
    field state: State
    field size: u64
    field owner: string<20>
    field note: optional<string<20>>
    field text: optional<string<60000>>
    field made: timestamp
    index by_state (shop, state, job)
    index by_size (shop, size)
    index by_owner (owner, job)
    index by_text (shop, text)
    unique sized (shop, size)
  }
  aggregate Jobs { root Job partition_by shop conflict_key (shop, job) }
  principal fact name: string<20>
  row policy Own on Job {
    allow read when owner == principal.name
    allow create when true
    allow update when true
  }

  command Add {
    input key: string<64>
    input shop: uuid
    input id: uuid
    input size: u64
    input owner: string<20>
    input text: optional<string<60000>>
    idempotency_key key
    create Job(shop, id) as job else Present {}
    set job.state = State.New
    set job.size = size
    set job.owner = owner
    set job.text = text
    set job.made = tx.time
    return Added {}
  }

  command Finish {
    input key: string<64>
    input shop: uuid
    input id: uuid
    idempotency_key key
    mutate Job(shop, id) as job else Absent {}
    set job.state = State.Done
    return Finished {}
  }
}
"""

QUERIES = """
query Jobs($shop: Job.shop, $state: optional<State>) {
  many job from Job where job.shop == $shop && when $state { job.state == $state }
    order by job.size take 3 after $next
  return Found { jobs: job { job size revision } }
}
query Job($shop: Job.shop, $job: Job.job) {
  one job from Job where job.shop == $shop && job.job == $job else Missing
  return Found { job: job }
}
query Sized($shop: Job.shop, $size: Job.size) {
  maybe job from Job where job.shop == $shop && job.size == $size
  return Found { job: job { job } }
}
query States($shop: Job.shop) {
  many job from Job where job.shop == $shop group by job.state take 1 after $next
  many all_ from Job where all_.shop == $shop
  return Found { states: job { state n: count(job) } n: count(all_) sum: sum(all_.size) }
}
query Texts($shop: Job.shop) {
  many job from Job where job.shop == $shop order by job.text desc take 1000 after $next
  return Found { jobs: job { text } }
}
query Made($shop: Job.shop) {
  many job from Job where job.shop == $shop && job.made < tx.time order by job.size take 10
  return Found { jobs: job { size } }
}
query Owned($owner: Job.owner) {
  many job from Job where job.owner == $owner order by job.job take 10
  return Found { jobs: job { size } }
}
"""

SHOP = UUID(int=1)
OTHER = UUID(int=2)
START = datetime(2026, 1, 1, tzinfo=UTC)


class World:
    """The database, its clock, and a short way to add jobs."""

    def __init__(self, url: str) -> None:
        self.clock = ManualClock(START)
        self.db: Database = treadle.open(url, clock=self.clock)
        self.db.deploy(CONTRACT, queries=QUERIES)

    def add(self, number: int, shop: UUID = SHOP, owner: str = "ann", text: str | None = None) -> int:
        """Adds a job of this size; returns the commit."""
        receipt = self.db.run(
            "Add",
            {
                "key": treadle.key(),
                "shop": shop,
                "id": UUID(int=number),
                "size": number,
                "owner": owner,
                "text": text,
            },
            principal="shop",
        )
        receipt.expect("Added")
        return receipt.commit

    def sizes(self, name: str = "Jobs", **options) -> list[int]:
        """The sizes on all pages."""
        pages = self.db.pages(name, {"shop": SHOP}, **options)
        return [job["size"] for page in pages for job in page.fields["jobs"]]


@pytest.fixture(params=["memory", "sqlite"])
def world(request, tmp_path) -> Iterator[World]:
    made = World(":memory:" if request.param == "memory" else str(tmp_path / "work.db"))
    yield made
    made.db.close()
