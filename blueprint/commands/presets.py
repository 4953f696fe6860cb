"""The commands `list`, `presets` and `which`: what can be built, and how libraries differ in what they do. No maths."""

import shlex
from collections.abc import Iterator
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

import click

from blueprint.book import Book
from blueprint.commands import console, door
from blueprint.comparison import Batch, answers, changed, page, told_of
from blueprint.inputs import Level, Preset, load, names, shown_value
from blueprint.quoting import table
from blueprint.scenarios import GROUPS, PREFIX, scenarios
from blueprint.workbooks.kind import Kind
from blueprint.workbooks.registry import blueprint_of, kinds, level_of

EXAMPLES = """\b
Examples:
  blueprint presets
  blueprint presets verl
  blueprint presets cleanrl
  blueprint presets --keys
"""
WHICH_EXAMPLES = """\b
Examples:
  blueprint which
  blueprint which --compare trl_1.12,openrlhf,verl
  blueprint which --numbers default --numbers ten-libraries
  blueprint which --numbers grpo-batch --compare trl_dr_grpo,verl_gspo
  blueprint which --set ppo.gamma=1 --set ppo.gae_lambda=1
"""


@click.command("list")
@click.option(
    "--scenarios", "asks", is_flag=True, help="List the scenarios instead: what each asks, and how it is built."
)
def list_numbers(asks: bool) -> None:
    """Name the numbers that workbooks can be built from."""
    for line in _of_scenarios() if asks else table(names()):
        console.say(line)


def _of_scenarios() -> Iterator[str]:
    """Yields the scenarios, group by group, and where their pages are."""
    for group, heading in GROUPS.items():
        yield f"{heading}:"
        rows = [each for each in scenarios().values() if each.group == group]
        yield from table([[f"  {PREFIX}{each.name}" if each.numbers else f"  {each.name}", each.asks] for each in rows])
        yield ""
    yield "Build one with blueprint build --numbers scenario/NAME; docs/scenarios has a page for each, and the lines that"
    yield "make the workbooks of those without scenario/."


@click.command(epilog=EXAMPLES)
@click.argument("name", required=False)
@click.option("--keys", is_flag=True, help="List the conventions instead: what each is, and what may stand there.")
def presets(name: str | None, keys: bool) -> None:
    """List the libraries whose conventions can be chosen: version, source, and what differs from the default."""
    offered = [(kind, level) for kind in kinds() if (level := kind.chooses())]
    if name is not None:
        return _tell_named(name, offered)
    for kind, level in offered:
        _head(kind)
        if keys:
            _tell_keys(level)
        for preset in () if keys else level.presets().presets.values():
            _tell(level, preset)
        click.echo()


def _head(kind: Kind) -> None:
    """Prints of which kind of workbook the presets below are, and how one is built."""
    names = list(kind.built_in())
    built_in = kind.name if kind.name in names else next(iter(names), "FILE")
    of = "" if built_in == "default" else f" --numbers {built_in}"
    click.echo(f"{kind.title[0].upper()}{kind.title[1:]}: blueprint build{of} --preset NAME")


def _tell_named(name: str, offered: list[tuple[Kind, Any]]) -> None:
    """Prints the presets of a name: of each kind that has one, since a library may do PPO and GRPO."""
    named = [(kind, level) for kind, level in offered if name in level.presets().presets]
    near = get_close_matches(name, [each for _, level in offered for each in level.presets().presets], n=1)
    for kind, level in named:
        if len(named) > 1:
            _head(kind)
        _tell(level, level.presets().preset(name))
        if len(named) > 1:
            click.echo()
    if not named:
        levels = [level for _, level in offered if {*near} <= {*level.presets().presets}]
        levels[0].presets().preset(name)


def _tell_keys(level: Level) -> None:
    """Prints every convention: its key, what it means, and what may stand there, the default first."""
    for key, setting in level.by_dotted_key.items():
        limits = f"{shown_value(setting.low, '-')} … {shown_value(setting.high, '-')}"
        others = ", ".join(word for word in setting.words if word != setting.value)
        allowed = f"or {others}" if others else limits
        click.echo(f"{key} = {shown_value(setting.value, '-')}  ({allowed})\n    {setting.meaning}")


def _tell(level: Level, preset: Preset) -> None:
    """Prints one preset."""
    click.echo(f"\n{preset.name}: {preset.title}, {preset.version}\n  {preset.source}\n  {preset.why}")
    for key, value in preset.values.items():
        default = level.settings[key].value
        if value != default:
            click.echo(f"    {level.dotted(key)} = {shown_value(value, '-')}  (default {shown_value(default, '-')})")


@click.command(epilog=WHICH_EXAMPLES)
@click.option("--numbers", multiple=True, metavar="NAME|FILE", help="The batch, as in `build`; may be repeated.")
@click.option("--compare", metavar="A,B,…", help="The presets that stand beside the default  [default: all]")
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Another value for a key, as in `build`.")
def which(numbers: tuple[str, ...], compare: str | None, overrides: tuple[str, ...]) -> None:
    """Print what each library computes of the same batch, and why they differ: a page in Markdown.

    Settings of your own, such as --set ppo.gamma=1, stand in the table as a row "yours".
    """
    options = {"--numbers": numbers, "--compare": (compare,) if compare else (), "--set": overrides}
    arguments = [word for option, values in options.items() for value in values for word in (option, value)]
    kinds_asked = {level_of(load(each)).kind for each in numbers}
    door.require(len(kinds_asked) < 2, "--numbers: a page is of one kind of workbook; write a command for each kind")
    batches = [_batch(each, compare, overrides) for each in numbers or ("default",)]
    click.echo(page(batches, shlex.join(["blueprint", "which", *arguments])))


def _batch(numbers: str, compare: str | None, overrides: tuple[str, ...]) -> Batch:
    """Computes a batch by the conventions of each library."""
    door.require(
        "compare" in level_of(load(numbers)).keys,
        f"{numbers}: libraries can be compared only from weights or logits on, as in ten-libraries",
    )
    _, of = told_of(level_of(load(numbers)).word)
    loaded = load(numbers, [*overrides, *of.asked, "gradients=on"])
    if of.parts:
        loaded = replace(loaded, parts={**loaded.parts, **of.parts})
    book = Book(blueprint_of(loaded), beyond=True)
    found, alone = answers(book, compare.split(",") if compare else ()), changed(book, [*of.changes, *of.defects])
    return Batch(loaded.name, loaded.about, found, loaded.level, alone)
