"""The command `which`: what each library computes of the same batch, and why they differ. No maths."""

import shlex
from dataclasses import replace

import click

from blueprint.book import Book
from blueprint.commands import errors
from blueprint.comparison import Batch, answers, changed, page, told_of
from blueprint.inputs import load
from blueprint.workbooks.registry import blueprint_of, kinds, level_of

EXAMPLES = """\b
Examples:
  blueprint which
  blueprint which --compare trl_1.12,openrlhf,verl
  blueprint which --numbers default --numbers ten-libraries
  blueprint which --numbers grpo-batch --compare trl_dr_grpo,verl_gspo
  blueprint which --set ppo.gamma=1 --set ppo.gae_lambda=1
"""


@click.command(epilog=EXAMPLES)
@click.argument("sources", nargs=-1, metavar="[NUMBERS]…")
@click.option("--numbers", multiple=True, metavar="NAME|FILE", help="The batch, as in `build`; may be repeated.")
@click.option("--compare", metavar="A,B,…", help="The presets that stand beside the default  [default: all]")
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Another value for a key, as in `build`.")
def which(sources: tuple[str, ...], numbers: tuple[str, ...], compare: str | None, overrides: tuple[str, ...]) -> None:
    """Print what each library computes of the same batch, and why they differ: a page in Markdown.

    NUMBERS are batches, by a name of `blueprint list` or as a file.toml, the same as with --numbers.
    Settings of your own, such as --set ppo.gamma=1, stand in the table as a row "yours".
    """
    numbers = (*sources, *numbers)
    options = {"--numbers": numbers, "--compare": (compare,) if compare else (), "--set": overrides}
    arguments = [word for option, values in options.items() for value in values for word in (option, value)]
    known = {name for kind in kinds() if (level := kind.chooses()) for name in level.presets().presets} - {"default"}
    libraries = [each for each in sources if each in known]
    errors.require(
        not libraries, f"{', '.join(libraries)}: libraries and no batch, write --compare {','.join(libraries)}"
    )
    kinds_asked = {level_of(load(each)).kind for each in numbers}
    errors.require(len(kinds_asked) < 2, "--numbers: a page is of one kind of workbook; write a command for each kind")
    batches = [_batch(each, compare, overrides) for each in numbers or ("default",)]
    click.echo(page(batches, shlex.join(["blueprint", "which", *arguments])))


def _batch(numbers: str, compare: str | None, overrides: tuple[str, ...]) -> Batch:
    errors.require(
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
