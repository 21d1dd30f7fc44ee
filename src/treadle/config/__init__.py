"""Settings: `treadle.toml`, environment variables and flags.

Reading order: `kinds` (what a value may be), `settings` (the table of all keys), `sources` (where values
come from, flag > environment > file > default), `loading` (all of it put together), `schema` (the JSON
Schema of the file).
"""

from __future__ import annotations

from treadle.config.loading import Config, load
from treadle.config.schema import schema
from treadle.config.settings import SETTINGS, Setting
from treadle.config.sources import FILE_NAME, Value

__all__ = ["FILE_NAME", "SETTINGS", "Config", "Setting", "Value", "load", "schema"]
