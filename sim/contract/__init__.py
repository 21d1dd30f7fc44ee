"""Clients of one contract on a disk that fails: commands, leases, lost answers, crashes, deployments.

world    one database file on a disk that can fail, its handles, its clock
acting   what happens to the world in a step: a client talks, the clock moves, the disk or the power fails
run      from an empty disk to the verdict

Clients, rules and verdict are those of `sim.jobs`.
"""

from sim.contract.run import draw, run
from sim.jobs.story import tell
from sim.scenario import Scenario

SCENARIO = Scenario(draw, run, tell)
