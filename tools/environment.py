"""Makes the virtual environment from the lock, or leaves it alone when it is already right.

    python3 tools/environment.py core     what the examples need
    python3 tools/environment.py dev      that, and everything that tests, checks and benchmarks need

Runs before anything is installed: standard library only, and syntax that an old Python can read as far as
the sentence that says it is too old.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time

OLDEST = (3, 11)
if sys.version_info < OLDEST:
    sys.exit(
        f"Treadle needs Python {OLDEST[0]}.{OLDEST[1]} or newer; {sys.executable} is "
        f"{sys.version.split()[0]}.\nInstall a newer one (Debian: python3 and python3-venv) and name it: "
        "make PYTHON=python3.12 ..."
    )

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
PYTHON = os.path.join(VENV, "bin", "python")
KINDS = ("core", "dev")


def main(arguments: list[str]) -> None:
    """Brings `.venv` to the state of requirements/<kind>.lock; exits with a sentence when it cannot."""
    if len(arguments) != 1 or arguments[0] not in KINDS:
        sys.exit(f"usage: python3 tools/environment.py {'|'.join(KINDS)}")
    kind = arguments[0]
    wanted = fingerprint(kind)
    if usable() and read(stamp(kind)) == wanted:
        return
    started = time.monotonic()
    create()
    install(kind)
    mark(kind, wanted)
    say(f"environment ready in {time.monotonic() - started:.0f} s")


def fingerprint(kind: str) -> str:
    """What the environment is made from: the lock, the package's own declaration and this folder.

    The folder counts because the editable install names it: a clone that was moved is installed again.
    """
    import tomllib  # since 3.11, so not before the version was looked at

    with open(os.path.join(ROOT, "requirements", kind + ".lock"), encoding="utf-8") as file:
        lock = file.read()
    with open(os.path.join(ROOT, "pyproject.toml"), "rb") as file:
        declared = tomllib.load(file)
    parts = [lock, ROOT, declared["build-system"], declared["project"], declared["tool"]["hatch"]]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def stamp(kind: str) -> str:
    return os.path.join(VENV, "treadle-" + kind)


def read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return ""


def usable() -> bool:
    """Whether the environment's interpreter still starts (it does not after the system's Python went)."""
    try:
        return subprocess.run([PYTHON, "-c", ""], stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False


def create() -> None:
    if usable():
        return
    if os.path.exists(VENV):
        say("the environment's Python no longer starts; making it again")
        shutil.rmtree(VENV)
    say(f"making .venv with Python {sys.version.split()[0]}")
    made = subprocess.run([sys.executable, "-m", "venv", VENV], capture_output=True, text=True)
    if made.returncode:
        shutil.rmtree(VENV, ignore_errors=True)
        sys.exit(
            f"{sys.executable} -m venv failed:\n{made.stdout}{made.stderr}"
            "On Debian and Ubuntu the module is a package of its own: apt-get install python3-venv"
        )


def install(kind: str) -> None:
    lock = os.path.join("requirements", kind + ".lock")
    say(f"installing the {packages(lock)} packages of {lock}")
    pip("--require-hashes", "-r", lock)
    pip("--no-deps", "--no-build-isolation", "-e", ".")


def packages(lock: str) -> int:
    with open(os.path.join(ROOT, lock), encoding="utf-8") as file:
        return sum("==" in line and not line.startswith(("#", " ")) for line in file)


def pip(*arguments: str) -> None:
    command = [PYTHON, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", *arguments]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"{done.stdout}\npip failed (exit code {done.returncode}): {' '.join(arguments)}")


def mark(kind: str, wanted: str) -> None:
    """Writes the stamp; the dev lock holds all of the core lock, so it stands for both."""
    for each in KINDS[: KINDS.index(kind) + 1]:
        with open(stamp(each), "w", encoding="utf-8") as file:
            file.write((wanted if each == kind else fingerprint(each)) + "\n")


def say(text: str) -> None:
    print(f"[environment] {text}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
