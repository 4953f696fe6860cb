"""The command line: which commands there are. A command is a module of `commands`, imported when it is called."""

import os
from importlib import import_module

import click

from blueprint.commands.console import speak_plainly
from blueprint.commands.door import Door

# No plugin of pydantic has a part in reading numbers; to look for one is to open every package that is installed.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

COMMANDS = {
    "build": ("build:build", "Write a workbook, and have every formula of it recalculated."),
    "check": ("workbooks:check", "Hold workbooks against torch, cell by cell."),
    "diff": ("workbooks:diff", "Say where two workbooks part, and what follows from it."),
    "explain": ("explain:explain", "Show where one number comes from, step by step."),
    "import": ("verify:import_", "Make a workbook of a few tokens of a training minibatch."),
    "inspect": ("inspect:inspect_dump", "Say what a dump of a training step holds."),
    "list": ("presets:list_numbers", "Name the numbers that workbooks can be built from."),
    "numbers": ("numbers:numbers", "Write all numbers of a workbook as a TOML file."),
    "presets": ("presets:presets", "List the libraries whose conventions can be chosen."),
    "rebuild": ("workbooks:rebuild", "Write a fresh workbook from what is typed in an edited one."),
    "verify": ("verify:verify", "Compute a real minibatch again, and say what went wrong first."),
    "which": ("presets:which", "Print what each library's PPO computes of the same batch."),
}
"""By name where a command lies, and what it does."""


class Commands(Door):
    """The commands: the list of them needs none, and one that is called is imported."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Imports the command that is called."""
        name, found, rest = super().resolve_command(ctx, args)
        if name is not None:
            module, _, function = COMMANDS[name][0].partition(":")
            found = getattr(import_module(f"blueprint.commands.{module}"), function)
        return name, found, rest


@click.group(
    cls=Commands,
    commands=[click.Command(name, help=says) for name, (_, says) in COMMANDS.items()],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)
@click.version_option(package_name="rlhf-blueprint", prog_name="blueprint")
def main() -> None:
    """RLHF PPO by hand: a workbook whose every number is a live formula."""
    speak_plainly()
