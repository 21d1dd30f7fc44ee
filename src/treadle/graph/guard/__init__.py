"""The guard of signed workflow processing: judge(before, delta, context) -> Verdict | Refusal.

In reading order: `reasons` (the table), `context` (what it is told and answers), `scene` (a request as the
rules see it), `subjects`, `registrations`, `definitions`, `steps`, `runs`, `events`, `signers` (the rules),
`unenrolled` (the few that hold without enforcement), `fields` (kinds of terms), `judge`.
"""

from treadle.graph.guard.context import Advance, Context, Entry, Refusal, Verdict
from treadle.graph.guard.judge import judge
from treadle.graph.guard.reasons import REASONS, Reason

__all__ = ["REASONS", "Advance", "Context", "Entry", "Reason", "Refusal", "Verdict", "judge"]
