"""Taking a database elsewhere: backup and restore of the whole file, export and import of its rows.

Reading order: `files` (new files that appear whole or not at all), `backup`, `restore`, `archive` (what an
export looks like), `exporting`, `importing`, `rollback`.
"""

from __future__ import annotations

from treadle.portability.backup import BackedUp, backup, backup_into
from treadle.portability.exporting import Exported, export
from treadle.portability.importing import Imported, ImportPlan, import_archive, plan_import
from treadle.portability.restore import Restored, restore
from treadle.portability.rollback import RolledBack, backup_path, rollback

__all__ = [
    "BackedUp",
    "Exported",
    "ImportPlan",
    "Imported",
    "Restored",
    "RolledBack",
    "backup",
    "backup_into",
    "backup_path",
    "export",
    "import_archive",
    "plan_import",
    "restore",
    "rollback",
]
