"""How a command ends when it cannot do what it was asked: one sentence, and a number for scripts."""

from __future__ import annotations

from typing import Any

import click

from blueprint.quoting import sentence


class Sentence(click.ClickException):
    """A message of one line, in which everything can be seen that it quotes: the name of a file may hold anything."""

    def __init__(self, message: str):
        super().__init__(sentence(message))


class Refused(Sentence):
    """Something the user can mend: one sentence, exit code 2."""

    exit_code = 2


class Unreadable(Sentence):
    """A file that cannot be read, or not computed with: one sentence, exit code 3."""

    exit_code = 3


class Ended(Sentence):
    """A computation that comes to no number, as an overflow: one sentence, exit code 1, and nothing was written."""

    exit_code = 1


FORESEEN = {
    "NotationError": Refused, "NumbersError": Refused, "SaveError": Refused, "KindError": Refused, "WitnessError": Refused,
    "ReadError": Unreadable, "MinibatchError": Unreadable,
}  # fmt: skip
"""How a command ends that comes upon such an error; by name, so that nothing is loaded before it is needed."""


class Command(click.Command):
    """A command that ends in the sentence of an error that was foreseen."""

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command."""
        try:
            return super().invoke(ctx)
        except (ValueError, OSError) as error:
            ends = next((FORESEEN[each.__name__] for each in type(error).__mro__ if each.__name__ in FORESEEN), None)
            if ends is None:
                raise
            raise ends(str(error)) from error
