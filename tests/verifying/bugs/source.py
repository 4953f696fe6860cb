"""Pieces of a library's source files, one line of them replaced if asked, made into functions."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path
from types import CodeType
from typing import Any

FILES = {
    "verl core": "verl/trainer/ppo/core_algos.py",
    "verl functional": "verl/utils/torch_functional.py",
    "openrlhf loss": "openrlhf/models/loss.py",
    "openrlhf utils": "openrlhf/models/utils.py",
    "openrlhf maker": "openrlhf/trainer/ppo_utils/experience_maker.py",
    "trl": "trl/experimental/ppo/ppo_trainer.py",
}


class Source:
    """The files of the libraries below a folder, with one text in place of another."""

    def __init__(self, folder: Path, place: str = "", old: str = "", new: str = "") -> None:
        """Reads nothing yet. place: a file, and behind a colon the function or class in which the old text stands once."""
        self.folder, self.change = folder, (place, old, new)

    def text(self, file: str) -> str:
        """Returns a file, changed if it is the one."""
        (path,) = self.folder.rglob(FILES[file])
        text = path.read_text(encoding="utf-8")
        place, old, new = self.change
        changed, _, name = place.partition(": ")
        if file != changed:
            return text
        start, end = _span(text, name)
        count = text.count(old, start, end)
        assert count == 1, f"{old!r} stands {count} times in {place}"
        return text[:start] + text[start:end].replace(old, new) + text[end:]

    def names(self, file: str, names: tuple[str, ...], known: dict[str, Any]) -> dict[str, Any]:
        """Returns functions, classes and methods of a file, without their decorators, executed with known names."""
        for node in ast.walk(ast.parse(self.text(file))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in names:
                node.decorator_list = []
                exec(_code(node), known)
        assert set(names) <= set(known), set(names) - set(known)
        return known

    def lines(self, file: str, first: str, last: str) -> CodeType:
        """Returns the lines of a file from one to another, both of them included, out of the loop that they stand in."""
        text = self.text(file)
        start = text.rindex("\n", 0, text.index(first)) + 1
        end = text.index("\n", text.index(last, start))
        return compile(textwrap.dedent(text[start:end]), file, "exec")


def _span(text: str, name: str) -> tuple[int, int]:
    """Returns where a function or class of a file begins and ends; the whole file without a name."""
    found = [node for node in ast.walk(ast.parse(text)) if getattr(node, "name", None) == name]
    if not name:
        return 0, len(text)
    lines = text.splitlines(keepends=True)
    first, last = found[0].lineno - 1, found[0].end_lineno  # type: ignore[attr-defined]
    return len("".join(lines[:first])), len("".join(lines[:last]))


def _code(node: ast.stmt) -> CodeType:
    for each in ast.walk(node):
        if isinstance(each, ast.FunctionDef):
            each.returns = None
            each.decorator_list = []
            for argument in [*each.args.args, *each.args.kwonlyargs]:
                argument.annotation = None
    return compile(ast.fix_missing_locations(ast.Module([node], [])), "library", "exec")
