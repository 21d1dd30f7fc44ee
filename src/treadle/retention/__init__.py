"""Retention: what an operator may let go of, each an act of its own and a record of the log.

Reading order: `receipts` (receipts become stubs, stubs are dropped), `log` (its beginning
goes), `surface` (what an operator says), `advice` (what doctor says of sizes).
"""

from __future__ import annotations

from treadle.retention.receipts import Pruned
from treadle.retention.surface import Retention, Windowed

__all__ = ["Pruned", "Retention", "Windowed"]
