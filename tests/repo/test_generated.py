"""Generated files are up to date, and the register of generators keeps its promises."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import generated
from tools.generated import Generated


def test_every_generated_file_is_up_to_date() -> None:
    stale = [path for each in generated.GENERATED for path in generated.stale(each)]
    assert not stale, "run `make docs` and commit the result"


def test_no_file_has_two_generators() -> None:
    listed = [path for each in generated.GENERATED for path in each.outputs]
    assert len(set(listed)) == len(listed)


def sample() -> dict[str, str | bytes]:
    return {"docs/a.txt": "α\n", "b.bin": b"\0\1"}


SAMPLE = Generated(f"{__name__}:sample", ("docs/a.txt", "b.bin"))


def test_write_makes_the_files_and_check_sees_a_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generated, "ROOT", tmp_path)
    assert generated.stale(SAMPLE) == ["docs/a.txt", "b.bin"]
    assert generated.write(SAMPLE) == ["docs/a.txt", "b.bin"]
    assert generated.stale(SAMPLE) == [] and generated.write(SAMPLE) == []
    (tmp_path / "b.bin").write_bytes(b"\0\2")
    assert generated.stale(SAMPLE) == ["b.bin"]


def test_a_generator_that_makes_other_files_is_refused() -> None:
    with pytest.raises(ValueError, match="listed are"):
        Generated(SAMPLE.render, ("docs/a.txt",)).files()
