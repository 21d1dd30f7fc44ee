"""What the engine needs from outside, as protocols: `clock`, `ids`, `store`."""
