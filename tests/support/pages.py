"""A page of documentation, run as it is read: its shell sessions and programs, in order, in one folder.

In a `console` block a line that begins with `$ ` is a command, and the lines below it are what it prints.
A line of expected output may hold `…` for any text in it; a line that is `…` alone stands for any number
of lines. A command must succeed, or end in a comment `# exit N`. A `python` block is a program of its own.
A block of any other kind that has a file's name after its kind is saved under that name; others are left.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

FENCE = re.compile(r"^```(\w*) ?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
END = "\x1e"
LAST = "end of the file"


class Step(NamedTuple):
    """A command or a program with what it should print."""

    kind: str
    text: str
    expected: tuple[str, ...] = ()

    @property
    def code(self) -> int:
        match = re.search(r"# exit (\d+)$", self.text)
        return int(match[1]) if match else 0


def blocks(page: str, kind: str) -> list[str]:
    """The contents of the page's blocks of one kind."""
    return [body for name, _, body in FENCE.findall(page) if name == kind]


def steps(page: str) -> Iterator[Step]:
    """What is to be run, in order."""
    for kind, name, body in FENCE.findall(page):
        if kind == "console":
            yield from commands(body)
        elif kind == "python":
            yield Step(kind, body)
        elif name:
            yield Step("file", f"cat > {name} <<'{LAST}'\n{body}{LAST}")


def commands(body: str) -> Iterator[Step]:
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command, *expected = part.rstrip("\n").split("\n")
        yield Step("console", command, tuple(expected))


def agrees(expected: tuple[str, ...], printed: list[str]) -> bool:
    """Whether the lines printed are those expected, `…` standing for anything."""
    pattern = ""
    for line in expected:
        if line == "…":
            pattern += r"(?:[^\n]*\n)*?"
        else:
            pattern += ".*?".join(map(re.escape, line.split("…"))) + r"\n"
    return re.fullmatch(pattern, "".join(line + "\n" for line in printed)) is not None


class Session:
    """One shell in one folder; `cd` and variables last from one command to the next."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TREADLE_")}
        self._shell = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=folder,
            env=kept | {"PATH": path, "HOME": str(folder), "COLUMNS": "120"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, step: Step) -> tuple[int, list[str]]:
        """Exit code and lines printed."""
        text = step.text
        if step.kind == "python":
            program = self._folder / "block.py"
            program.write_text(text, encoding="utf-8")
            text = f"python {program}"
        wire = self._wire(self._shell.stdin)
        wire.write(f"{text}\nprintf '{END}%s\\n' $?\n")
        wire.flush()
        lines: list[str] = []
        for line in self._wire(self._shell.stdout):
            printed, mark, code = line.rstrip("\n").partition(END)
            if printed or not mark:
                lines.append(printed)
            if mark:
                return int(code), lines
        raise AssertionError(f"the shell ended at: {step.text}")

    def close(self) -> None:
        self._wire(self._shell.stdin).close()
        self._wire(self._shell.stdout).close()
        self._shell.wait(timeout=30)

    @staticmethod
    def _wire(stream: IO[str] | None) -> IO[str]:
        if stream is None:
            raise AssertionError("the shell has no such stream")
        return stream


def run_page(page: str, folder: Path, *, skip: tuple[str, ...] = ()) -> int:
    """Run a page's steps; returns how many. `skip` lists commands that are tested elsewhere.

    Raises AssertionError that shows the command, what it should print and what it printed.
    """
    session = Session(folder)
    done = 0
    try:
        for step in steps(page):
            if step.text in skip:
                continue
            code, printed = session.run(step)
            told = f"$ {step.text}\nexit code {code}\n" + "\n".join(printed)
            if code != step.code:
                raise AssertionError(f"exit code {step.code} is expected:\n{told}")
            if step.kind == "console" and not agrees(step.expected, printed):
                raise AssertionError("expected:\n" + "\n".join(step.expected) + f"\n{told}")
            done += 1
    finally:
        session.close()
    return done
