"""Reads who imports whom off a package's source, without running it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

ADDRESS = re.compile(r"blueprint(?:\.\w+)+:\w+")
"""What is imported when it is asked for, as the record of a kind says it."""


class Import(NamedTuple):
    """One imported module: who reads it, in which line, and when: at "once", in a "function", or for "types" alone."""

    reader: str
    line: int
    read: str
    when: str

    def __str__(self) -> str:
        return f"{self.reader or 'blueprint'}, line {self.line}: imports {self.read or 'blueprint'}"


def modules(source: Path) -> dict[str, Path]:
    """Lists the modules below a package's folder by dotted name, the package itself as ""."""
    dotted = {
        path: path.relative_to(source).with_suffix("").as_posix().replace("/", ".") for path in source.rglob("*.py")
    }
    return {re.sub(r"\.?__init__$", "", name): path for path, name in sorted(dotted.items())}


def imports(source: Path) -> list[Import]:
    """Lists every import below a package's folder; the package's own modules are named without it."""
    known = modules(source)
    return [found for name, path in known.items() for found in _imports_of(name, path, known, source.name)]


def _imports_of(reader: str, path: Path, known: dict[str, Path], package: str) -> Iterator[Import]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = _inner(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    guarded = (node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    types = _inner(guarded)
    for node in ast.walk(tree):
        when = "function" if node in functions else "types" if node in types else "once"
        for name in _names(node, known, package):
            yield Import(reader, getattr(node, "lineno", 0), _shortened(name, package), when)


def _inner(nodes: Iterable[ast.AST]) -> set[ast.AST]:
    return {inner for node in nodes for inner in ast.walk(node)}


def _shortened(module: str, package: str) -> str:
    return module.removeprefix(package).lstrip(".") if within(module, package) else module


def _names(node: ast.AST, known: dict[str, Path], package: str) -> list[str]:
    """Names the modules that a statement imports: `from a import b` may mean the module a.b."""
    match node:
        case ast.Import(names):
            return [alias.name for alias in names]
        case ast.ImportFrom(str() as module, names, 0):
            inner = [f"{module}.{alias.name}" for alias in names]
            return [name if name.removeprefix(f"{package}.") in known else module for name in inner]
        case ast.Constant(str() as text) if ADDRESS.fullmatch(text):
            return [text.partition(":")[0]]
        case ast.ImportFrom():
            raise AssertionError(f"line {node.lineno}: relative imports hide who reads whom")
    return []


def within(module: str, room: str) -> bool:
    """Tells whether a module is a room or lies in it."""
    return module == room or module.startswith(f"{room}.")


def cycle(found: list[Import], known: dict[str, Path]) -> list[str]:
    """Names the modules of one circle of imports, or none."""
    read: dict[str, set[str]] = {}
    for each in found:
        if each.read in known:
            read.setdefault(each.reader, set()).add(each.read)
    try:
        TopologicalSorter(read).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []
