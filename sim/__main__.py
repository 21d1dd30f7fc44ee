"""`python -m sim`: run one seed, or many.

SEED chooses the seed (random otherwise, and printed), STEPS the length of its script. `--seeds N` runs N
seeds from SEED on, for at most `--minutes`.
"""

from __future__ import annotations

import argparse
import os
import secrets
import sys
import time

from sim.run import Result, run
from sim.script import draw
from sim.shrink import shrink
from sim.story import tell

MINUTES = 4.0
STEPS = 3_000


def main() -> int:
    """Run the seeds asked for; returns the exit code."""
    options = _options()
    deadline = time.monotonic() + options.minutes * 60
    done = 0
    total: dict[str, int] = {}
    for seed in range(options.seed, options.seed + options.seeds):
        if done and time.monotonic() > deadline:
            print(f"stopped after {done} of {options.seeds} seeds: the time given is over")
            break
        result = run(seed, draw(seed, options.steps))
        if result.broken is not None:
            _report(seed, options.steps, result)
            return 1
        done += 1
        for kind, count in result.faults.items():
            total[kind] = total.get(kind, 0) + count
        print(f"seed {seed}: ok ({options.steps} steps, {result.records} records, faults {result.faults})")
    if options.seeds > 1:
        print(f"{done} seeds: ok, faults {total}")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m sim", description=__doc__)
    given = os.environ.get("SEED", "")
    parser.add_argument("--seed", type=int, default=int(given) if given else secrets.randbelow(1_000_000))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--steps", type=int, default=int(os.environ.get("STEPS", STEPS)))
    parser.add_argument("--minutes", type=float, default=MINUTES)
    return parser.parse_args()


def _report(seed: int, steps: int, result: Result) -> None:
    script = draw(seed, steps)[: result.steps]
    print(f"seed {seed}: {result.broken}")
    print(f"repeat with: make sim SEED={seed} STEPS={steps}")
    sys.stdout.flush()
    short = shrink(script, lambda attempt: run(seed, attempt).broken is not None, most=150)
    again = run(seed, short)
    print(f"the shortest history found that still breaks ({again.broken}):")
    print(tell(short))


if __name__ == "__main__":
    sys.exit(main())
