"""Who may do what: callers, roles, and the decision that the batch takes before any state is shown."""
