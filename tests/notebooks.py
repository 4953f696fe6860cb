"""Runs the notebooks without Jupyter and keeps what they print in them: `python -m tests.notebooks [NAME …]`.

A cell's output is what it prints, then what its last expression comes to, then its figures, as Jupyter would show them.
Warnings and what else goes to the error stream are not kept.
"""

from __future__ import annotations

import ast
import base64
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from io import BytesIO, StringIO
from math import isclose
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent.parent / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
NEAR = 1e-9
"""How far a number may be from the one that is kept, relative to it where it is above 1: processors round exp differently."""
NUMBER = re.compile(r"(?<![\w.])[-+−]?\d+(?:,\d{3})*(?:\.\d+)?(?:[eE][-+]?\d+)?(?!\w)")
CHANGING = (
    (re.compile(r"\b0x[0-9a-f]+\b"), "0x…"),
    (re.compile(r"\b\d+(?:\.\d+)? ?(?:ms|s|seconds?|minutes?)\b"), "… s"),
)
"""What no two runs have in common, and what stands for it in a comparison: addresses in memory, and times that were taken."""

Output = dict[str, Any]


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the cells of code of a notebook."""
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def loaded(path: Path) -> dict[str, Any]:
    """Returns what a notebook's file holds."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def run(path: Path) -> list[list[Output]]:
    """Executes the cells in order, in one name space and in the current folder; returns the outputs of each."""
    os.environ.setdefault("MPLBACKEND", "Agg")
    space: dict[str, Any] = {"__name__": "__main__"}
    return [
        _outputs("".join(cell["source"]), space, f"{path.name}, code cell {number}", number)
        for number, cell in enumerate(code_cells(loaded(path)), 1)
    ]


def _outputs(source: str, space: dict[str, Any], name: str, number: int) -> list[Output]:
    """Executes a cell, its last expression apart."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = StringIO(), None
    with redirect_stdout(printed):
        exec(compile(tree, name, "exec"), space)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), name, "eval"), space)
    stream = (
        [{"name": "stdout", "output_type": "stream", "text": _lines(printed.getvalue())}] if printed.getvalue() else []
    )
    return [*stream, *_result(value, number), *_figures()]


def _result(value: object, number: int) -> list[Output]:
    """Shows what an expression comes to, as text and, where it has one, as a table."""
    if value is None:
        return []
    data = {"text/plain": _lines(repr(value))}
    if html := getattr(value, "_repr_html_", None):
        data = {"text/html": _lines(html()), **data}
    return [{"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"}]


def _figures() -> Iterator[Output]:
    """Takes the open figures, and closes them."""
    plt = sys.modules.get("matplotlib.pyplot")
    if plt is None:
        return
    for number in plt.get_fignums():
        kept = BytesIO()
        plt.figure(number).savefig(kept, format="png", dpi=70, bbox_inches="tight", metadata={"Software": None})
        picture = base64.b64encode(kept.getvalue()).decode("ascii")
        data = {"image/png": picture + "\n", "text/plain": ["<Figure>"]}
        yield {"data": data, "metadata": {}, "output_type": "display_data"}
    plt.close("all")


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def differences(kept: list[list[Output]], fresh: list[list[Output]]) -> list[str]:
    """Says where the outputs of a run differ from those that are kept: numbers beyond rounding, and all other text.

    Of a figure only its place is compared: its bytes depend on fonts and on the version of the library that draws.
    """
    if len(kept) != len(fresh):
        return [f"{len(kept)} cells are kept, {len(fresh)} were run"]
    found = []
    for number, (old, new) in enumerate(zip(kept, fresh, strict=True), 1):
        (one, other) = (list(_texts(each)) for each in (old, new))
        if [kind for kind, _ in one] != [kind for kind, _ in other]:
            found.append(f"cell {number}: kept {[kind for kind, _ in one]}, now {[kind for kind, _ in other]}")
            continue
        found += [
            f"cell {number}, {kind}: {said}"
            for (kind, a), (_, b) in zip(one, other, strict=True)
            for said in _apart(a, b)
        ]
    return found


def _texts(outputs: list[Output]) -> Iterator[tuple[str, str]]:
    """Yields the kind and the text of every output; of a picture no text."""
    for output in outputs:
        if output["output_type"] == "stream":
            yield output["name"], "".join(output["text"])
        for kind, data in output.get("data", {}).items():
            yield kind, "" if kind.startswith("image/") else "".join(data)


def _apart(kept: str, fresh: str) -> Iterator[str]:
    """Yields the lines in which two texts part."""
    for changing, mark in CHANGING:
        kept, fresh = changing.sub(mark, kept), changing.sub(mark, fresh)
    if kept == fresh:
        return
    old, new = kept.splitlines(), fresh.splitlines()
    if len(old) != len(new):
        yield f"kept {len(old)} lines, now {len(new)}"
    for one, other in zip(old, new, strict=False):
        if not _alike(one, other):
            yield f"kept “{one.strip()}”, now “{other.strip()}”"


def _alike(kept: str, fresh: str) -> bool:
    """Says whether two lines have the same text, and numbers that differ by rounding at most."""
    if NUMBER.sub("#", kept).split() != NUMBER.sub("#", fresh).split():
        return False
    pairs = zip(map(_number, NUMBER.findall(kept)), map(_number, NUMBER.findall(fresh)), strict=True)
    return all(isclose(one, other, rel_tol=NEAR, abs_tol=NEAR) for one, other in pairs)


def _number(text: str) -> float:
    return float(text.replace(",", "").replace("−", "-"))


def keep(path: Path) -> None:
    """Runs a notebook in an empty folder, and writes it with its outputs."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        outputs = run(path)
    notebook = loaded(path)
    for number, (cell, made) in enumerate(zip(code_cells(notebook), outputs, strict=True), 1):
        cell |= {"execution_count": number, "outputs": made}
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for each in NOTEBOOKS:
        if each.stem in sys.argv[1:] or not sys.argv[1:]:
            keep(each)
            print(each.name)
