"""How a command ends when it cannot do what it was asked: one sentence, and a number for scripts."""

from __future__ import annotations

import click


class Refused(click.ClickException):
    """Something the user can mend: one sentence, exit code 2."""

    exit_code = 2


class Unreadable(click.ClickException):
    """A file that cannot be read, or not computed with: one sentence, exit code 3."""

    exit_code = 3


class Ended(click.ClickException):
    """A computation that comes to no number, as an overflow: one sentence, exit code 1, and nothing was written."""

    exit_code = 1
