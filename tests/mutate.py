"""One-line mutations of the package, made by a program: which of them do the tests of their room see?

`python -m tests.mutate 40 --seed 7` draws operators, constants and conditions of `blueprint/`, changes one after the other in a
copy of the repository, and runs the test files that say most of its module, the nearest first, until one fails. Of one that they
do not see, `--only 13 --by tests/verifying/test_misplaced.py` asks a file further away.
"""

from __future__ import annotations

import ast
import random
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import click

ROOT = Path(__file__).parent.parent
OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
    ast.And: ast.Or, ast.Or: ast.And, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}  # fmt: skip
"""By operator the one that stands there instead."""
FAR, FEW = 3, 4
"""Over how many modules a test may read what is changed, and so many readers of a module are few."""
REBUILT = tuple(
    f"tests/test_workbooks.py::test_a_rebuild_gives_the_same_parts[{name}.xlsx]" for name in ("by-hand", "grpo")
)
"""Two workbooks are built again and compared: they see much of what a change of what writes them does, at once."""
FILES, SECONDS = 12, 60
"""Test files that are run at most for a mutation, and the seconds of a processor that they have together."""


@dataclass(frozen=True)
class Mutation:
    """A change of one expression. start, end: its bytes in the file. within: the function around it."""

    path: Path
    line: int
    start: int
    end: int
    new: str
    within: str

    @property
    def text(self) -> bytes:
        """The file with the change."""
        source = self.path.read_bytes()
        return source[: self.start] + self.new.encode() + source[self.end :]

    def __str__(self) -> str:
        """Says what is changed, and where."""
        old = " ".join(self.path.read_bytes()[self.start : self.end].decode().split())
        return f"{self.path.relative_to(ROOT)}:{self.line}  {old[:60]}  →  {self.new[:60]}"


def mutated(node: ast.AST) -> ast.AST | None:
    """Returns an expression with its own operator or constant changed, None where there is none."""
    match node:
        case ast.BinOp(left, op, right) if type(op) in OPERATORS:
            return ast.BinOp(left, OPERATORS[type(op)](), right)  # type: ignore[arg-type]
        case ast.BoolOp(op, values):
            return ast.BoolOp(OPERATORS[type(op)](), values)  # type: ignore[arg-type]
        case ast.Compare(left, [op], [right]):
            return ast.Compare(left, [OPERATORS[type(op)]()], [right])  # type: ignore[list-item]
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            return operand
        case ast.IfExp(test, body, orelse):
            return ast.IfExp(test, orelse, body)
        case ast.Constant(bool() as value):
            return ast.Constant(not value)
        case ast.Constant(int() | float() as value):
            return ast.Constant(value + 1)
    return None


def mutations(path: Path) -> Iterator[Mutation]:
    """Yields every mutation of a file; annotations and what only a type checker reads are left as they are."""
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def walk(node: ast.AST, within: str) -> Iterator[Mutation]:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            within = node.name
        if isinstance(node, ast.expr) and (other := mutated(node)) is not None:
            start, end = (
                starts[node.lineno - 1] + node.col_offset,
                starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0),
            )
            yield Mutation(path, node.lineno, start, end, f"({ast.unparse(ast.fix_missing_locations(other))})", within)
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)):
            return  # places within an f-string are not those of the file
        if isinstance(node, ast.keyword) and node.arg == "frozen":
            return  # nothing writes into what is frozen
        for name, value in ast.iter_fields(node):
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, ast.AST) and name not in ("annotation", "returns", "op", "ops"):
                    yield from walk(each, within)

    yield from walk(ast.parse(source), "")


@cache
def imports() -> dict[str, str]:
    """Returns the text of every module of the package, by its dotted name."""
    files = sorted((ROOT / "blueprint").rglob("*.py"))
    return {dotted(path): path.read_text(encoding="utf-8") for path in files}


