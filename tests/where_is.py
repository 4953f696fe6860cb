"""Twenty questions “where is …?” about the package, drawn by a seed, for somebody who has seen only the names of its files.

    python -m tests.where_is --seed 7             # the questions, and below them the list of files
    python -m tests.where_is --seed 7 --answers   # the file, or files, that are right

A third of them ask for equations by their labels, a third for commands by their help, a third for messages by what they say.
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
from types import FrameType

import pytest

import blueprint
from blueprint.cli import CLASS_COMMANDS, COMMANDS
from blueprint.inputs import load
from blueprint.language import Block
from blueprint.page.outline import Blueprint, blocks_of
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.common.definitions import writing_rows

PACKAGE = Path(blueprint.__file__).parent
BOOKS = ("default", "grpo", "dpo", "reward-model", "sft", "classic", "optimum", "kl-controller")
MAKING = Path(writing_rows.__file__)
FEWEST = 30
"""Letters of a message between two of its fields, at least: a shorter one says too little to be asked for."""
QUESTIONS = {"equation": 8, "command": 4, "message": 8}

Answers = dict[str, set[str]]
"""By question the files that are right, by their path in the package."""


def equations() -> Answers:
    """Asks for the equation of each row, by its label and by the workbooks that share it: the file in which it is assigned."""
    lines: dict[Block, set[str]] = {}
    write = Block.__setitem__

    def record(self: Block, at: object, value: object) -> None:
        write(self, at, value)  # type: ignore[arg-type]
        frame = sys._getframe(1)
        while ("value" in frame.f_locals or Path(frame.f_code.co_filename) == MAKING) and frame.f_back:
            frame = frame.f_back  # what is handed an equation as a value is called where that stands
        lines[self] = {inside(Path(each.f_code.co_filename)) for each in (frame, who_names(self, frame))}

    rows: dict[str, Answers] = defaultdict(lambda: defaultdict(set))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Block, "__setitem__", record)
        for name in BOOKS:
            for title, block in headed(blueprint_of(load(name, []))):
                if block in lines and block.about.meaning and not block.link:  # a link says a row again
                    rows[f"“{block.about.meaning}” ({block.symbol}), which stands under “{title}”"][name] |= lines[
                        block
                    ]
    found: Answers = {}
    for row, by_workbook in rows.items():
        for files in {frozenset(each) for each in by_workbook.values()}:
            names = [name for name, each in by_workbook.items() if each == files]
            found[f"the equation of {row} in the workbook{'s' * (len(names) > 1)} {', '.join(names)}"] = set(files)
    return found


def headed(made: Blueprint) -> Iterator[tuple[str, Block]]:
    """Yields the blocks of a workbook, each with the title above it, without which few labels say what they mean."""
    for sheet in made.sheets:
        for section in sheet.sections:
            yield from ((section.title, block) for item in section.items for block in blocks_of(item))
        yield from ((sheet.title, block) for block in sheet.head)


def who_names(block: Block, frame: FrameType) -> FrameType:
    """Returns who names a row, and has a function define it that does so for many, such as a mean or log σ of something.

    Such an equation stands in two places, one of which says of what it is taken, and both are right.
    """
    code = frame.f_code
    arguments = map(frame.f_locals.get, (*code.co_varnames[: code.co_argcount], *code.co_freevars))
    handed = any(each is block or (isinstance(each, str) and each and each in block.name) for each in arguments)
    return who_names(block, frame.f_back) if handed and frame.f_back else frame


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
    """Asks for each message as one reads it: the whole sentence, with the name of a field where its value would stand."""
    found: Answers = defaultdict(set)
    for path in sorted(PACKAGE.rglob("*.py")):
        for sentence in raised(ast.parse(path.read_text(encoding="utf-8"))):
            found[f"the message “{sentence}”"].add(inside(path))
    return found


def raised(tree: ast.AST) -> Iterator[str]:
    """Yields what each exception says that is raised with a sentence."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            arguments = [list(written(each)) for each in node.exc.args]
            if any(len(piece) >= FEWEST for pieces in arguments for piece in pieces):
                yield " / ".join(" ".join("".join(pieces).split()) for pieces in arguments)


def written(node: ast.expr) -> Iterator[str]:
    """Yields the pieces of a text: constants as they stand, and of a field the name of what stands in it, in braces."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.JoinedStr(values=values):
            for value in values:
                yield from written(value)
        case ast.FormattedValue(value=value):
            yield f"{{{shown(value)}}}"
        case ast.BinOp(left=left, right=right):
            yield from written(left)
            yield from written(right)
        case ast.Call(args=arguments):
            for argument in arguments:
                yield from (*written(argument), " ")
        case _:
            yield f"{{{shown(node)}}}"


def shown(node: ast.expr) -> str:
    """Names what a field shows: a variable, an attribute, or what a call is made of; else it is "…"."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(args=[argument, *_]) | ast.Subscript(value=argument):
            return shown(argument)
    return "…"


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
