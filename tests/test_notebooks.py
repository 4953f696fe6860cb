"""The notebooks run from top to bottom, and what they print is what is kept in them."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path

import pytest

from tests.notebooks import NOTEBOOKS, Output, code_cells, differences, loaded, run


@pytest.fixture
def torch_as_it_was() -> Iterator[None]:
    """Undoes what a notebook sets for its whole process, so that no test behind it computes with other numbers."""
    torch = pytest.importorskip("torch", reason="notebooks compute with torch: install the extra [torch]")
    dtype, threads = torch.get_default_dtype(), torch.get_num_threads()
    yield
    torch.set_default_dtype(dtype)
    torch.set_num_threads(threads)


@pytest.mark.usefixtures("torch_as_it_was")
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_a_run_prints_is_what_is_kept(notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if "bp.lab(" in notebook.read_text(encoding="utf-8"):
        pytest.importorskip("gymnasium", reason="labs are environments of gymnasium: install the extra [lab]")
    monkeypatch.chdir(tmp_path)
    kept = [cell["outputs"] for cell in code_cells(loaded(notebook))]
    assert differences(kept, run(notebook)) == [], "keep what it prints now: python -m tests.notebooks"
    assert kept


def test_there_are_notebooks_and_each_shows_something() -> None:
    assert len(NOTEBOOKS) >= 6
    for notebook in NOTEBOOKS:
        cells = code_cells(loaded(notebook))
        assert [cell["execution_count"] for cell in cells] == [*range(1, len(cells) + 1)], notebook.name
        assert sum(bool(cell["outputs"]) for cell in cells) >= 3, notebook.name


DOOR = {"blueprint", "blueprint.notation"}
"""What a notebook may import of ours: `import blueprint as bp`, and the words of the notation."""


def ours(source: str) -> set[str]:
    """Returns the modules of ours that a cell imports, and `blueprint.NAME` for a name that it takes out of the door."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        if isinstance(node, ast.ImportFrom):
            door = node.module == "blueprint"
            found |= {f"blueprint.{each.name}" for each in node.names} if door else {str(node.module)}
    return {each for each in found if each.partition(".")[0] == "blueprint"}


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_says_what_one_knows_at_its_end_and_goes_through_the_front_door(notebook: Path) -> None:
    cells = loaded(notebook)["cells"]
    assert cells[0]["cell_type"] == "markdown"
    assert re.search(r"\b[Aa]t (its|the) end\b|\b[Aa]fterwards\b", "".join(cells[0]["source"]))
    imported = {each for cell in code_cells(loaded(notebook)) for each in ours("".join(cell["source"]))}
    assert imported - DOOR == set()


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import blueprint as bp", {"blueprint"}),
        ("from blueprint.notation import Axis", {"blueprint.notation"}),
        ("from blueprint import Book", {"blueprint.Book"}),
        ("from blueprint.classes.key import Key\nimport numpy", {"blueprint.classes.key"}),
    ],
)
def test_an_import_of_ours_is_seen(source: str, found: set[str]) -> None:
    assert ours(source) == found


def test_no_folder_and_no_error_is_kept() -> None:
    for notebook in NOTEBOOKS:
        kept = json.dumps([cell["outputs"] for cell in code_cells(loaded(notebook))])
        assert [each for each in ("/tmp/", "site-packages", "Traceback") if each in kept] == []


def printed(text: str) -> list[list[Output]]:
    """Returns the outputs of one cell that prints a text."""
    return [[{"output_type": "stream", "name": "stdout", "text": text.splitlines(keepends=True)}]]


# (kept, now, whether that is the same)
CASES = [
    ("loss 0.2055\n", "loss 0.2055\n", True),
    ("loss 0.2055\n", "loss 0.2056\n", False),
    ("loss 1.0000000000\n", "loss 1.0000000005\n", True),
    ("largest difference 8.9e-16\n", "largest difference 1.1e-15\n", True),
    ("8,117 formulas\n", "8,118 formulas\n", False),
    ("all agree\n", "none agrees\n", False),
    ("took 3.2 s, agrees\n", "took 41 s, agrees\n", True),
    ("took 3.2 s, agrees\n", "took 41 s, differs\n", False),
    ("<Book at 0x7f01>\n", "<Book at 0x7fee>\n", True),
    ("a\nb\n", "a\n", False),
    ("−1.5 of γ\n", "1.5 of γ\n", False),
    ("step_120\n", "step_121\n", False),
]


@pytest.mark.parametrize(("kept", "now", "same"), CASES)
def test_a_difference_is_seen_and_rounding_is_none(kept: str, now: str, same: bool) -> None:
    assert (differences(printed(kept), printed(now)) == []) is same


def test_a_missing_output_and_a_missing_cell_are_seen() -> None:
    assert differences(printed("a\n"), [[]])
    assert differences(printed("a\n"), [])
    result: list[list[Output]] = [[{"output_type": "execute_result", "data": {"text/plain": ["1"]}}]]
    changed = deepcopy(result)
    changed[0][0]["data"]["text/plain"] = ["2"]
    assert differences(result, changed)
