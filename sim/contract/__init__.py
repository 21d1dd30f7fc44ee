"""Clients of one contract on a disk that fails: commands, leases, lost answers, crashes, deployments.

script     what happens, drawn from a seed: a list of steps that can be cut down and still be run
world      one database file on a disk that can fail, its handles, its clock, and what clients know
actions    what each step does to the world
checkers   what must hold of what was seen; they know nothing of faults
story      a failing history in words
"""

from sim.contract.run import run
from sim.contract.script import draw
from sim.contract.story import tell
from sim.scenario import Scenario

SCENARIO = Scenario(draw, run, tell)
