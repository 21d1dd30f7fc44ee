"""Workers: a function that works off rows under leases, and everything around it; and schedules.

Reading order: `attempts` (the identity of what is done), `steps` and `plan` (what commands need, read off the
contract), `items` with `query_source` and `stream_source` (what there is to do), `turn` (one item and its
lease), `patience`, `renewal`, `caps`, `claiming`, `handlers`, `working` (a turn from end to end), `running`
(the loop), `declaring` (what an application says), `cron` and `schedule`, `service` (signals).
docs/explain/workers.md tells why it is so. A database is asked through `client`, which may be anywhere.
"""

from __future__ import annotations

from treadle.workers.caps import Cap
from treadle.workers.client import Client
from treadle.workers.counters import Counters, Hooks
from treadle.workers.declaring import Options, Worker, worker
from treadle.workers.schedule import Schedule
from treadle.workers.turn import Turn

__all__ = ["Cap", "Client", "Counters", "Hooks", "Options", "Schedule", "Turn", "Worker", "worker"]
