"""Clients of one contract through several operating-system processes, which are killed at random points.

serving    what a process does: it carries out what comes through its pipe, or dies on the way
host       a process as the simulator holds it: started, asked, killed, started again
world      the processes on one file, the clock that all of them are told, and who talks to whom meanwhile
acting     what happens in a step: clients talk at the same time, processes die, disks fail
run        from an empty file to the verdict

Clients, rules and verdict are those of `sim.jobs`. The script is the same for ever, but processes really run
at the same time: what they meet differs from run to run, and the verdict must hold for all of it.
"""

from sim.jobs.story import tell
from sim.processes.run import TRIES, draw, run
from sim.scenario import Scenario

SCENARIO = Scenario(draw, run, tell, TRIES)
