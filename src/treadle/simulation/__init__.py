"""A contract under random clients: which outcomes and states it reaches, and whether its laws hold.

    flows      what each input of a command feeds: a key, a revision, an owner, a field it is compared with
    values     random values of every type, ordinary ones mostly and extreme ones now and then
    drawing    requests that are likely to mean something: about rows that exist, with what these hold
    laws       what must hold of every record, whatever was asked
    running    the run itself, in memory, on a clock that it moves
    report     what was seen

A run is the same for the same contract, seed and number of steps.
"""

from treadle.simulation.report import Report
from treadle.simulation.running import simulate

__all__ = ["Report", "simulate"]
