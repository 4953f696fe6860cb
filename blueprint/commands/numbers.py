"""The command `blueprint numbers`: all numbers of a workbook as one file, the schema of such files, and where numbers come from."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from blueprint.commands.console import say
from blueprint.commands.refusals import Command, Refused
from blueprint.quoting import printable

if TYPE_CHECKING:
    from blueprint.inputs import Numbers, Source

EXAMPLES = """\b
Examples:
  blueprint numbers -o mine.toml
  blueprint numbers --preset verl --set sizes.hidden=8 -o mine.toml
  blueprint numbers mine.toml --show
  blueprint numbers mine.xlsx -o mine.toml
  blueprint numbers --schema -o blueprint-numbers.schema.json
"""
ZIP = b"PK\x03\x04"


@click.command(cls=Command, epilog=EXAMPLES)
@click.argument("source", default="default", metavar="[NAME|FILE]")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="The file  [default: print it]")
@click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Another value for a key; may be repeated."
)
@click.option("--preset", metavar="NAME", help="What a library does (see `blueprint presets`).")
@click.option("--compare", metavar="A,B,…", help="The presets that stand side by side.")
@click.option("--conventions", type=click.Choice(["plain", "live"]), help="Whether every convention is a switch.")
@click.option("--show", is_flag=True, help="List every key with its value, and where that comes from.")
@click.option("--schema", is_flag=True, help="Write the JSON Schema of numbers files, for editors.")
@click.option("--force", is_flag=True, help="Replace a file that is there already.")
def numbers(
    source: str,
    output: Path | None,
    overrides: tuple[str, ...],
    show: bool,
    schema: bool,
    force: bool,
    **asked: str | None,
) -> None:
    """Write all numbers of a workbook as a TOML file, each key with a comment.

    They are those of a built-in set (see `blueprint list`), of a file.toml, or typed in a file.xlsx.
    """

    said = [(f"--{name}", f"{name}={value}") for name, value in asked.items() if value is not None]
    said += [("--set", each) for each in overrides]
    if show and (schema or output):
        raise Refused("--show prints, and goes with neither --schema nor -o: leave one of them away.")
    if schema and (said or source != "default"):
        raise Refused("--schema describes every numbers file: leave all but -o and --force away.")
    if schema:
        _deliver(_schema(), output, force)
    elif show:
        _show(_source(source), said)
    else:
        _write(_source(source), [each for _, each in said], output, force)


def _source(name: str) -> Source:
    """Reads the tables of a built-in set, of a file, or of what is typed in a workbook."""
    from blueprint.inputs import read, source_of, toml_of

    if not _is_workbook(name):
        return read(name)
    from blueprint.reopening import back_from

    back = back_from(Path(name))
    for told, lines in (("not in a numbers file", back.unheld), ("as its value", back.remarks)):
        for line in lines:
            say(f"{told}: {line}", err=True)  # stdout may be the file itself
    return source_of(toml_of(back.numbers), Path(name))


def _is_workbook(name: str) -> bool:
    if name.lower().endswith(".xlsx"):
        return True
    try:
        with open(name, "rb") as file:
            return file.read(len(ZIP)) == ZIP
    except (OSError, ValueError):  # no file: a name, or a path that `read` refuses in a sentence of its own
        return False


def _write(found: Source, overrides: list[str], output: Path | None, force: bool) -> None:
    """Writes or prints the numbers file; the schema goes beside it."""
    from blueprint.inputs import load, read_as_off, toml_of

    loaded = load(found, overrides)
    for line in read_as_off(found):
        say(line, err=True)
    if output is not None and output.suffix.lower() != ".toml":
        raise Refused(f"{output} does not end in .toml, by which `blueprint build` knows a numbers file: name it so.")
    _deliver(toml_of(loaded), output, force)
    if output is not None:
        _report(loaded, output)


def _report(loaded: Numbers, output: Path) -> None:
    say(f"{printable(str(output))}: all numbers of {loaded.title}; blueprint build --numbers makes a workbook of it")
    if loaded.drawn_anew:
        say(f"drawn anew from the seed, because they no longer fit: {', '.join(loaded.drawn_anew)}")
    say(printable(_schema_beside(output)))


def _schema_beside(output: Path) -> str:
    """Puts the schema, to which the file points, into its folder, where there is none; says what it did."""
    from blueprint.inputs import SCHEMA_FILE

    path, text = output.parent / SCHEMA_FILE, _schema()
    if not os.path.lexists(path):
        _deliver(text, path, force=False)
        return f"{path}: beside it, for editors that complete and check TOML"
    if path.is_file() and path.read_bytes() == text.encode():
        return f"{path}: lies beside it already"
    return (
        f"{path}: is there already, but is not this version's; blueprint numbers --schema --force -o {path} renews it"
    )


def _schema() -> str:
    from blueprint.inputs import schema_of

    return json.dumps(schema_of(), ensure_ascii=False, indent=1) + "\n"


def _deliver(text: str, output: Path | None, force: bool) -> None:
    """Writes a text to a file whole, or prints it as UTF-8, which is what a file of it must be."""
    from blueprint.saving import refuse_existing, saved_whole

    if output is None:
        click.echo(text.encode(), nl=False)
        return
    refuse_existing(output, force)
    with saved_whole(output) as unfinished:
        unfinished.write_bytes(text.encode())


def _show(found: Source, said: list[tuple[str, str]]) -> None:
    """Prints a line for every key: its value, and where that comes from."""
    from blueprint.inputs import origins

    lines = origins(found, said)
    key, value = (max(len(getattr(line, part)) for line in lines) for part in ("key", "value"))
    for line in lines:
        say(f"{line.key:<{key}}  {line.value:<{value}}  {line.origin}")
