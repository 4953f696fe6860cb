"""Options that several commands share: which numbers a workbook is made of, and what of them is changed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from blueprint.commands import errors
from blueprint.inputs import Numbers, load

SOURCE = click.argument("source", required=False, metavar="[NUMBERS]")
"""Which numbers are meant, by their name alone: what --numbers says, too; `meant` takes both."""
KEYS = {"epochs": "update.epochs", "minibatches": "update.minibatches"}
"""The keys of a numbers file that options set, where they are called otherwise."""
Command = TypeVar("Command", bound=Callable[..., Any])


def together(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Returns what gives a command several options, in this order."""

    def given(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return given


SET = click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Another value for a key; may be repeated."
)
PRESETS = together(
    click.option(
        "--preset", metavar="NAME", help="What a library does (see `blueprint presets`); conventions become live."
    ),
    click.option("--compare", metavar="A,B,…", help="The presets that stand side by side."),
    click.option("--conventions", type=click.Choice(["plain", "live"]), help="Whether every convention is a switch."),
)
"""What a library does, and libraries side by side."""
of_numbers = together(
    click.option(
        "--numbers",
        default="default",
        metavar="NAME|FILE",
        help="Built-in numbers (see `blueprint list`) or a file.toml.",
    ),
    SET,
    PRESETS,
    click.option("--epochs", metavar="N", help="Passes over the rollout, where an optimiser takes the steps."),
    click.option("--minibatches", metavar="M", help="Steps per epoch, each on the same number of whole responses."),
    click.option("--gradients", flag_value="on", help="Add every gradient of the loss, each on its quantity's sheet."),
)
"""Which numbers are meant; `chosen` takes them."""
TOPIC = click.option(
    "--topic", default="", metavar="WORD", help="Blanks of one topic alone: gae, clip, kl, value, margin, group, loss …"
)
of_class = together(
    TOPIC,
    click.option(
        "--numbers", default="default", show_default=True, metavar="NAME|FILE", help="Built-in numbers, or a file.toml."
    ),
    SET,
    click.option("--blanks", type=click.IntRange(1), metavar="N", help="How many blanks are chosen  [default: 12]"),
    click.option(
        "--blanks-file",
        type=errors.FILE,
        metavar="FILE",
        help="Which blanks, each with its weight: a file.toml.",
    ),
    click.option(
        "--level",
        type=click.IntRange(1, 3),
        default=1,
        show_default=True,
        help="1: single cells, 2: whole rows, 3: whole sections.",
    ),
    click.option(
        "--vary",
        metavar="A,B,…",
        default="",
        help="What varies: settings, draws, prompts, old, old.E, ppo.gamma  [default: its numbers]",
    ),
    click.option(
        "--seed",
        type=click.IntRange(0),
        default=0,
        show_default=True,
        help="Seed of the variants, beside each student's id.",
    ),
)
"""What a class is asked, and of which numbers."""


def asked(blanks: int | None, blanks_file: Path | None, topic: str = "") -> int | tuple[tuple[str, float], ...] | None:
    """Returns how many blanks are chosen, or which, each with its weight; None: as many as a topic has. Raises WorksheetError."""
    from blueprint.worksheets import asked_from

    errors.require(
        blanks is None or blanks_file is None, "--blanks and --blanks-file: give one of them, a number or a file"
    )
    errors.require(blanks_file is None or not topic, "--topic and --blanks-file both say which blanks: leave one out")
    if blanks_file:
        return tuple((each.title, each.weight) for each in asked_from(blanks_file))
    return blanks or (None if topic else 12)


def meant(source: str | None, numbers: str) -> str:
    """Returns the numbers that are named first or by --numbers; refuses two that differ."""
    errors.require(
        source is None or numbers in ("default", source),
        f"{source} and --numbers {numbers} both say which numbers: leave one out",
    )
    return source or numbers


def chosen(numbers: str, overrides: tuple[str, ...], changes: dict[str, str | None]) -> Numbers:
    """Reads and completes the numbers that the options of `of_numbers` choose. Raises NumbersError."""
    options = [f"{KEYS.get(key, key)}={value}" for key, value in changes.items() if value is not None]
    return load(numbers, [*options, *overrides])
