"""One's own data for `blueprint numbers`: a table of rows, which a kind of workbook makes the tables of a numbers file of."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

from blueprint.commands import console, door
from blueprint.inputs import Source, name_of, nearest, suggestion
from blueprint.quoting import printable, unquoted
from blueprint.workbooks.registry import kinds

Command = TypeVar("Command", bound=Callable[..., Any])
OPTIONS = (
    click.option("--kind", metavar="NAME", help="FILE holds your rows, CSV, JSON or JSONL, for dpo, grpo, reward_model or sft."),
    click.option(
        "--column",
        "columns",
        multiple=True,
        metavar="WHAT=NAME",
        help="With --kind: which column is which, such as reward=my_score or reward=right+0.5*format; may be repeated.",
    ),
    click.option("--prompts", metavar="1-3,7", help="With --kind: which prompts, by their order in the file  [default: all]"),
    click.option("--most-tokens", type=int, metavar="N", help="With --kind: the first N tokens of each response alone."),
)  # fmt: skip


class Rows(NamedTuple):
    """How rows of one's own are to be read."""

    kind: str | None
    columns: tuple[str, ...]
    prompts: str | None
    most_tokens: int | None


def of_rows(command: Command) -> Command:
    """Gives a command the options that say how rows of one's own are read."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def source_in(path: Path, asked: Rows) -> Source:
    """Reads rows of one's own as the tables of a numbers file, and says what there is to know of the way. Raises NumbersError."""
    able = {kind.name: kind for kind in kinds() if kind.rows is not None}
    name = str(asked.kind)
    hint = suggestion(nearest(name, list(able)), list(able))
    door.require(
        name in able, f"--kind {unquoted(name)}: no kind of workbook that is made of rows of one's own; {hint}"
    )
    raw, said = able[name].part("rows")(path, asked.columns, asked.prompts, asked.most_tokens)
    for line in said:
        console.say(printable(line), err=True)  # stdout may be the file itself
    return Source(name_of(path), False, raw, printable(path.name))


def require_kind(asked: Rows) -> None:
    """Refuses options that say something of rows alone, where no kind is named."""
    door.require(
        asked.kind is not None or not (asked.columns or asked.prompts is not None or asked.most_tokens is not None),
        "--column, --prompts and --most-tokens are of rows of your own: add --kind, with one of "
        f"{', '.join(kind.name for kind in kinds() if kind.rows is not None)}, or leave them away.",
    )
