"""Calls a command as a stranger types it, in this process."""

from __future__ import annotations

from click.testing import CliRunner, Result

from blueprint.cli import main


def run_command(*words: object, env: dict[str, str] | None = None) -> Result:
    """Returns what `blueprint WORDS` prints and how it ends; what is no refusal but a fault of ours is raised."""
    return CliRunner().invoke(main, list(map(str, words)), env=env, catch_exceptions=False, prog_name="blueprint")
