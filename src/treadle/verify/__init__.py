"""Checking a history: the chain of hashes, every command evaluated again, rows and receipts against the log.

Reading order: `report` (what is found), `replay` (the state that the log alone gives), `migrations` (rows
that a deployment changed), `walk` (the check).
"""

from __future__ import annotations

from treadle.verify.report import Problem, Report
from treadle.verify.walk import verify

__all__ = ["Problem", "Report", "verify"]
