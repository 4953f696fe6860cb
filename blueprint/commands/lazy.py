"""Groups of commands: the list of them needs no command, and one that is called is imported."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

import click


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
        if name is not None:
            module, _, function = self.addresses[name].address.partition(":")
            found = getattr(import_module(f"blueprint.commands.{module}"), function)
        return name, found, rest
