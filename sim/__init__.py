"""A seeded simulator: days of clients, workers, crashes, lost answers and clock jumps, in seconds.

    scenario     what a scenario is, and which there are
    jobs         a contract, its clients, its rules and the verdict on them, wherever the handles are
    contract     those clients on a disk that fails
    processes    those clients through several processes that are killed
    graph        clients of a graph on a disk that fails: updates, signed steps, forgeries, restores
    work         the real code of workers and schedulers, in threads that take turns, and named consumers
    linear       whether a recorded history could have come from one copy and one client at a time
    shrink       the shortest script that still fails
    summary      what a campaign ran, and what it says of a seed that fails

`python -m sim` runs seeds. A seed that fails prints one line that repeats it, and its story; seeds that
failed once are kept in tests/sim/budget.py and run for ever.
"""
