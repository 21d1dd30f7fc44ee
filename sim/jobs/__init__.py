"""Jobs and their clients, whatever the handles are: what the scenarios `contract` and `processes` share.

    script     steps, drawn from a seed
    rules      what each command answers and leaves, written a second time and by itself
    asking     what can be asked of a handle, and what it answers: plain data that fits through a pipe
    clients    what clients sent, heard and know
    acting     what a client does in a step
    model      one row as the search for a linear order sees it
    log        the log, walked by the rules
    verdict    everything that must hold of what was seen; knows nothing of faults
    story      a script in words

`jobs.riff` is the contract, `jobs.riffq` its query.
"""
