"""The command `blueprint which`: it parses, asks for what each library computes, and prints a page. No maths."""

import shlex

import click

from blueprint.book import Book
from blueprint.commands.door import Refused
from blueprint.inputs import load
from blueprint.which import Batch, answers, page
from blueprint.workbooks.registry import blueprint_of, level_of

EXAMPLES = """\b
Examples:
  blueprint which
  blueprint which --compare trl_1.12,openrlhf,verl
  blueprint which --numbers default --numbers ten-libraries
  blueprint which --set ppo.gamma=1 --set ppo.gae_lambda=1
"""


@click.command(epilog=EXAMPLES)
@click.option("--numbers", multiple=True, metavar="NAME|FILE", help="The batch, as in `build`; may be repeated.")
@click.option("--compare", metavar="A,B,…", help="The presets that stand beside the default  [default: all]")
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Another value for a key, as in `build`.")
def which(numbers: tuple[str, ...], compare: str | None, overrides: tuple[str, ...]) -> None:
    """Print what each library's PPO computes of the same batch, and why they differ: a page in Markdown.

    Settings of your own, such as --set ppo.gamma=1, stand in the table as a row "yours".
    """
    options = {"--numbers": numbers, "--compare": (compare,) if compare else (), "--set": overrides}
    arguments = [word for option, values in options.items() for value in values for word in (option, value)]
    batches = [_batch(each, compare, overrides) for each in numbers or ("default",)]
    click.echo(page(batches, shlex.join(["blueprint", "which", *arguments])))


def _batch(numbers: str, compare: str | None, overrides: tuple[str, ...]) -> Batch:
    """Computes a batch by the conventions of each library."""
    if "compare" not in level_of(load(numbers)).keys:
        raise Refused(f"{numbers}: libraries can be compared only from weights or logits on, as in ten-libraries")
    loaded = load(numbers, [*overrides, "conventions=live"])
    book = Book(blueprint_of(loaded), beyond=True)
    return Batch(loaded.name, loaded.about, answers(book, compare.split(",") if compare else ()))
