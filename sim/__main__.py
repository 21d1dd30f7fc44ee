"""`python -m sim`: run one seed, or many.

SEED chooses the seed (random otherwise, and printed), STEPS the length of its script, SCENARIO what is
simulated (all of them otherwise, in turn). `--seeds N` runs N seeds from SEED on, for at most `--minutes`.
"""

from __future__ import annotations

import argparse
import os
import secrets
import sys
import time

from sim.scenario import SCENARIOS, Result, Scenario, scenario
from sim.shrink import shrink

MINUTES = 4.0
STEPS = 3_000


def main() -> int:
    """Run the seeds asked for; returns the exit code."""
    options = _options()
    names = [options.scenario] if options.scenario else SCENARIOS
    deadline = time.monotonic() + options.minutes * 60
    runs = [(name, seed) for seed in range(options.seed, options.seed + options.seeds) for name in names]
    total: dict[str, int] = {}
    for done, (name, seed) in enumerate(runs):
        if done and time.monotonic() > deadline:
            print(f"stopped after {done} of {len(runs)} runs: the time given is over")
            break
        found = scenario(name)
        result = found.run(seed, found.draw(seed, options.steps))
        if result.broken is not None:
            _report(name, seed, options.steps, result)
            return 1
        for kind, count in result.faults.items():
            total[kind] = total.get(kind, 0) + count
        told = f"{options.steps} steps, {result.records} records, faults {result.faults}"
        print(f"{name} {seed}: ok ({told})", flush=True)
    if len(runs) > 1:
        print(f"ok, faults {total}")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m sim", description=__doc__)
    given = os.environ.get("SEED", "")
    parser.add_argument("--seed", type=int, default=int(given) if given else secrets.randbelow(1_000_000))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--steps", type=int, default=int(os.environ.get("STEPS", STEPS)))
    parser.add_argument("--minutes", type=float, default=MINUTES)
    parser.add_argument("--scenario", choices=SCENARIOS, default=os.environ.get("SCENARIO") or None)
    return parser.parse_args()


def _report(name: str, seed: int, steps: int, result: Result) -> None:
    found: Scenario = scenario(name)
    script = found.draw(seed, steps)[: result.steps]
    print(f"{name} {seed}: {result.broken}")
    print(f"repeat with: make sim SCENARIO={name} SEED={seed} STEPS={steps}")
    sys.stdout.flush()
    short = shrink(script, lambda attempt: found.run(seed, attempt).broken is not None, most=150)
    again = found.run(seed, short)
    print(f"the shortest history found that still breaks ({again.broken}):")
    print(found.tell(short))


if __name__ == "__main__":
    sys.exit(main())
