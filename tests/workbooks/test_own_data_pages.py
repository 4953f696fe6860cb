"""The pages on rows of one's own: their commands, run on their examples, print what stands below them."""

from __future__ import annotations

import json
import shlex
import shutil
import tomllib
from importlib.resources import files
from math import exp, log1p
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.commands import run_command
from tests.test_docs import DOCS

pytest.importorskip("torch", reason="the pages check a workbook against torch")


class Page(NamedTuple):
    """A page, its examples, how many commands it has, and the kind whose names of columns it lists."""

    name: str
    examples: tuple[str, ...]
    commands: int
    kind: str

    @property
    def text(self) -> str:
        """The page."""
        return (DOCS / f"{self.name}.md").read_text(encoding="utf-8")

    @property
    def called(self) -> dict[str, Any]:
        """What people call columns, by what is looked for: it stands beside the code that reads rows."""
        path = files(f"blueprint.workbooks.{self.kind}") / "own_data.toml"
        found = tomllib.loads(path.read_text(encoding="utf-8"))
        return dict(found.get("columns", found))


PAGES = (
    Page("own-rollouts", ("own_rollouts.jsonl",), 5, "grpo"),
    Page("own-pairs", ("own_pairs.jsonl", "own_demonstrations.jsonl", "own_comparisons.jsonl"), 8, "dpo"),
)
ON = pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])


def example(name: str) -> list[str]:
    return (DOCS / "data" / name).read_text(encoding="utf-8").splitlines()


def commands(page: Page) -> list[tuple[list[str], list[str]]]:
    """Returns the words of each command, and the lines that stand below it."""
    found: list[tuple[list[str], list[str]]] = []
    for line in page.text.splitlines():
        if line.startswith("    $ blueprint "):
            found.append((shlex.split(line)[2:], []))
        elif line.startswith("    ") and found:
            found[-1][1].append(line.strip())
    return found


@ON
def test_the_commands_print_what_the_page_says(page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in page.examples:
        shutil.copy(DOCS / "data" / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    assert len(commands(page)) == page.commands
    for words, below in commands(page):
        told = run_command(*words)
        assert told.exit_code == 0, told.output
        assert below
        assert [line for line in below if line not in told.output] == []


@ON
def test_the_names_of_columns_on_the_page_are_known(page: Page) -> None:
    """Of each line of the table: what is looked for, and names of which the file of names has every one."""
    lines = [line.split("|")[1:3] for line in page.text.splitlines() if line.startswith("| ") and "|---" not in line][
        1:
    ]
    for what, names in lines:
        known = {name for each in what.strip().split(", ") for name in page.called[each]}
        assert {name.strip() for each in names.split(";") for name in each.split(",")} - {"…"} <= known
    assert {each for what, _ in lines for each in what.strip().split(", ")} == set(page.called)


def test_the_example_stands_on_the_page() -> None:
    assert all(row in PAGES[0].text for row in example("own_rollouts.jsonl")[:2])


def test_the_pair_that_is_done_by_hand_is_that_of_the_example() -> None:
    row = json.loads(example("own_pairs.jsonl")[0])
    sums = [sum(row[f"{name}_logprobs"]) for name in ("chosen", "ref_chosen", "rejected", "ref_rejected")]
    assert sums == pytest.approx([-1.7, -2.7, -3.8, -2.8])
    assert f"{log1p(exp(-0.1 * (sums[0] - sums[1] - sums[2] + sums[3]))):.4f}" == "0.5981"
    assert "−log σ(0.2) = 0.5981" in PAGES[1].text
