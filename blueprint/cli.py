"""The command line: which commands there are. A command is a module of `commands`, imported when it is called."""

import os

import click

from blueprint.commands.console import speak_plainly
from blueprint.commands.door import Door
from blueprint.commands.lazy import Command, Lazy

# No plugin of pydantic has a part in reading numbers; to look for one is to open every package that is installed.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

COMMANDS = {
    "build": Command("build:build", "Write a workbook, and have every formula of it recalculated."),
    "check": Command("workbooks:check", "Hold workbooks against torch, cell by cell."),
    "class": Command("classes:class_", "Make, grade and report on the worksheets of a class."),
    "diff": Command("workbooks:diff", "Say where two workbooks part, and what follows from it."),
    "explain": Command("explain:explain", "Show where one number comes from, step by step."),
    "import": Command("verify:import_", "Make a workbook of a few tokens of a training minibatch."),
    "inspect": Command("inspect:inspect_dump", "Say what a dump of a training step holds."),
    "list": Command("presets:list_numbers", "Name the numbers that workbooks can be built from."),
    "numbers": Command("numbers:numbers", "Write all numbers of a workbook as a TOML file."),
    "presets": Command("presets:presets", "List the libraries whose conventions can be chosen."),
    "rebuild": Command("workbooks:rebuild", "Write a fresh workbook from what is typed in an edited one."),
    "verify": Command("verify:verify", "Compute a real minibatch again, and say what went wrong first."),
    "worksheet": Command("worksheet:worksheet_", "Write a worksheet: a workbook with blanks for a student to fill in."),
    "which": Command("presets:which", "Print what each library computes of the same batch."),
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
