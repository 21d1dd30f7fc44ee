"""Why: what stands in a row's way. Who holds it, what each command would answer now, and what it waits for.

Reading order: `reply` (what is answered), `asking` (from end to end: who may ask, one snapshot, the answer),
`tail` (the row's own records, and the end of the log), `waiting` (reasons why nothing happens to it). What a
command would answer is `treadle.plan.answers`. `runs`, loaded when it is asked for, tells the same of signed
runs.
"""

from __future__ import annotations

from treadle.why.asking import why
from treadle.why.reply import Expected, Held, Reason, Recent, Why, WhyRun

__all__ = ["Expected", "Held", "Reason", "Recent", "Why", "WhyRun", "why"]
