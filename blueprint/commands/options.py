"""Options that several commands share: which numbers a workbook is made of, and what of them is changed."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import click

from blueprint.inputs import Numbers, Source, load, read

KEYS = {"epochs": "update.epochs", "minibatches": "update.minibatches"}
"""The keys of a numbers file that options set, where they are called otherwise."""
OPTIONS = (
    click.option(
        "--numbers",
        default="default",
        metavar="NAME|FILE",
        help="Built-in numbers (see `blueprint list`) or a file.toml.",
    ),
    click.option(
        "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Another value for a key; may be repeated."
    ),
    click.option(
        "--preset", metavar="NAME", help="What a library does (see `blueprint presets`); conventions become live."
    ),
    click.option("--compare", metavar="A,B,…", help="The presets that stand side by side."),
    click.option("--conventions", type=click.Choice(["plain", "live"]), help="Whether every convention is a switch."),
    click.option("--epochs", metavar="N", help="Passes over the rollout, where an optimiser takes the steps."),
    click.option("--minibatches", metavar="M", help="Steps of an epoch, each on as many whole responses."),
    click.option("--gradients", flag_value="on", help="Every gradient of the loss, on the sheet of what it is of."),
)
Command = TypeVar("Command", bound=Callable[..., Any])


class Chosen(NamedTuple):
    """What the options choose: the file as it was read, and the numbers with all changes."""

    source: Source
    numbers: Numbers


def of_numbers(command: Command) -> Command:
    """Gives a command the options that say which numbers are meant; `chosen` takes them."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def chosen(numbers: str, overrides: tuple[str, ...], changes: dict[str, str | None]) -> Chosen:
    """Reads and completes the numbers that the options of `of_numbers` choose. Raises NumbersError."""
    found = read(numbers)
    options = [f"{KEYS.get(key, key)}={value}" for key, value in changes.items() if value is not None]
    return Chosen(found, load(found, [*options, *overrides]))
