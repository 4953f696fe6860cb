"""The walls between the rooms: who may import whom, and how long and how well explained what is read may be."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import blueprint
from tests.imports import Import, cycle, imports, modules, within

SOURCE = Path(blueprint.__file__).parent
REPOSITORY = Path(__file__).parents[1]

# What each room, or module outside the rooms, may read of the others; "" is the package's own front door.
KERNEL = ("language", "page.outline", "quoting")
MAY_READ = {
    "language": ("language",),
    "quoting": (),
    "page": ("files", "page", "language", "quoting"),
    "inputs": ("inputs", "quoting", "files", "scenarios", "workbooks.registry"),
    "scenarios": (),
    "workbooks.registry": ("workbooks.common", "workbooks.kind", *KERNEL),
    "workbooks.kind": ("verifying.verdict", "workbooks.common", *KERNEL),
    "misconceptions": ("misconceptions", "workbooks.kind", *KERNEL),
    "workbooks.common": ("workbooks.common", "inputs", "misconceptions", "files", *KERNEL),
    "dumps": ("workbooks.common.conventions", "workbooks.registry", "dumps", "inputs", "quoting", "files"),
    "verifying": (
        "language", "misconceptions.mechanical", "misconceptions.rewriting", "workbooks.common", "workbooks.registry", "dumps",
        "inputs", "quoting", "verifying",
    ),
    "cluster": (),
    "dump_comparison": ("dump_comparison", "dumps", "inputs", "quoting", "verifying"),
    "verifying.runs": ("cluster", "dumps", "files", "interrupted", "quoting", "verifying"),
    "papers": ("papers",),
    "witness": ("papers", "witness"),
    "checking": (
        "checking", "language", "misconceptions", "page", "quoting", "reopening", "witness", "workbooks.kind", "workbooks.registry",
    ),
    "training": ("cluster", "files", "inputs", "papers", "quoting", "training", "web"),
    "labs": ("files", "inputs", "labs", "language", "papers", "quoting"),
    "explaining": ("book", "explaining", "language", "page"),
    "book": ("asked", "book", "explaining", "language", "page", "title_card", "web"),
    "reopening": (
        "book", "explaining", "inputs", "language", "page", "quoting", "reopening", "workbooks.common", "workbooks.kind",
        "workbooks.registry", "worksheets",
    ),
    "differing": ("book", "differing", "explaining", "inputs", "language", "page", "quoting", "reopening"),
    "classes": (
        "book", "classes", "cluster", "inputs", "interrupted", "language", "misconceptions", "page", "files", "quoting",
        "workbooks.common", "workbooks.kind", "workbooks.registry", "worksheets",
    ),
    "worksheets": ("book", "explaining", "language", "page.blanks", "page.outline", "files", "worksheets"),
    "cli": ("commands",),
    "commands": (
        "book", "checking", "classes", "commands", "cluster", "comparison", "differing", "dump_comparison", "dumps", "explaining",
        "files", "inputs", "interrupted", "labs", "language", "page", "quoting", "reopening", "scenarios", "training", "verifying",
        "web", "witness", "workbooks.common", "workbooks.kind", "workbooks.registry", "worksheets",
    ),
    "comparison": ("book", "inputs", "comparison", "workbooks.common.conventions", "workbooks.registry"),
    "web": ("files", "language", "misconceptions", "page.outline", "web", "workbooks.registry"),
    "files": (),
    "asked": (),
    "__main__": ("cli",),
    "api": (
        "asked", "workbooks.kind", "book", "checking", "comparison", "dump_comparison", "dumps", "inputs", "labs", "reopening",
        "training", "verifying", "workbooks.registry", "worksheets",
    ),
    "notation": ("book", "language"),
    "title_card": ("book", "language"),
    "": ("api", "book", "interrupted", "language", "moved", "notation", "workbooks.registry"),
    "interrupted": (),
    "moved": (),
    "workbooks": ("workbooks.kind", "workbooks.registry"),
}  # fmt: skip
KINDS = sorted({path.parent.name for path in (SOURCE / "workbooks").glob("*/__init__.py")} - {"common"})
# Kinds meet in common alone; a kind's witness knows nothing of its definitions.
MAY_READ |= {
    f"workbooks.{kind}": (f"workbooks.{kind}", *MAY_READ["workbooks.common"], "reopening.saved", "workbooks.kind")
    for kind in KINDS
}
MAY_READ |= {f"workbooks.{kind}.paper": ("papers", "witness") for kind in (*KINDS, "rlhf_ppo.minibatch")}
MAY_READ["workbooks.rlhf_ppo.paper"] += ("workbooks.rlhf_ppo.minibatch.paper",)
# A kind reads its own dumps, and has them verified, through the rooms that do so for all kinds.
MAY_READ |= {
    f"workbooks.{kind}.{part}": (*MAY_READ[f"workbooks.{kind}"], "dumps", *more)
    for kind in ("rlhf_ppo", "classic_ppo", "grpo", "dpo", "kto", "reward_model", "sft")
    for part, more in (
        ("dumps", ()),
        ("verifying", ("papers", "verifying", "witness")),
    )
}
# Who alone may import a package.
KEEPERS = {
    "xlsxwriter": ("page.write", "page.one_page.canvas", "classes", "training.workbook"),
    "openpyxl": ("page.read", "page.saved_file"),
    "ironcalc": ("page.engine",),
    "jinja2": ("classes.html_page", "training.page"),
    "click": ("cli", "commands"),
    "pyarrow": ("dumps.formats",),
    "safetensors": ("dumps.formats",),
    "pydantic": ("classes", "inputs", "labs.settings", "training.run_toml", "workbooks", "worksheets"),
    "torch": (
        "labs",
        "papers",
        "training",
        "witness",
        "verifying",
        "dumps.formats",
        "book",
        "language.evaluate_torch",
        *(f"workbooks.{kind}.{part}" for kind in (*KINDS, "rlhf_ppo.minibatch") for part in ("paper", "verifying")),
    ),
    "ray": ("cluster",),
    "gymnasium": ("labs.agent_and_rollout",),
    "stable_baselines3": ("labs.stable_baselines",),
    "matplotlib": ("files", "labs.study", "training.summary_and_plot", "verifying.runs.report", "worksheets.handout"),
}
LONGEST_FILE, LONGEST_FUNCTION = 500, 60
"""Lines that a file, and a function, may have: room for one idea from top to bottom, so that nothing is sliced for it."""
ONE_SCREEN = {"ppo.py": 100}
"""Files whose function is a whole method, one equation a line: it is there to be read in one go."""


MOST_SIBLINGS = 3
READS_MANY = {
    "", "api", "book", "checking.checker", "checking.verdicts", "classes.grading", "classes.grading_policy", "classes.making",
    "classes.marking", "classes.results_folder", "classes.worker", "differing", "dumps",
    "dumps.formats.open_and_save", "dumps.own_kind", "dumps.read",
    "inputs", "inputs.load", "inputs.write", "language", "language.cells", "language.evaluate",
    "language.evaluate_torch",
    "language.lost", "language.making", "language.packed", "language.recurrence", "language.schedule",
    "language.values", "language.vectorise",
    "misconceptions", "misconceptions.wrong_numbers", "page.blanks", "page.cells", "page.charts", "page.contents",
    "page.formulas", "page.layout", "page.moved_cells", "page.one_page.paint", "page.placing", "page.read",
    "page.sheet_setup", "page.sizes", "page.steps", "page.views", "page.walk", "page.write", "training.on_ray", "training.run",
    "verifying",
    "verifying.equations", "verifying.in_memory", "verifying.other_forms", "verifying.small_kind",
    "verifying.trials", "verifying.verdict",
    "workbooks.common", "workbooks.common.workbook",
    "workbooks.grpo.definitions", "workbooks.grpo.verifying.verify",
    "workbooks.rlhf_ppo.workbook", "workbooks.rlhf_ppo.verifying",
    "workbooks.rlhf_ppo.verifying.causes", "workbooks.rlhf_ppo.verifying.trial", "workbooks.rlhf_ppo.verifying.verify",
    "worksheets", "worksheets.making",
}  # fmt: skip
"""Modules that read more than so many of their own folder: doors, and what puts the pieces of a room together."""


def breaches(found: list[Import], known: dict[str, Path]) -> list[Import]:
    """Lists the imports that go through a wall."""
    return [each for each in found if not (_may_read(each) if each.read in known else _may_use(each))]


def _may_read(each: Import) -> bool:
    return any(within(each.read, allowed) for allowed in MAY_READ[room_of(each.reader)])


def room_of(module: str) -> str:
    """Names the innermost room of a module that has walls of its own."""
    return max((room for room in MAY_READ if within(module, room) or not room), key=len)


def _may_use(each: Import) -> bool:
    package = each.read.partition(".")[0]
    ours = sys.stdlib_module_names | {"numpy"} | ({"torch"} if each.reader == "language.evaluate_torch" else set())
    if each.reader.startswith("language") and package not in ours:
        return False
    return package not in KEEPERS or any(within(each.reader, keeper) for keeper in KEEPERS[package])


def test_no_room_reads_through_a_wall() -> None:
    assert [str(each) for each in breaches(imports(SOURCE), modules(SOURCE))] == []


def test_every_room_has_its_walls() -> None:
    assert [name for name in modules(SOURCE) if name and not room_of(name)] == []


def test_modules_import_each_other_in_no_circle() -> None:
    """An import moved into a function hides a circle but does not undo it; types alone may name each other."""
    known, found = modules(SOURCE), imports(SOURCE)
    assert cycle([each for each in found if each.when == "once"], known) == []
    assert cycle([each for each in found if each.when != "types"], known) == []


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("language/a.py", "from blueprint.page import grid"),
        ("labs/cart_pole.py", "import gymnasium"),
        ("labs/agent_and_rollout.py", "from blueprint.workbooks.classic_ppo import rollout"),
        ("language/a.py", "import pandas"),
        ("language/evaluate.py", "import torch"),
        ("language/a.py", "def f():\n    import scipy.special"),
        ("inputs/a.py", "from blueprint.language import Axis"),
        ("workbooks/common/a.py", "from blueprint.page.layout import Layout"),
        ("workbooks/classic_ppo/a.py", "import blueprint.workbooks.rlhf_ppo.steps"),
        ("page/a.py", "def f():\n    from blueprint import inputs"),
        ("page/a.py", "from blueprint.workbooks import blueprint_of"),
        ("page/a.py", "import xlsxwriter.utility"),
        ("page/write.py", "from openpyxl import load_workbook"),
        ("book.py", "from blueprint.workbooks import blueprint_of"),
        ("cli.py", "class A:\n    def f(self):\n        import torch"),
    ],
)
def test_a_planted_breach_is_seen(tmp_path: Path, module: str, line: str) -> None:
    source = tmp_path / "blueprint"
    for original in modules(SOURCE).values():
        path = source / original.relative_to(SOURCE)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (source / module).write_text(line, encoding="utf-8")
    assert len(breaches(imports(source), modules(source))) == 1


def test_a_planted_circle_is_seen(tmp_path: Path) -> None:
    source = tmp_path / "blueprint"
    source.mkdir()
    for name, read in (("a", "b"), ("b", "c"), ("c", "a")):
        (source / f"{name}.py").write_text(f"def f():\n    from blueprint.{read} import x\n", encoding="utf-8")
    assert sorted(set(cycle(imports(source), modules(source)))) == ["a", "b", "c"]
    assert cycle([each for each in imports(source) if each.when == "once"], modules(source)) == []


def siblings(found: list[Import]) -> dict[str, set[str]]:
    """Returns by module which others of its own folder it reads."""
    known = modules(SOURCE)
    read: dict[str, set[str]] = {}
    folder = {name: name if path.name == "__init__.py" else name.rpartition(".")[0] for name, path in known.items()}
    for each in found:
        inside = each.read in known and each.read.rpartition(".")[0] == folder[each.reader]
        if inside and each.read not in ("", each.reader):
            read.setdefault(each.reader, set()).add(each.read)
    return read


def test_a_module_reads_few_of_its_own_folder() -> None:
    """Else one idea was sliced. Who puts a room together is listed, and nobody else."""
    many = {name for name, read in siblings(imports(SOURCE)).items() if len(read) > MOST_SIBLINGS}
    assert many == READS_MANY


def test_what_is_read_is_short_and_explained() -> None:
    offenders = {name: found for name, path in modules(SOURCE).items() if (found := _complaints(path))}
    assert offenders == {}


def functions_in(tree: ast.AST) -> list[ast.FunctionDef]:
    """Lists the functions and methods of a file."""
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def lines_of(function: ast.FunctionDef) -> int:
    """Counts the lines of a function, its first one and its docstring among them."""
    return (function.end_lineno or 0) - function.lineno + 1


def test_a_file_that_is_long_and_says_nothing_is_complained_of(tmp_path: Path) -> None:
    path = tmp_path / "long.py"
    path.write_text("def work():\n" + "    pass\n" * LONGEST_FILE, encoding="utf-8")
    assert _complaints(path) == [f"{LONGEST_FILE + 1} lines", "work is long", "work says nothing"]


def _complaints(path: Path) -> list[str]:
    """Lists what is too long in a file, and what has no docstring."""
    text = path.read_text(encoding="utf-8")
    tree, lines = ast.parse(text), len(text.splitlines())
    longest = ONE_SCREEN.get(path.name, LONGEST_FUNCTION)
    long = [f"{node.name} is long" for node in functions_in(tree) if lines_of(node) > longest]
    silent = [f"{node.name} says nothing" for node in _public(tree) if not ast.get_docstring(node)]
    return [f"{lines} lines"] * (lines > LONGEST_FILE) + long + silent


def _public(tree: ast.Module | ast.ClassDef) -> Iterator[ast.ClassDef | ast.FunctionDef]:
    """Yields public classes and functions, the methods of public classes among them."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
            if "overload" in map(ast.unparse, node.decorator_list):
                continue  # what it is for stands in the function of which it is a type
            yield node
            if isinstance(node, ast.ClassDef):
                yield from _public(node)


def test_no_path_of_one_machine_stands_in_a_file() -> None:
    path_of_a_machine = re.compile(r"(?<![\w.])/(?:work|root|home|Users)(?!\w)")
    written = [path for part in ("blueprint", "tests", "notebooks", ".ci") for path in (REPOSITORY / part).rglob("*")]
    for path in [*written, *REPOSITORY.glob("*.*")]:
        if path.is_file() and path.suffix not in (".pyc", ".xlsx", ".png"):
            assert not path_of_a_machine.search(path.read_text(encoding="utf-8", errors="ignore")), path
