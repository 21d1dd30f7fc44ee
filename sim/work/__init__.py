"""Workers, schedules and streams: the real code of a crew, in threads that take turns as a script says.

    script     what happens, drawn from a seed
    stage      tasks that go on one at a time, and what may become of their calls
    world      one file on a disk that fails, its handles, two clocks
    process    a process of several tasks, which may die between any two calls
    wire       the line between a process and the database, which loses answers
    crew       workers, their handlers, schedulers
    consumers  consumers whose every call is written down
    actions    what each step does
    ending     everything comes to rest
    seen       what handlers, consumers, tails and senders saw
    log, accounts, bellrules, verdict   what must hold of it; they know no fault
    story      a script in words

`work.riff` is the contract, `work.riffq` its queries.
"""

from sim.scenario import Scenario
from sim.work.run import run
from sim.work.script import draw
from sim.work.story import tell

SCENARIO = Scenario(draw, run, tell)
