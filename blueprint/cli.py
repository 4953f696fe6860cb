"""The door of the command line: every command is a module of `commands`."""

from __future__ import annotations

import os

import click

from blueprint.commands.build import build, list_numbers
from blueprint.commands.check import check
from blueprint.commands.console import speak_plainly
from blueprint.commands.door import Door
from blueprint.commands.explain import explain
from blueprint.commands.import_minibatch import import_
from blueprint.commands.inspect import inspect
from blueprint.commands.numbers import numbers
from blueprint.commands.presets import presets
from blueprint.commands.rebuild import diff, rebuild
from blueprint.commands.verify import verify
from blueprint.commands.which import which

COMMANDS = (
    build, list_numbers, numbers, rebuild, diff, explain, presets, which, check, inspect, verify, import_,
)  # fmt: skip


@click.group(cls=Door, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(package_name="rlhf-blueprint", prog_name="blueprint")
def main() -> None:
    """RLHF PPO by hand: a workbook whose every number is a live formula."""
    speak_plainly()
    # No plugin has a part in reading numbers; to look for one is to open every package that is installed.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")


for command in COMMANDS:
    main.add_command(command)
