"""Runs the command as `python -m blueprint`."""

from blueprint.cli import main

main(prog_name="blueprint")
