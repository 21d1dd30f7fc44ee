"""Clients of one graph on a disk that fails: updates, signed steps, lost answers, crashes, restores.

names      what everything is called, the plans, the agents' keys, and what a step signs
script     what happens, drawn from a seed: a list of steps that can be cut down and still be run
updates    updates as data: their SPARQL text, and what they do, worked out the slow way
drawing    which updates are sent, among them those that touch what is protected
signing    steps made by hand: sound ones, forged ones, and whatever else the guard must refuse
desks      the contract beside the graph, and how its rows are claimed
world      one database file on a disk that can fail, its handles, its clock, and what clients sent
wire       what lies between a client and a handle: it loses, doubles and delays
actions    what each step does to the world
rules      what may be written to an enrolled graph, a second time and without the engine
checkers   what must hold of what was seen; they know nothing of faults
story      a failing history in words
"""

from sim.graph.run import run
from sim.graph.script import draw
from sim.graph.story import tell
from sim.scenario import Scenario

SCENARIO = Scenario(draw, run, tell)
