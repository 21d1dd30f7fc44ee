"""What is shipped: the wheel holds the whole package, the same bytes each time, and installs little."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import pytest

from tests.repo.sources import tracked
from tests.support.shared import ROOT
from tools.sbom import bill, closure

MEGABYTE = 1_000_000
LARGEST_CORE = 100 * MEGABYTE


def build(folder: Path) -> Path:
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("first"))


def test_the_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        shipped = {name for name in archive.namelist() if ".dist-info/" not in name}
    package = {path.removeprefix("src/") for path in tracked() if path.startswith("src/")}
    assert shipped == package | {page.replace(PAGES, "treadle/docs/diagnostics") for page in pages()}


PAGES = "docs/reference/diagnostics"


def pages() -> set[str]:
    """The pages of diagnostics, which `treadle explain` shows."""
    return {path for path in tracked() if path.startswith(f"{PAGES}/")}


def test_the_wheel_names_the_command_and_the_licence(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        inside = {name.rpartition("/")[2]: name for name in archive.namelist() if ".dist-info/" in name}
        assert b"treadle = treadle.cli.main:main" in archive.read(inside["entry_points.txt"])
        assert b"Apache License" in archive.read(inside["LICENSE"])


def test_the_same_source_gives_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    assert build(tmp_path).read_bytes() == wheel.read_bytes()


def size(installed: Distribution) -> int:
    paths = [Path(str(installed.locate_file(file))) for file in installed.files or ()]
    return sum(path.stat().st_size for path in paths if path.is_file())


def test_the_embedded_core_stays_small() -> None:
    try:
        sizes = {name: size(distribution(name)) for name in closure("treadle")}
    except PackageNotFoundError as missing:
        pytest.fail(f"{missing} is not installed: run `make dev`")
    total = sum(sizes.values())
    largest = ", ".join(
        f"{name} {sizes[name] / MEGABYTE:.0f}" for name in sorted(sizes, key=sizes.__getitem__)[-5:]
    )
    print(f"core: {len(sizes)} packages, {total / MEGABYTE:.0f} MB, the largest {largest}")
    assert total < LARGEST_CORE, f"{total / MEGABYTE:.0f} MB; the largest: {largest}"


def test_the_bill_of_materials_is_closed_and_leaves_the_tools_out() -> None:
    document = bill()
    names = {entry["bom-ref"] for entry in document["components"]} | {"treadle"}
    assert {entry["ref"] for entry in document["dependencies"]} == names
    assert {name for entry in document["dependencies"] for name in entry["dependsOn"]} <= names
    assert {"apsw", "starlette", "psycopg-binary"} <= names
    assert not {"pytest", "ruff", "uv"} & names
    assert bill() == document
