"""Taking a database elsewhere: backup and restore of the whole file, export and import of its rows.

Reading order: `files` (new files that appear whole or not at all), `backup`, `restore`, `archive` (what an
export looks like), `exporting`, `importing`.
"""

from __future__ import annotations

from treadle.portability.backup import BackedUp, backup, backup_into
from treadle.portability.exporting import Exported, export
from treadle.portability.importing import Imported, ImportPlan, import_archive, plan_import
from treadle.portability.restore import Restored, restore

__all__ = [
    "BackedUp",
    "Exported",
    "ImportPlan",
    "Imported",
    "Restored",
    "backup",
    "backup_into",
    "export",
    "import_archive",
    "plan_import",
    "restore",
]
