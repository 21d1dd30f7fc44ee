"""A project to start from: what `treadle new` writes.

The files are templates in `project/`; `{{name}}` stands for the project's name and `{{Contract}}` for its
contract's.
"""

from __future__ import annotations

import os
import re
import shutil
from importlib.resources import files
from pathlib import Path
from typing import Final

from treadle.errors import ConfigError

FILES: Final = {
    "contract.riff.template": "{{name}}.riff",
    "jobs.riffq.template": "queries/jobs.riffq",
    "treadle.toml.template": "treadle.toml",
    "worker.py.template": "worker.py",
    "test_contract.py.template": "test_{{module}}.py",
    "README.md.template": "README.md",
    "gitignore.template": ".gitignore",
}
NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*([-_][A-Za-z0-9]+)*")
LONGEST: Final = 64


def contract_name(name: str) -> str:
    """The contract's name for a project's: `print-shop` becomes `PrintShop`."""
    return "".join(part[:1].upper() + part[1:] for part in re.split("[-_]", name))


def create(folder: Path) -> list[Path]:
    """Write a project into `folder`, which must not exist; its last part is the project's name.

    Returns the files in the order of a first reading. Either all of them are there afterwards or, whatever
    goes wrong, none. Raises `ConfigError` for a name that cannot be one and for a folder that exists.
    """
    name = folder.name
    if not NAME.fullmatch(name) or len(name) > LONGEST:
        raise ConfigError(
            f"{name!r} cannot name a project: use letters, digits and hyphens, such as print-shop"
        )
    if folder.exists() or folder.is_symlink():
        raise ConfigError(f"{folder} exists already and is left alone; choose another name")
    if not folder.parent.is_dir():
        raise ConfigError(f"there is no folder {folder.parent}; create it first")
    unfinished = folder.with_name(f".{name}.unfinished-{os.getpid()}")
    try:
        unfinished.mkdir()
        written = [_write(unfinished, name, template, target) for template, target in FILES.items()]
        unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return [folder / path.relative_to(unfinished) for path in written]


def _write(folder: Path, name: str, template: str, target: str) -> Path:
    path = folder / _filled(target, name)
    path.parent.mkdir(exist_ok=True)
    text = files(__name__).joinpath("project", template).read_text(encoding="utf-8")
    path.write_text(_filled(text, name), encoding="utf-8")
    return path


def _filled(text: str, name: str) -> str:
    for placeholder, value in (
        ("{{name}}", name),
        ("{{Contract}}", contract_name(name)),
        ("{{module}}", re.sub("-", "_", name).lower()),
    ):
        text = text.replace(placeholder, value)
    return text
