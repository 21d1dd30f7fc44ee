"""What Treadle costs, as ratios taken in one run on one machine. `python -m bench` prints the table.

    work_queue   claim and finish: one caller, 32 threads, batches of 100, against the statements alone
    evaluate     one evaluation, without a store
    encode       one command's canonical bytes
    store        the SQLite store against its statements
    over_http    commands over HTTP against an empty handler
    workers      32 workers on one queue: claims tried for each one won

`slow.c` makes each flush take a millisecond longer (`LD_PRELOAD`), since some disks flatter whoever commits
one at a time.
"""
