"""The notebooks run from top to bottom: their cells are executed in order, in one name space, as Jupyter would."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs(notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    space: dict[str, object] = {"__name__": "__main__"}
    cells = [cell for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(cells, 1):
        tree = ast.parse("".join(cell["source"]))
        exec(compile(tree, f"{notebook.name}, code cell {number}", "exec"), space)
    assert cells


def test_there_are_notebooks_and_they_are_committed_without_outputs() -> None:
    assert NOTEBOOKS
    for notebook in NOTEBOOKS:
        for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
            assert not cell.get("outputs"), notebook.name
