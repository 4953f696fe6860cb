"""The committed workbooks are what a build makes today: same parts, same strings and formulas, numbers to 1e-12."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.page.workshop import MAINS, other_parts, save_made

WORKBOOKS = Path(__file__).parent.parent / "workbooks"
NUMBERS = {path.name: {"rlhf_ppo": "default"}.get(path.stem, path.stem) for path in sorted(WORKBOOKS.glob("*.xlsx"))}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_rebuild_gives_the_same_parts(name: str, tmp_path: Path) -> None:
    save_made(tmp_path / name, numbers=NUMBERS[name])
    found = other_parts(WORKBOOKS / name, tmp_path / name)
    assert found == [], f"{name}: rebuild it with the command in workbooks/README.md"


def test_every_kind_has_a_workbook_in_the_folder_and_every_workbook_a_command() -> None:
    assert {*MAINS.values()} - {*NUMBERS.values()} == set()
    readme = (WORKBOOKS / "README.md").read_text(encoding="utf-8")
    assert [name for name in NUMBERS if name not in readme] == []
