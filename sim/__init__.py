"""A seeded simulator: days of clients, workers, crashes, lost answers and clock jumps, in seconds.

    scenario   what a scenario is, and which there are: `contract` (commands and leases on a disk that fails)
    shrink     the shortest script that still fails

`python -m sim` runs seeds; a seed that fails prints one line that repeats it, and its story. Seeds that
failed once are kept in tests/sim and run for ever.
"""
