"""Values and facts: frozen, pure, free of I/O.

Reading order: `types` (what a cell may hold), `contract` (the checked contract), `values` (user values to
cells and back), `canonical` (cells to bytes and back), `facts` (rows, events, log records).
"""
