"""How a command ends when it cannot do what it was asked: one sentence, and a number for scripts."""

from __future__ import annotations

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
