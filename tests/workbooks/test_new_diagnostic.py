"""A new diagnostic is a line on its sheet and a label: made in a copy of the package, it is seen everywhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.workbooks.copied import changed, copied, run

SHEETS = "workbooks/rlhf_ppo/sheets.py"
LABELS = "workbooks/common/labels.csv"
BEFORE = 'key(mean("advantage.mean_abs", sizes, see.over, see.use))'
LINE = f'{BEFORE}, key(largest("advantage.largest", sizes, see.use))'
LABEL = "advantage.largest,,max |Â|,the largest advantage in size,,,\n"

ASK = """
import json
import numpy as np
import blueprint as bp

book = bp.build("default")
book.save("new.xlsx")
print(json.dumps({
    "number": float(book["advantage.largest"].iloc[0, 0]),
    "right": float(np.nanmax(np.abs(book["advantages"].to_numpy(dtype=float)))),
    "told": str(book.explain("advantage.largest")).splitlines()[0],
    "page": "advantage.largest" in book.page().text,
}))
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copies the package and makes a diagnostic there: the largest advantage in size."""
    folder = copied(tmp_path_factory.mktemp("copy"))
    sheets = folder / "blueprint" / SHEETS
    text = sheets.read_text(encoding="utf-8")
    assert text.count(BEFORE) == 1
    sheets.write_text(text.replace(BEFORE, LINE), encoding="utf-8")
    with open(folder / "blueprint" / LABELS, "a", encoding="utf-8") as labels:
        labels.write(LABEL)
    return folder


@pytest.fixture(scope="module")
def seen(copy: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(copy, "-c", ASK))
    return found


def test_it_is_two_files(copy: Path) -> None:
    assert changed(copy) == [LABELS, SHEETS]


def test_it_has_its_number(seen: dict[str, Any]) -> None:
    assert seen["number"] == pytest.approx(seen["right"], abs=1e-12)


def test_it_is_explained_and_on_the_page(seen: dict[str, Any]) -> None:
    assert seen["told"].startswith("max |Â| = 1.194  (advantage.largest, Diagnostics!")
    assert seen["told"].endswith("the largest advantage in size")
    assert seen["page"]


def test_a_saved_workbook_with_it_is_checked(copy: Path, seen: dict[str, Any]) -> None:
    assert "new.xlsx  agrees  " in run(copy, "-m", "blueprint", "check", "new.xlsx")
