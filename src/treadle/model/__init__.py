"""Values and facts: frozen, pure, free of I/O.

Reading order: `types` (what a cell may hold), `contract` (the checked contract), `facts` (rows, events,
verdicts); then `values`, the codec, with what it is made of: `reading` and `fields` (user values to cells),
`showing` (cells to user values), `inputs` (a command's input), `json_text` (JSON to plain values); then the
bytes: `items` and `canonical` (values without a schema, hashes), `coders`, `compounds` and `straight`
(compiled for declared types), `packing` (tuples that sort), `record` (the log record).
"""
