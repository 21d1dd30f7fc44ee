"""The command line: one file per verb.

Reading order: `main` (from arguments to an exit code), `verbs` (the table of verbs, loaded on demand),
`exits` (exit codes), `options` (options that verbs share), `session` (settings and the open database),
`screen` (what is printed, and how); then a file per verb, `values` and `lines` with `run`.
"""
