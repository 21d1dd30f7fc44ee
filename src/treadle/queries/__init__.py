"""Named queries at run time: a checked query, a snapshot and a caller give a page.

Reading order: `calling` (one call from end to end), `cursors`, `page`, `prepared` and `frame` (a query made
ready, and what it knows while it runs), `spans` (ranges of an index), `running`, `visible` (row policies and
tenants). `deploying` compiles texts for a deployment. The language is `treadle.riffql`; what is asked of a
store is `treadle.ports.queries`.
"""

from __future__ import annotations

from treadle.queries.calling import Call, pages, ready, run
from treadle.queries.page import Page

__all__ = ["Call", "Page", "pages", "ready", "run"]
