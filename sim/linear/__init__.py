"""Whether a history could have come from one copy of the data and one client at a time.

    history    what was asked and answered, in the order of one observer
    search     a linear order of one row's operations that a small model explains
    order      the commit numbers as witness: operations that do not overlap stand in their order

The search knows no commit numbers and the order no model, so neither hides what the other would find.
"""
