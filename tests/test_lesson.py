"""What a lecturer adopts: lesson plan, objectives, criteria, licence and citation say what is so."""

from __future__ import annotations

import re
import tomllib
from math import exp, log1p

import pytest

from blueprint.inputs import load
from blueprint.workbooks import blueprint_of
from tests.lesson import PAGE, PARTS, STEPS, shown, written
from tests.test_docs import DOCS
from tests.test_index import BUILT_IN, NOTEBOOKS

ROOT = DOCS.parent
PLAN = PAGE.read_text(encoding="utf-8")
OBJECTIVES = (DOCS / "objectives.md").read_text(encoding="utf-8")
FIRST = "One page"
"""The sheet that shows the computation at a glance; a workbook may not have it yet."""


def test_every_number_of_the_lesson_is_that_of_the_workbooks() -> None:
    assert written(PLAN) == PLAN, "write it anew: python -m tests.lesson"
    assert len(PARTS) == 5


def test_a_wrong_number_would_be_seen() -> None:
    assert "| ρ·A | 0.9 |" in PLAN
    assert written(PLAN.replace("| ρ·A | 0.9 |", "| ρ·A | 0.8 |")) == PLAN
    with pytest.raises(LookupError):
        written(PLAN.replace("<!-- pairs -->", ""))


def test_the_table_has_exp_and_sigma() -> None:
    rows = {row[0]: row[1:] for row in _rows(PLAN) if row[0] in ("d", "exp(d)", "σ(d)", "−ln σ(d)")}
    steps = [float(each.replace("−", "-")) for each in rows["d"]]
    assert steps == STEPS
    assert rows["exp(d)"] == [f"{exp(d):.3f}" for d in steps]
    assert rows["σ(d)"] == [f"{1 / (1 + exp(-d)):.3f}" for d in steps]
    assert rows["−ln σ(d)"] == [f"{log1p(exp(-d)):.3f}" for d in steps]


@pytest.mark.parametrize(
    ("number", "text"), [(0.0, "0"), (-0.0, "0"), (-0.25, "−0.25"), (1.0004, "1"), (-0.00001, "0")]
)
def test_numbers_are_written_short(number: float, text: str) -> None:
    assert shown(number) == text


def _rows(page: str) -> list[list[str]]:
    """Returns the cells of every line of every table."""
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in page.splitlines() if row.startswith("|")]


@pytest.mark.parametrize("whole", [90, 20])
def test_the_minutes_of_a_lesson_follow_one_another(whole: int) -> None:
    part = PLAN[PLAN.index(f"## {whole} minutes") :].split("\n## ")[0].replace("–", "-")
    spans = [tuple(map(int, found)) for found in re.findall(r"^\| (\d+)-(\d+) \|", part, flags=re.MULTILINE)]
    assert [start for start, _ in spans] == [0, *(end for _, end in spans[:-1])]
    assert spans[-1][1] == whole


def _sheets_named() -> list[tuple[str, str]]:
    """Lists each workbook and sheet of the plans' third column: `by-hand` behind a sheet says whose it is, else the default's."""
    plans = (row for row in _rows(PLAN[: PLAN.index("## The exercise")]) if len(row) == 4 and row[0][:1].isdigit())
    parts = (part for row in plans for part in row[2].split(";"))
    return [
        ("".join(re.findall(r"`([\w-]+)`", part)) or "default", title)
        for part in parts
        for title in re.findall(r"\*([^*]+)\*", part)
    ]


def test_every_sheet_that_a_lesson_names_is_there() -> None:
    named = _sheets_named()
    sheets = {of: {FIRST, *(sheet.title for sheet in blueprint_of(load(of)).sheets)} for of, _ in named}
    assert len(sheets) == 4
    assert [(of, title) for of, title in named if title not in sheets[of]] == []
    assert len(named) > 12


def test_every_workbook_and_every_notebook_has_an_objective() -> None:
    workbooks = [row[0].strip("`") for row in _rows(OBJECTIVES) if row[0].startswith("`")]
    notebooks = re.findall(r"\.\./notebooks/([\w-]+)\.ipynb", OBJECTIVES)
    assert sorted(workbooks) == sorted(BUILT_IN)
    assert sorted(notebooks) == sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))
    first = {name for row in _rows(OBJECTIVES) if len(row) == 3 for name in re.findall(r"`([\w/-]+)`", row[2])}
    assert first <= BUILT_IN


def test_the_citation_names_this_version() -> None:
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for line in (
        "cff-version: 1.2.0", f"version: {project['version']}", f'  - name: "{project["authors"][0]["name"]}"',
        f"  - {project['license']}", "  - CC-BY-4.0",
    ):  # fmt: skip
        assert f"\n{line}\n" in f"\n{cited}"


def test_the_licence_of_the_content_is_there_whole_and_the_readme_names_it() -> None:
    text = (ROOT / "LICENSE-CONTENT").read_text(encoding="utf-8")
    sections = [f"Section {number} -- " for number in range(1, 9)]
    assert [each for each in sections if each not in text] == []
    assert "Creative Commons Attribution 4.0 International Public" in text
    assert "](LICENSE-CONTENT)" in (ROOT / "README.md").read_text(encoding="utf-8").splitlines()[-1]


def test_the_page_of_criteria_answers_every_criterion_of_the_checklist() -> None:
    page = (DOCS / "jose.md").read_text(encoding="utf-8")
    asked = (
        "Repository", "Licence", "Version", "Authorship", "Installation", "Functionality", "Performance", "Statement of need",
        "Usage", "Automated tests", "Community guidelines", "Learning objectives", "Content, scope and length", "Pedagogy",
        "Content quality", "Instructional design", "References",
    )  # fmt: skip
    heads = [row[0] for row in _rows(page)]
    assert [each for each in asked if not any(head.startswith(each) for head in heads)] == []
    assert [row for row in _rows(page) if len(row) == 2 and not row[1]] == []
