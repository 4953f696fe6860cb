"""A new library is a column in two tables and a paragraph, and no line of code: made in a copy of the package, it is a preset,
and its dumps are known by their names.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.workbooks.copied import changed, copied, run

NAMES, PRESETS, READ = "dumps/names.csv", "workbooks/common/presets.csv", "workbooks/common/presets.toml"
PARAGRAPH = """
[lab]
title = "Our lab"
version = "1"
source = "loop.py"
why = "As TRL 0.11.4, with a λ of 0.5."
"""

ASK = """
import json
import numpy as np
import blueprint as bp
from blueprint.dumps import Raw
from blueprint.dumps.recognise import recognise

names = ("lp_before", "lp_now")
found = recognise(Raw({name: np.zeros((2, 3)) for name in names}, dict.fromkeys(names, "float64")))
lab, trl = (bp.build("default", preset=preset) for preset in ("lab", "trl_0.11.4"))
same = bp.build("default", preset="trl_0.11.4", set={"ppo.gae_lambda": 0.5})
print(json.dumps({
    "called": found.called, "preset": found.preset,
    "losses": [float(book.loss) for book in (lab, same, trl)],
}))
"""


def add_column(path: Path, library: str, after: str, named_by: str, cells: Mapping[str, str], others: bool) -> None:
    """Adds a library's column to a table.

    cells: by the name of a row. others: what the column before says in the other rows; else they stay empty.
    """
    with open(path, encoding="utf-8", newline="") as file:
        rows = [*csv.reader(file)]
    place, key = rows[0].index(after) + 1, rows[0].index(named_by)
    for row in rows:
        row.insert(place, cells.get(row[key], row[place - 1] if others else ""))
    rows[0][place] = library
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copies the package and adds a library there."""
    folder = copied(tmp_path_factory.mktemp("copy"))
    package = folder / "blueprint"
    add_column(package / PRESETS, "lab", "trl_0.11.4", "convention", {"gae_lambda": "0.5"}, others=True)
    own = {"logprobs_old": "lp_before", "logprobs_new": "lp_now"}
    add_column(package / NAMES, "lab", "nemo_rl", "name", own, others=False)
    with open(package / READ, "a", encoding="utf-8") as file:
        file.write(PARAGRAPH)
    return folder


@pytest.fixture(scope="module")
def seen(copy: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(copy, "-c", ASK))
    return found


def test_it_is_no_code(copy: Path) -> None:
    assert changed(copy) == [NAMES, PRESETS, READ]


def test_its_conventions_are_a_preset(copy: Path, seen: dict[str, Any]) -> None:
    lab, same, trl = seen["losses"]
    assert lab == pytest.approx(same, abs=1e-12)
    assert lab != pytest.approx(trl, abs=1e-6)
    listed = run(copy, "-m", "blueprint", "presets")
    assert "lab: Our lab, 1\n  loop.py\n  As TRL 0.11.4, with a λ of 0.5.\n" in listed


def test_its_dumps_are_known_by_their_names(seen: dict[str, Any]) -> None:
    assert seen["called"] == {"logprobs_old": "lp_before", "logprobs_new": "lp_now"}
    assert seen["preset"] == "lab"
