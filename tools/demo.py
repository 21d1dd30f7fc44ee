"""Runs the examples one after the other, as a newcomer would, and says where to look next: `make demo`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ("work_queue", "agent_fleet", "signed_release")

NEXT = """
What you saw ran from these folders, in one file and without a server. To look around:

  {examples}

  .venv/bin/treadle --help          every verb, with an example each
  docs/index.md                     the documentation, from a tutorial to the file formats
  make test                         everything that is promised, checked
"""


def run(name: str) -> None:
    folder = ROOT / "examples" / name
    print(f"── examples/{name}/main.py " + "─" * 40, flush=True)
    code = subprocess.run([sys.executable, "main.py"], cwd=folder).returncode
    if code:
        sys.exit(f"examples/{name}/main.py ended with exit code {code}")
    print(flush=True)


def main() -> None:
    present = [name for name in EXAMPLES if (ROOT / "examples" / name / "main.py").is_file()]
    if not present:
        sys.exit("no example in examples/: this clone is not complete")
    for name in present:
        run(name)
    what = {"signed_release": "a plan, signed steps and their proof: the program"}
    lines = [
        f"examples/{name + '/':<24} {what.get(name, 'the contract and the program')}" for name in present
    ]
    print(NEXT.format(examples="\n  ".join(lines)))


if __name__ == "__main__":
    main()
