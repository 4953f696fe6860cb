"""The command `explain`: it parses, asks the book and prints. No maths."""

import json
from collections.abc import Iterable
from typing import Any, Literal

import click

from blueprint.book import Book
from blueprint.commands import console, errors
from blueprint.explaining import is_address, numbers_along
from blueprint.inputs import load
from blueprint.language import Axis, Block
from blueprint.workbooks.registry import blueprint_of, built_in_file

EXAMPLES = """\b
Examples:
  blueprint explain advantages --episode 1 --token 5
  blueprint explain total_loss --set ppo.gamma=0.95
  blueprint explain old.log_p --episode 1 --token 4 --word very --depth all
  blueprint explain ten-libraries library.advantages --episode 1 --token 3 --at l=verl
  blueprint explain advantages --preset verl --episode 1 --token 5
  blueprint explain mine.xlsx 'Loss!N51'
  blueprint explain mine.xlsx ratio --episode 2 --token 4
"""
FLAGS = {"n": "--episode", "t": "--token", "v": "--word"}
BY_MEANING = {
    "episode": "--episode", "environment": "--environment", "position": "--token", "step": "--step", "token id": "--word",
}  # fmt: skip
"""The options for axes of these meanings; any other goes by its letter, with --at."""
LETTERS = {
    "episode": "n", "environment": "n", "response": "n", "token": "t", "position": "t", "decision": "t", "step": "t", "word": "v",
}  # fmt: skip
"""What a cell's name may say for a letter: advantages@episode=1,token=5."""
TOKEN = (
    "The column: the number t above the columns of the sheets. It counts positions, not response tokens: "
    "in the default numbers, column 4 reads the last token of the prompt and writes the first response token."
)

Depth = int | Literal["all"]
MOST_DIGITS = 9
"""Of a number of steps."""


def _depth(context: click.Context, option: click.Parameter, value: str) -> Depth:
    if value == "all":
        return "all"
    if value.isdecimal() and len(value) <= MOST_DIGITS and int(value) > 0:
        return int(value)
    raise click.BadParameter(f"{value} is neither a number of steps, 1 or more, nor the word all")


@click.command(epilog=EXAMPLES)
@click.argument("arguments", nargs=-1, required=True, metavar="[FILE.xlsx|NUMBERS] BLOCK|SHEET!CELL")
@click.option(
    "--episode",
    "--environment",
    "--response",
    "episode",
    type=int,
    metavar="N",
    help="The episode or response, from 1.",
)
@click.option("--token", "--decision", "--step", "token", type=int, metavar="T", help=TOKEN)
@click.option(
    "--word", metavar="WORD", help="For blocks with a value for every token of the vocabulary: which token, or its id."
)
@click.option(
    "--at", "others", multiple=True, metavar="LETTER=M", help="The member of any other axis, such as j=h2 or l=verl."
)
@click.option("--numbers", metavar="NAME|FILE", help="Built-in numbers or a file.toml, as in `build`.")
@click.option("--set", multiple=True, metavar="KEY=VALUE", help="Another value for a key, as in `build`.")
@click.option("--preset", metavar="NAME", help="What a library does, as in `build`.")
@click.option("--compare", metavar="A,B,…", help="The presets that stand side by side, as in `build`.")
@click.option("--conventions", type=click.Choice(["plain", "live"]), help="As in `build`.")
@click.option(
    "--depth", callback=_depth, default="2", show_default=True, metavar="N|all", help="How many steps to go down."
)
@click.option("--json", "as_json", is_flag=True, help="For programs: every cell by its address.")
@click.option("--reveal", is_flag=True, help="Of a worksheet: as if it had no blanks, with their answers.")
@click.option("--latex", is_flag=True, help="The equations and their numbers as an aligned environment.")
def explain(
    arguments: tuple[str, ...],
    episode: int | None,
    token: int | None,
    word: str | None,
    others: tuple[str, ...],
    depth: Depth,
    reveal: bool,
    as_json: bool,
    latex: bool,
    **options: Any,
) -> None:
    """Show where one number comes from, step by step, down to what is typed.

    Ask for a block by its name (advantages) or symbol (A), for one cell of it (advantages@n=1,t=5), or for a cell of the
    workbook by its address ('Loss!N51'). With a FILE.xlsx the numbers are those that are typed in that file; NUMBERS
    are a name of `blueprint list` or a file.toml, the same as with --numbers.

    With --json, "top" is the address of the cell asked for, and "cells" has every cell by its address; "reads" lists
    the addresses of what it reads.
    """
    errors.require(not (as_json and latex), "--json and --latex: both say how it is printed, leave one out")
    *files, what = arguments
    what, in_its_name = _named_cell(what)
    members = _members({"n": episode, "t": token, "v": word}, [*others, *in_its_name])
    book = _book(files, what, {name: value for name, value in options.items() if value}, reveal)
    if not is_address(what, book.blocks, [_flag(letter).rstrip("=") for letter in members]):
        _check(book.block_named(what), members, book)
    found = book.explain(what, depth=depth, **members)
    console.say(json.dumps(found.to_dict(), indent=1) if as_json else found.latex() if latex else str(found))


