"""The readers of pages share names of quantities and options with the definitions: never a number, a text, an order, or code."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import blueprint

SOURCE = Path(blueprint.__file__).parent
WITNESS = (SOURCE / "witness", *(SOURCE / "workbooks").rglob("paper.py"))
SMALL = {0, 1, 2, 0.5}
"""Numbers that mathematics has and nobody chooses."""
MAY_SHARE = dict[float, str]()
"""Numbers that both sides have, each with the reason; there is none."""
LEAST_WORDS, LEAST_NAMES = 5, 4
"""Words that make a sentence; names whose order is somebody's choice, not that of the alphabet or of time."""


def sides() -> tuple[list[Path], list[Path]]:
    """Returns the files of the witness, and those of the definitions, TOML included."""
    files = [*(SOURCE / "workbooks").rglob("*.py"), *(SOURCE / "witness").rglob("*.py")]
    ours = [path for path in files if any(path == room or room in path.parents for room in WITNESS)]
    return ours, [*(set(files) - set(ours)), *(SOURCE / "workbooks").rglob("*.toml")]


@cache
def nodes(path: Path) -> list[ast.AST]:
    """Returns the nodes of a file's tree; every test asks for those of all files."""
    return [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))] if path.suffix == ".py" else []


@cache
def constants(path: Path) -> list[Any]:
    """Returns every constant that stands in a file."""
    if path.suffix == ".toml":
        return [*values(tomllib.loads(path.read_text(encoding="utf-8")))]
    return [node.value for node in nodes(path) if isinstance(node, ast.Constant)]


def values(found: Any) -> Iterator[Any]:
    """Yields what stands in a table of TOML, however deep."""
    if isinstance(found, dict | list):
        for each in found.values() if isinstance(found, dict) else found:
            yield from values(each)
    else:
        yield found


@cache
def sentences(path: Path) -> set[str]:
    """Returns the sentences of all texts of a file, docstrings too, without what stands between their words."""
    texts = (each for each in constants(path) if isinstance(each, str) and " " in each)
    parts = (re.findall(r"\w+", part.lower()) for text in texts for part in re.split(r"[.:;\n]\s", text))
    return {" ".join(words) for words in parts if len(words) >= LEAST_WORDS}


def numbers(path: Path) -> set[float]:
    """Returns the numbers that stand in a file of code."""
    found = constants(path) if path.suffix == ".py" else []
    return {each for each in found if isinstance(each, int | float) and not isinstance(each, bool)}


@cache
def orders(path: Path) -> set[tuple[str, ...]]:
    """Returns the runs of words of a file, as long as an order that somebody chose, in tuples and lists."""
    runs = set()
    for node in nodes(path):
        parts = node.elts if isinstance(node, ast.Tuple | ast.List) else []
        words = [part.value if isinstance(part, ast.Constant) else None for part in parts]
        windows = zip(*(words[first:] for first in range(LEAST_NAMES)), strict=False)
        runs |= {run for run in windows if all(isinstance(word, str) for word in run)}
    return runs


def both(kind: Callable[[Path], set[Any]], ours: list[Path], theirs: list[Path]) -> set[Any]:
    """Returns what of a kind stands on both sides."""
    return set().union(*map(kind, ours)) & set().union(*map(kind, theirs))


def shared(ours: list[Path], theirs: list[Path]) -> dict[str, set[Any]]:
    """Returns what stands on both sides, and may not."""
    return {
        "sentences": both(sentences, ours, theirs),
        "numbers": both(numbers, ours, theirs) - SMALL - MAY_SHARE.keys(),
        "orders": both(orders, ours, theirs),
    }


def test_nothing_but_names_is_shared() -> None:
    ours, theirs = sides()
    assert len(ours) > 12
    assert len(theirs) > 100
    assert shared(ours, theirs) == {"sentences": set(), "numbers": set(), "orders": set()}


def test_what_may_be_shared_is() -> None:
    """An exception that nobody needs goes."""
    ours, theirs = sides()
    assert MAY_SHARE.keys() <= both(numbers, ours, theirs)


@pytest.mark.parametrize(
    ("planted", "kind", "found"),
    [
        ('"""Keeps the critic\'s number on the response alone, so that none leaks in from behind the end."""', "sentences",
         "keeps the critic s number on the response alone so that none leaks in from behind the end"),
        ("LIMIT = 16_000", "numbers", 16_000),
        ('ROWS = ("mean", "centred", "variance", "whitened")', "orders", ("mean", "centred", "variance", "whitened")),
    ],
    ids=["a text", "a number", "an order"],
)  # fmt: skip
def test_a_planted_breach_is_seen(tmp_path: Path, planted: str, kind: str, found: object) -> None:
    """What is planted stands on both sides then."""
    ours, theirs = sides()
    copies = [tmp_path / name for name in ("witness.py", "definitions.py")]
    for path in copies:
        path.write_text(f"{planted}\n", encoding="utf-8")
    assert shared([*ours, copies[0]], [*theirs, copies[1]])[kind] == {found}


def test_the_witness_runs_without_a_line_of_the_definitions() -> None:
    """Imported alone in a fresh process, with every kind's witness, it brings in nothing of another room but pages of papers."""
    pytest.importorskip("torch", reason="the witness needs torch: install the extra [torch]")
    ours = [path.relative_to(SOURCE.parent).with_suffix("") for path in sides()[0]]
    names = sorted(".".join(path.parts).removesuffix(".__init__") for path in ours)
    code = "import importlib, sys, blueprint.workbooks\nbefore = set(sys.modules)\n"
    code += f"for name in {names}: importlib.import_module(name)\nprint(*sorted(set(sys.modules) - before))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    brought = {name for name in run.stdout.split() if name.startswith("blueprint.")}
    brought = {name for name in brought if not name.startswith("blueprint.papers")}
    folders = (path.parent.relative_to(SOURCE.parent) for path in WITNESS[1:])
    kinds = {".".join(folder.parts) for folder in folders}  # which hold nothing themselves
    papers = {name for name in brought if name.startswith("blueprint.papers")}  # who read nothing of ours
    assert brought - set(names) - kinds - papers == set()