def dotted(path: Path) -> str:
    """Returns the name by which a module is imported."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@cache
def tests() -> dict[Path, str]:
    """Returns the text of every test file."""
    return {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / "tests").rglob("test_*.py"))}


@cache
def readers(module: str) -> tuple[frozenset[str], frozenset[Path]]:
    """Returns the modules of the package and the test files that import a module."""
    modules = frozenset(name for name, text in imports().items() if name != module and reads(text, module))
    return modules, frozenset(path for path, text in tests().items() if reads(text, module))


def near(module: str) -> dict[Path, float]:
    """Returns how near test files are that import a module, or one that does: nearer, the fewer files do."""
    found: dict[Path, float] = {}
    seen, new, share = {module}, {module}, 1.0
    for _ in range(FAR):
        for name in new:
            for path in readers(name)[1]:
                found[path] = max(found.get(path, 0.0), share * min(1.0, FEW / len(readers(name)[1])))
        new = {each for name in new for each in readers(name)[0]} - seen
        seen, share = seen | new, share / 2
    return found


def reads(text: str, module: str) -> bool:
    """Tells whether a file imports a module."""
    package, _, name = module.rpartition(".")
    return bool(re.search(rf"{re.escape(module)}\b|from {re.escape(package)} import .*\b{name}\b", text))


def nearest(mutation: Mutation) -> list[Path]:
    """Returns the test files that say most of the mutated function and its module, of its own room first.

    What stands in a workbook is seen first where all committed workbooks are built again; pages of papers, and what they read of
    a file, where all are compared.
    """
    module = dotted(mutation.path)
    room = module.split(".")[1]
    first = {"workbooks": ["test_workbooks.py"], "papers": ["papers/test_pages.py"]}.get(room, [])
    if module.endswith(".paper"):
        first = ["papers/test_lessons.py", "papers/test_pages.py"]
    if any(part in module for part in (".verifying", ".dumps", ".own_data", "notation", "misconceptions")):
        first = []
    imported = near(module)
    words = words_of(module.split(".")[1:]) - words_of(["common", "workbooks", "definitions", "checks"])
    naming = {path for path, text in tests().items() if re.search(rf"\b{mutation.within or '-'}\b", text)}
    points = {
        path: 8 * (path in naming and len(naming) < 12)
        + 10 * imported.get(path, 0.0)
        + 12 * (path.stem.removeprefix("test_") == mutation.path.stem and room in path.parts)
        + 3 * len(words & words_of(path.relative_to(ROOT).with_suffix("").parts))
        + 20 * (first[::-1].index(name) + 1 if (name := path.relative_to(ROOT / "tests").as_posix()) in first else 0)
        for path, text in tests().items()
        if "benchmarks" not in path.parts
    }
    found = sorted((path for path in points if points[path]), key=lambda path: (-points[path], len(tests()[path])))
    return found[:FILES]


def words_of(names: Iterable[str]) -> set[str]:
    """Returns the beginnings of the words of names: classes, class_grade and test_class are of one room."""
    return {word[:5] for name in names for word in name.split("_")}


def ran(copy: Path, tests: Iterable[str], *options: str, seconds: int = SECONDS) -> subprocess.CompletedProcess[str]:
    """Runs tests in a copy of the repository, for so many seconds of a processor."""
    return subprocess.run(
        [sys.executable, "-B", "-m", "pytest", *options, "-q", "-n", "0", "-p", "no:cacheprovider", "--tb=no", *tests],
        cwd=copy,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(copy), "OMP_NUM_THREADS": "1", "COLUMNS": "400"},
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds)),
    )


def failing(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Returns the tests that failed in a run."""
    lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return [line.partition(" ")[2].partition(" - ")[0] for line in lines]


def outcome(mutation: Mutation, copy: Path, by: Sequence[str]) -> tuple[str, str]:
    """Runs tests on a copy in which the mutation is made; returns which of them sees it, or "", and what is said of it.

    by: their files; none: the nearest.
    """
    place = copy / mutation.path.relative_to(ROOT)
    files = by or [str(path.relative_to(ROOT)) for path in nearest(mutation)]
    kept = place.read_bytes()
    place.write_bytes(mutation.text)
    built = REBUILT if not by and dotted(mutation.path).split(".")[1] in ("language", "page", "workbooks") else ()
    try:
        done = ran(copy, [*built, *files], "-x", seconds=SECONDS * (5 if by else 1))
    finally:
        place.write_bytes(kept)
    if done.returncode == 0:
        return "", f"NOT SEEN by {done.stdout.splitlines()[-1]} of {', '.join(files)}"
    first = next(iter(failing(done)), "")
    return first, f"seen: {first}" if first else f"NOT SEEN within {SECONDS} s of {', '.join(files)}"


def sample(count: int, seed: int, under: str) -> list[Mutation]:
    """Draws mutations, each file as often as it has expressions that can be changed."""
    files = sorted(path for path in (ROOT / "blueprint").rglob("*.py") if under in path.relative_to(ROOT).as_posix())
    every = [mutation for path in files for mutation in mutations(path)]
    return random.Random(seed).sample(every, min(count, len(every)))


@click.command()
@click.argument("count", type=int)
@click.option("--seed", default=7)
@click.option("--skip", default=0, help="how many of them are left out, as they were run before")
@click.option("--only", default=0, help="the number of one that is run alone")
@click.option("--by", multiple=True, help="a test file that is run instead of the nearest, five times as long")
@click.option("--under", default="blueprint/", help="a part of the paths from which mutations are drawn")
def main(count: int, seed: int, skip: int, only: int, by: Sequence[str], under: str) -> None:
    """Draws mutations and prints for each whether the tests of its room see it, and which of these fail without one, too."""
    drawn, seen = [*enumerate(sample(count, seed, under), 1)][skip:], list[str]()
    drawn = [each for each in drawn if only in (0, each[0])]
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "repository"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".git", "__pycache__", "build", ".*_cache"))
        for number, mutation in drawn:
            test, said = outcome(mutation, copy, by)
            seen += [test] if test else []
            click.echo(f"{number:3}  {mutation}\n     {said}")
        sighted = dict.fromkeys(each for each in seen if "::" in each)  # else a file could not even be imported
        for test in failing(ran(copy, sighted, seconds=SECONDS * len(sighted))) if sighted else ():
            click.echo(f"{test} fails without a mutation, too: it sees none")
            seen = [each for each in seen if each != test]
    click.echo(f"{len(seen)} of {len(drawn)} mutations are seen")


if __name__ == "__main__":
    main()
