"""The command `blueprint which`: it parses, asks for what each library computes, and prints a page. No maths."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from blueprint.commands.refusals import Command, Refused

if TYPE_CHECKING:
    from blueprint.which import Batch

EXAMPLES = """\b
Examples:
  blueprint which
  blueprint which --compare trl_1.12,openrlhf,verl
  blueprint which --numbers default --numbers ten-libraries
  blueprint which --set ppo.gamma=1 --set ppo.gae_lambda=1
"""


@click.command(cls=Command, epilog=EXAMPLES)
@click.option("--numbers", multiple=True, metavar="NAME|FILE", help="The batch, as in `build`; may be repeated.")
@click.option("--compare", metavar="A,B,…", help="The presets that stand beside the default  [default: all]")
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Another value for a key, as in `build`.")
def which(numbers: tuple[str, ...], compare: str | None, overrides: tuple[str, ...]) -> None:
    """Print what each library's PPO computes of the same batch, and why they differ: a page in Markdown.

    Settings of your own, such as --set ppo.gamma=1, stand in the table as a row "yours".
    """
    from blueprint.which import page

    options = {"--numbers": numbers, "--compare": (compare,) if compare else (), "--set": overrides}
    asked = [word for option, values in options.items() for value in values for word in (option, value)]
    batches = [_batch(each, compare, overrides) for each in numbers or ("default",)]
    click.echo(page(batches, shlex.join(["blueprint", "which", *asked])))


def _batch(numbers: str, compare: str | None, overrides: tuple[str, ...]) -> Batch:
    """Computes a batch by the conventions of each library."""
    from blueprint.book import Book
    from blueprint.inputs import load
    from blueprint.which import Batch, answers
    from blueprint.workbooks.registry import blueprint_of, level_of

    if "compare" not in level_of(load(numbers)).keys:
        raise Refused(f"{numbers}: libraries can be compared only from weights or logits on, as in ten-libraries")
    loaded = load(numbers, [*overrides, "conventions=live"])
    return Batch(
        loaded.name,
        loaded.about,
        answers(Book(blueprint_of(loaded), beyond=True), compare.split(",") if compare else ()),
    )
