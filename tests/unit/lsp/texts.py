"""Contracts for the tests of the language server: every form of the language is in one of them."""

from __future__ import annotations

from typing import Final

from tests.support.shared import ROOT
from tests.unit.plan import (
    test_bindings,
    test_decisions,
    test_deletes,
    test_invariants,
    test_loops,
    test_policies,
    test_uniques,
)

SHOP: Final = """// The shop's jobs 🖨
contract Shop version 1 {
  enum JobState { Waiting, Printing, Done }

  // A job of a shop.
  // It waits until a printer takes it.
  entity Job {
    key (shop_id: uuid, job_id: uuid)
    field state: JobState // where it is
    field title: string<120>
    field pages: u64
    field secret pin: string<8>
    field printer: optional<uuid>
    field until: optional<timestamp>
    field fence: u64
    invariant SomePages: pages >= 1
    index by_state (shop_id, state, job_id)
    unique by_title (shop_id, title)
  }

  event JobDone {
    partition_by (shop_id)
    shop_id: uuid
    job_id: uuid
    done_at: timestamp
  }

  aggregate Jobs { root Job partition_by shop_id conflict_key (shop_id, job_id) }

  workflow JobLife {
    entity Job
    state state
    initial Waiting
    transition Start from (Waiting) to Printing
    transition Finish from (Printing) to Done
    lease printing {
      owner printer
      expires_at until
      fencing_token fence
      duration_seconds (5, 900)
    }
  }

  principal fact shops: list<uuid, 0..8>
  row policy Mine on Job {
    allow read when shop_id in principal.shops
    allow create when true
    allow update when shop_id in principal.shops && state != JobState.Done
  }

  command AddJob {
    input key: string<128>
    input shop_id: uuid
    input job_id: uuid
    input title: string<120>
    idempotency_key key
    create Job(shop_id, job_id) as job else JobExists { job_id: job_id } conflict by_title TitleTaken {}
    set job.title = title
    set job.pages = 1
    set job.pin = "0000"
    set job.fence = 0
    return Added { job_id: job.job_id, pin: job.pin reveals job.pin }
  }

  command Claim {
    input key: string<128>
    input shop_id: uuid
    input job_id: uuid
    input printer_id: uuid
    input seconds: u64
    input expected_revision: u64
    service claimed_at: transaction_time
    idempotency_key key
    mutate Job(shop_id, job_id) as job else JobMissing {}
    require Open: job.state == JobState.Waiting else AlreadyDone {}
    lease claim printing on job owner printer_id duration_seconds seconds revision expected_revision
      stale Stale {} unavailable Taken {} invalid BadDuration {} exhausted Exhausted {}
    return Claimed { until: job.until, at: claimed_at }
  }

  command Finish {
    input key: string<128>
    input shop_id: uuid
    input job_id: uuid
    input printer_id: uuid
    input token: u64
    input expected_revision: u64
    idempotency_key key
    mutate Job(shop_id, job_id) as job else JobMissing {}
    lease fence printing on job owner printer_id fencing_token token revision expected_revision
      stale Stale {} invalid NotHolder {} expired Lapsed {}
    transition Finish on job revision expected_revision stale Stale {} illegal NotPrinting {}
    emit JobDone { shop_id: shop_id, job_id: job.job_id, done_at: tx.time }
    return Finished { day: tx.time.date }
  }

  reimport command RestoreJobs {
    input records: list<Job, 1..32>
    reconstitute Job from records else JobExists {}
    return Restored {}
  }
}
"""

CONTRACTS: Final = {
    "shop": SHOP,
    "bindings": test_bindings.SOURCE,
    "decisions": test_decisions.SOURCE,
    "deletes": test_deletes.SOURCE,
    "invariants": test_invariants.SOURCE,
    "loops": test_loops.SOURCE,
    "policies": test_policies.SOURCE,
    "uniques": test_uniques.SOURCE,
    "work items": (ROOT / "tests/data/work_items.riff").read_text(encoding="utf-8"),
    "library": (ROOT / "tests/data/library.riff").read_text(encoding="utf-8"),
}
