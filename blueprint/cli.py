"""The command line: which commands there are. A command is a module of `commands`, imported when it is called."""

import os
from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

import click

from blueprint.commands.console import speak_plainly
from blueprint.commands.errors import Door


class Command(NamedTuple):
    """Where a command lies, as "module of `commands`:function", and what it does, in a sentence."""

    address: str
    says: str


class Lazy(click.Group):
    """A group whose commands are imported when they are called."""

    def __init__(self, *given: Any, addresses: Mapping[str, Command], **more: Any) -> None:
        """Takes where each command lies, by its name."""
        super().__init__(*given, **more)
        self.commands = {name: click.Command(name, help=each.says) for name, each in addresses.items()}
        self.addresses = addresses

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Imports the command that is called."""
        name, found, rest = super().resolve_command(ctx, args)
        if name is not None and name in self.addresses:
            module, _, function = self.addresses[name].address.partition(":")
            found = getattr(import_module(f"blueprint.commands.{module}"), function)
        return name, found, rest


CLASS_COMMANDS = {
    "grade": Command("class_grade:grade", "Mark what students handed in, with feedback, flags and a report."),
    "regrade": Command("class_grade:regrade", "Mark it again by another key or policy: who changes, and why."),
    "make": Command("class_make:make_class", "Make a worksheet for each student, and the key."),
    "preview": Command("class_make:preview_class", "Show which blanks a class would have, and how answers are spread."),
    "report": Command("class_grade:report", "Write a page on how a class did: marks, blanks, mistakes, flags."),
    "show": Command("class_show:show", "Show one student's answers, or write a lost file again."),
}
"""By name where a command lies, and what it does."""


LAB_COMMANDS = {
    "cart-pole": Command("lab:cart_pole", "Balance a pole; any minibatch is a workbook."),
}
"""By name where a command lies, and what it does."""


@click.group("lab", cls=Lazy, addresses=LAB_COMMANDS, short_help="Train a small agent by the loss of classic PPO.")
def lab() -> None:
    """Reinforcement learning before language models, by the same loss, small enough to be followed by hand."""


@click.group(
    "class",
    cls=Lazy,
    addresses=CLASS_COMMANDS,
    short_help="Make, grade and report on the worksheets of a class.",
)
def class_() -> None:
    """A variant of one worksheet for each student of a class, graded so that one mistake counts once."""


# No plugin of pydantic has a part in reading numbers; to look for one is to open every package that is installed.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

COMMANDS = {
    "build": Command("build:build", "Write a workbook, and have every formula of it recalculated."),
    "check": Command("check:check", "Compare workbooks with torch, cell by cell."),
    "compare": Command("compare:compare", "Say where two frameworks' dumps of one step differ, and why."),
    "diff": Command("diff:diff", "Say where two workbooks differ, and what follows from it."),
    "explain": Command("explain:explain", "Show where one number comes from, step by step."),
    "import": Command("import_:import_", "Make a workbook of a few tokens of a training minibatch."),
    "inspect": Command("inspect:inspect_dump", "Say what a dump of a training step holds."),
    "list": Command("list:list_numbers", "Name the numbers that workbooks can be built from."),
    "numbers": Command("numbers:numbers", "Write all numbers of a workbook as a TOML file."),
    "page": Command("page:page", "Write a book as one page for the browser."),
    "presets": Command("presets:presets", "List the libraries whose conventions can be chosen."),
    "rebuild": Command("rebuild:rebuild", "Write a fresh workbook from what is typed in an edited one."),
    "run": Command("run:run", "Train a small policy by RLHF; any iteration is a workbook."),
    "serve": Command("serve:serve", "Serve the page of a book for a lecture that phones follow."),
    "verify": Command("verify:verify", "Compute a real minibatch again, and say what went wrong first."),
    "worksheet": Command("worksheet:worksheet_", "Write a workbook with blanks for a student to fill in."),
    "which": Command("which:which", "Print what each library computes of the same batch."),
}
"""By name where a command lies, and what it does."""


class Commands(Lazy, Door):
    """The commands, behind their door."""


@click.group(
    cls=Commands,
    addresses=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)
@click.version_option(package_name="rlhf-blueprint", prog_name="blueprint")
def main() -> None:
    """RLHF PPO by hand: a workbook whose every number is a live formula."""
    speak_plainly()


main.add_command(class_)
main.add_command(lab)
