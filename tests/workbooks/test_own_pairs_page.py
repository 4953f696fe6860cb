"""The page Your own pairs, demonstrations and rankings: its commands, run on its examples, print what stands below them."""

from __future__ import annotations

import json
import shlex
import shutil
from math import exp, log1p
from pathlib import Path

import pytest
from click.testing import CliRunner

from blueprint.cli import main
from blueprint.workbooks.dpo.own_data import TABLE
from tests.test_docs import DOCS

pytest.importorskip("torch", reason="the page checks a workbook against torch")

PAGE = (DOCS / "own-pairs.md").read_text(encoding="utf-8")
EXAMPLES = ("own_pairs.jsonl", "own_demonstrations.jsonl", "own_comparisons.jsonl")


def commands() -> list[tuple[list[str], list[str]]]:
    """Returns the words of each command, and the lines that stand below it."""
    found: list[tuple[list[str], list[str]]] = []
    for line in PAGE.splitlines():
        if line.startswith("    $ blueprint "):
            found.append((shlex.split(line)[2:], []))
        elif line.startswith("    ") and found:
            found[-1][1].append(line.strip())
    return found


def test_the_commands_print_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in EXAMPLES:
        shutil.copy(DOCS / "data" / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    assert len(commands()) == 8
    for words, below in commands():
        told = CliRunner().invoke(main, words)
        assert told.exit_code == 0, told.output
        assert below
        assert [line for line in below if line not in told.output] == []


def test_the_pair_that_is_done_by_hand_is_that_of_the_example() -> None:
    row = json.loads((DOCS / "data" / EXAMPLES[0]).read_text(encoding="utf-8").splitlines()[0])
    sums = [sum(row[f"{name}_logprobs"]) for name in ("chosen", "ref_chosen", "rejected", "ref_rejected")]
    assert sums == pytest.approx([-1.7, -2.7, -3.8, -2.8])
    assert f"{log1p(exp(-0.1 * (sums[0] - sums[1] - sums[2] + sums[3]))):.4f}" == "0.5981"
    assert "−log σ(0.2) = 0.5981" in PAGE


def test_the_names_of_columns_on_the_page_are_known() -> None:
    """Of each line of the table: what is looked for, and names of which the file of names has every one."""
    lines = [line.split("|")[1:3] for line in PAGE.splitlines() if line.startswith("| ") and "|---" not in line][1:]
    for what, names in lines:
        known = {name for each in what.strip().split(", ") for name in TABLE.columns[each]}
        assert {name.strip() for each in names.split(";") for name in each.split(",")} - {"…"} <= known
    assert {each for what, _ in lines for each in what.strip().split(", ")} == set(TABLE.columns)
