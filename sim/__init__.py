"""A seeded simulator: days of clients, workers, crashes, lost answers and clock jumps, in seconds.

    script     what happens, drawn from a seed: a list of steps that can be cut down and still be run
    world      one database file on a disk that can fail, its handles, its clock, and what clients know
    actions    what each step does to the world
    checkers   what must hold of what was seen; they know nothing of faults
    story      a failing history in words
    shrink     the shortest script that still fails

`python -m sim` runs seeds; a seed that fails prints one line that repeats it, and its story. Seeds that
failed once are kept in tests/sim and run for ever.
"""