def _book(files: list[str], what: str, options: dict[str, Any], reveal: bool) -> Book:
    """Opens the file, or computes the book of the numbers that are asked for; `options` holds those that are given."""
    errors.require(
        not what.lower().endswith(".xlsx"),
        f"{what}: which cell? Write blueprint explain {what} 'Loss!N51', or a block such as total_loss",
    )
    errors.require(
        len(files) <= 1, f"{' '.join(files)}: one file and one cell at a time; put an address with spaces in quotes"
    )
    errors.require(
        files or not _are_numbers(what),
        f"{what}: which block? Write blueprint explain {what} and a name from its sheet Contents",
    )
    if files and files[0].lower().endswith(".xlsx"):
        if options:
            given, are = " and ".join(f"--{name}" for name in options), "is" if len(options) == 1 else "are"
            raise errors.Refused(f"{given} {are} not for a file: {files[0]} has its own numbers")
        from blueprint.reopening import book_of

        return book_of(files[0], reveal)
    errors.require(not reveal, "--reveal is for the file of a worksheet: name it before what is asked for")
    numbers, overrides = options.pop("numbers", None), options.pop("set", ())
    if files and not _are_numbers(files[0]):
        raise errors.Refused(
            f"{files[0]} {what}: the first of two must be an .xlsx file or numbers (see `blueprint list`); ask for one "
            "block or cell at a time"
        )
    if files and numbers:
        raise errors.Refused(f"{files[0]} and --numbers {numbers} both say which numbers: leave one out")
    chosen = [f"{name}={value}" for name, value in options.items()]
    return Book(blueprint_of(load(files[0] if files else numbers or "default", [*chosen, *overrides])))


def _are_numbers(text: str) -> bool:
    return text.lower().endswith(".toml") or built_in_file(text) is not None


def _named_cell(what: str) -> tuple[str, list[str]]:
    """Parts the name of a cell, as worksheets print it (advantages@n=1,t=5), into that of its block and its members."""
    name, at, members = what.partition("@")
    if not at or "!" in what:
        return what, []
    parts = [each.partition("=") for each in members.split(",")]
    errors.require(
        all(letter.strip() and member.strip() for letter, _, member in parts),
        f"{what}: after @ write letters, equals signs and members, as in advantages@n=1,t=5",
    )
    return name, [f"{LETTERS.get(letter.strip(), letter)}={member}" for letter, _, member in parts]


def _members(given: dict[str, int | str | None], others: Iterable[str]) -> dict[str, int | str]:
    """Returns the members by letter; refuses a letter that is given twice."""
    members = {letter: member for letter, member in given.items() if member is not None}
    options = {letter: f"{_flag(letter)} {member}" for letter, member in members.items()}
    for other in others:
        letter, _, member = map(str.strip, other.partition("="))
        errors.require(letter and member, f"--at {other}: write a letter, an equals sign and a member, as in --at j=2")
        if letter in members:
            raise errors.Refused(f"{options[letter]} and --at {other} both say which {letter}: leave one out")
        members[letter], options[letter] = member, f"--at {other}"
    return members


def _check(block: Block, members: dict[str, int | str], book: Book) -> None:
    """Refuses options that are missing or too many, and numbers out of range, in the words of the options."""
    axes, each = (
        {axis.letter: axis for axis in block.axes},
        " and ".join(book.blueprint.called(axis).meaning for axis in block.axes),
    )
    if missing := [axis for letter, axis in axes.items() if letter not in members]:
        needed = " and ".join(f"{_flag_of(axis)}{_range(block, axis, book)}" for axis in missing)
        raise errors.Refused(f"{block.name} has a number for each {each}: add {needed}")
    if extra := [_flag(letter).rstrip("=") for letter in members if letter not in axes]:
        has = f"has a number for each {each} only" if each else "is a single number"
        raise errors.Refused(f"{block.name} {has}: leave out {' and '.join(extra)}")
    for letter, axis in axes.items():
        low, high = numbers_along(block, axis, book.values)
        if isinstance(member := members[letter], int) and not low <= member <= high:
            raise errors.Refused(
                f"{block.name} has no {_flag_of(axis)} {member}: give {_range(block, axis, book).strip(' =')}"
            )


def _flag(letter: str) -> str:
    return FLAGS.get(letter, f"--at {letter}=")


def _flag_of(axis: Axis) -> str:
    return BY_MEANING.get(axis.meaning, f"--at {axis.letter}=")


def _range(block: Block, axis: Axis, book: Book) -> str:
    """Returns what may be given for an axis: the names of its members, where --at takes them, or numbers."""
    words, is_at = book.blueprint.names.get(axis), _flag_of(axis).endswith("=")
    if is_at and words is not None and not isinstance(words, str) and words is not block:
        return "|".join(map(str, book.values.arrays[words]))
    low, high = numbers_along(block, axis, book.values)
    return f"{'' if is_at else ' '}{low} … {high}"
