"""The contract beside the graph: desks that are opened and claimed, in the same log and transactions."""

from __future__ import annotations

from typing import Final

SOURCE: Final = """
contract Desks version 1 {
  enum State { Free, Busy }
  entity Desk {
    key (hall: u64, desk: u64)
    field state: State
    field owner: optional<uuid>
    field until: optional<timestamp>
    field fence: u64
  }
  aggregate Desks { root Desk partition_by hall conflict_key (hall, desk) }
  workflow Use {
    entity Desk
    state state
    initial Free
    transition Take from (Free) to Busy
    lease hold { owner owner expires_at until fencing_token fence duration_seconds (5, 900) }
  }
  command Open {
    input key: string<64>
    input hall: u64
    input desk: u64
    idempotency_key key
    create Desk(hall, desk) as it else Exists {}
    set it.fence = 0
    return Opened { it: it }
  }
  command Claim {
    input key: string<64>
    input hall: u64
    input desk: u64
    input worker: uuid
    input seconds: u64
    input seen: u64
    idempotency_key key
    mutate Desk(hall, desk) as it else Missing {}
    lease claim hold on it owner worker duration_seconds seconds revision seen
      stale Stale {} unavailable Taken {} invalid Invalid {} exhausted Exhausted {}
    return Claimed { it: it }
  }
}
"""
