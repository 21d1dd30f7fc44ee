"""SPARQL texts into deltas and answers, in reading order.

tokens      text into tokens, longest match; places for errors
names       BASE and PREFIX: names in full
cursor      brackets matched, tokens read in order
limits      what is refused before any parser sees it, so that the process lives
split       an update into its operations
emit        tokens into the text that the index's own parser gets, with places mapped back
templates   the statements of INSERT and DELETE, with variables and blank nodes
solve       statements from templates and solutions
direct      one operation into a delta
sequence    several operations into one delta
update      an update text into a delta: `compute_delta`
"""
