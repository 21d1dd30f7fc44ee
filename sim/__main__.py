"""`python -m sim`: run seeds until the minutes are over, or one seed again.

SEED chooses one seed (or, with `--seeds`, the first); without it, seeds from a random one on are run in all
scenarios in turn. STEPS is the length of each script, SCENARIO one scenario, MINUTES the time for all of it.
Ends with what ran, or with what broke, the line that repeats it, and its story.
"""

from __future__ import annotations

import argparse
import itertools
import os
import secrets
import sys
import time
from typing import Final

from sim.scenario import SCENARIOS, scenario
from sim.summary import Summary, told

MINUTES: Final = 3.0
STEPS: Final = 1_000


def main() -> int:
    """Run the seeds asked for; returns the exit code."""
    options = _options()
    first = secrets.randbelow(1_000_000) if options.seed is None else options.seed
    many = options.seeds or (None if options.seed is None else 1)
    names = [options.scenario] if options.scenario else list(SCENARIOS)
    numbers = itertools.count(first) if many is None else range(first, first + many)
    deadline = time.monotonic() + options.minutes * 60
    summary = Summary()
    for number, (seed, name) in enumerate((seed, name) for seed in numbers for name in names):
        if number and time.monotonic() > deadline:
            print("the time is over")
            break
        if not _ran(summary, name, seed, options.steps):
            return 1
    print(summary)
    return 0


def _ran(summary: Summary, name: str, seed: int, steps: int) -> bool:
    """Run one seed, and tell of it if it breaks."""
    found = scenario(name)
    result = found.run(seed, found.draw(seed, steps))
    if result.broken is None:
        summary.add(name, result)
        print(f"{name} {seed}: ok ({result.steps:,} steps, {result.records:,} records)", flush=True)
        return True
    print(f"{name} {seed}: {result.broken}")
    print(f"repeat with: make sim SCENARIO={name} SEED={seed} STEPS={steps}", flush=True)
    print(told(name, seed, steps, result))
    print(f"before that:\n{summary}")
    return False


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m sim", description=__doc__)
    given = os.environ.get
    parser.add_argument("--seed", type=int, default=int(given("SEED", "")) if given("SEED") else None)
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--steps", type=int, default=int(given("STEPS") or STEPS))
    parser.add_argument("--minutes", type=float, default=float(given("MINUTES") or MINUTES))
    parser.add_argument("--scenario", choices=SCENARIOS, default=given("SCENARIO") or None)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
