"""Twenty questions “where is …?” about the package, drawn by a seed, for somebody who has seen only the names of its files.

    python -m tests.where_is --seed 7             # the questions, and below them the list of files
    python -m tests.where_is --seed 7 --answers   # the file, or files, that are right

A third of them ask for equations by their labels, a third for commands by their help, a third for messages by a piece of them.
Whoever answers names one file for each at the first try. CONTRIBUTING has what came out.
"""

from __future__ import annotations

import argparse
import ast
import random
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path

import pytest

import blueprint
from blueprint.cli import CLASS_COMMANDS, COMMANDS
from blueprint.inputs import load
from blueprint.language import Block
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.common.definitions import choices

PACKAGE = Path(blueprint.__file__).parent
BOOKS = ("default", "grpo", "dpo", "reward-model", "sft", "classic", "optimum", "kl-controller")
MAKING = Path(choices.__file__)
FEWEST = 30
"""Letters of a message that a question shows at least, in one piece."""
QUESTIONS = {"equation": 8, "command": 4, "message": 8}

Answers = dict[str, set[str]]
"""By question the files that are right, by their path in the package."""


def equations() -> Answers:
    """Asks for the equation of each labelled row: the file in which it is assigned."""
    lines: dict[Block, str] = {}
    write = Block.__setitem__

    def record(self: Block, at: object, value: object) -> None:
        write(self, at, value)  # type: ignore[arg-type]
        frame = sys._getframe(1)
        while ("value" in frame.f_locals or Path(frame.f_code.co_filename) == MAKING) and frame.f_back:
            frame = frame.f_back  # what is handed an equation as a value is called where that stands
        lines[self] = frame.f_code.co_filename

    found: Answers = defaultdict(set)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Block, "__setitem__", record)
        for name in BOOKS:
            for block in blueprint_of(load(name, [])).blocks():
                if block in lines and block.about.meaning:
                    question = f"the equation of “{block.about.meaning}” ({block.symbol}) in the workbook {name}"
                    found[question].add(inside(Path(lines[block])))
    return found


def commands() -> Answers:
    """Asks for each command by what it does."""
    addresses = {**COMMANDS, **{f"class {name}": each for name, each in CLASS_COMMANDS.items()}}
    found: Answers = defaultdict(set)
    for name, each in addresses.items():
        module = import_module(f"blueprint.commands.{each.address.partition(':')[0]}")
        found[f"the code of the command `blueprint {name}` (“{each.says}”), which reads its options"].add(
            inside(Path(str(module.__file__)))
        )
    return found


def messages() -> Answers:
    """Asks for each message by its longest piece without a field."""
    found: Answers = defaultdict(set)
    for path in sorted(PACKAGE.rglob("*.py")):
        for piece in raised(ast.parse(path.read_text(encoding="utf-8"))):
            found[f"the message with “{piece.strip()}”"].add(inside(path))
    return found


def raised(tree: ast.AST) -> Iterator[str]:
    """Yields of each exception that is raised with a sentence its longest piece."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            texts = [
                each.value
                for argument in node.exc.args
                for each in ast.walk(argument)
                if isinstance(each, ast.Constant) and isinstance(each.value, str)
            ]
            longest = max(texts, key=len, default="")
            if len(longest) >= FEWEST:
                yield longest


def inside(path: Path) -> str:
    """Returns the path of a file in the package."""
    return path.resolve().relative_to(PACKAGE.resolve()).as_posix()


def drawn(seed: int) -> Answers:
    """Draws the questions."""
    draw = random.Random(seed)
    pools: Mapping[str, Answers] = {"equation": equations(), "command": commands(), "message": messages()}
    return {
        question: pools[sort][question]
        for sort, many in QUESTIONS.items()
        for question in draw.sample(sorted(pools[sort]), many)
    }


def main() -> None:
    """Prints the questions with the list of files, or the answers."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--answers", action="store_true")
    asked = parser.parse_args()
    for number, (question, files) in enumerate(drawn(asked.seed).items(), 1):
        print(f"{number}. Where is {question}?{' ' + ' or '.join(sorted(files)) if asked.answers else ''}")
    if not asked.answers:
        names = (inside(path) for path in sorted(PACKAGE.rglob("*")) if path.suffix in (".py", ".toml", ".csv", ".js"))
        print("\nThe files:", *names, sep="\n")


if __name__ == "__main__":
    main()
