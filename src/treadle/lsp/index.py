"""Every name of a contract, declarations and uses."""

from __future__ import annotations

from treadle.lsp.collector import Collector
from treadle.lsp.command_names import commands
from treadle.lsp.data_names import declarations
from treadle.lsp.names import Names
from treadle.riff.symbols import Unit


def names_of(unit: Unit) -> Names:
    """The names of a contract whose checks have run, whatever those found."""
    collector = Collector(unit)
    declarations(collector)
    commands(collector)
    return Names(collector.found)
