"""The command `blueprint numbers`: all numbers of a workbook as one file, the schema of such files, and where numbers come from."""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import click

from blueprint.commands import console, errors
from blueprint.commands.options import PRESETS, SET, together
from blueprint.files import content_of, refuse_existing, saved_whole
from blueprint.inputs import (
    SCHEMA_FILE,
    Source,
    load,
    name_of,
    nearest,
    origins,
    read,
    schema_of,
    source_of,
    suggestion,
    toml_of,
)
from blueprint.quoting import printable, table, unquoted
from blueprint.workbooks.registry import kinds

of_rows = together(
    click.option("--kind", metavar="NAME", help="FILE holds your rows, CSV, JSON or JSONL, for dpo, grpo, reward_model or sft."),
    click.option(
        "--column",
        "columns",
        multiple=True,
        metavar="WHAT=NAME",
        help="With --kind: which column is which, such as reward=my_score or reward=right+0.5*format; may be repeated.",
    ),
    click.option("--prompts", metavar="1-3,7", help="With --kind: which prompts, by their order in the file  [default: all]"),
    click.option("--most-tokens", type=int, metavar="N", help="With --kind: the first N tokens of each response alone."),
)  # fmt: skip
"""How rows of one's own are read."""


class Rows(NamedTuple):
    """How rows of one's own are to be read."""

    kind: str | None
    columns: tuple[str, ...]
    prompts: str | None
    most_tokens: int | None


def source_in(path: Path, asked: Rows) -> Source:
    """Reads rows of one's own as the tables of a numbers file, and says what there is to know of the way. Raises NumbersError."""
    able = {kind.name: kind for kind in kinds() if kind.rows is not None}
    name = str(asked.kind)
    hint = suggestion(nearest(name, list(able)), list(able))
    errors.require(
        name in able, f"--kind {unquoted(name)}: no kind of workbook that is made of rows of one's own; {hint}"
    )
    raw, said = able[name].part("rows")(path, asked.columns, asked.prompts, asked.most_tokens)
    for line in said:
        console.say(printable(line), err=True)  # stdout may be the file itself
    return Source(name_of(path), False, raw, printable(path.name))


EXAMPLES = """\b
Examples:
  blueprint numbers -o mine.toml
  blueprint numbers --preset verl --set sizes.hidden=8 -o mine.toml
  blueprint numbers mine.toml --show
  blueprint numbers mine.xlsx -o mine.toml
  blueprint numbers rollouts.jsonl --kind grpo -o mine.toml
  blueprint numbers --schema -o blueprint-numbers.schema.json
"""
ZIP = b"PK\x03\x04"


@click.command(epilog=EXAMPLES)
@click.argument("source", default="default", metavar="[NAME|FILE]")
@click.option("-o", "--output", type=errors.FILE, metavar="FILE", help="The file  [default: print it]")
@SET
@PRESETS
@click.option("--show", is_flag=True, help="List every key with its value, and where that comes from.")
@click.option("--schema", is_flag=True, help="Write the JSON Schema of numbers files, for editors.")
@of_rows
@click.option("--force", is_flag=True, help="Replace a file that is there already.")
def numbers(
    source: str,
    output: Path | None,
    overrides: tuple[str, ...],
    show: bool,
    schema: bool,
    force: bool,
    kind: str | None,
    columns: tuple[str, ...],
    prompts: str | None,
    most_tokens: int | None,
    **chosen: str | None,
) -> None:
    """Write all numbers of a workbook as a TOML file, each key with a comment.

    They are those of a built-in set (see `blueprint list`), of a file.toml, or typed in a file.xlsx; with --kind, rows of your own.
    """
    rows = Rows(kind, columns, prompts, most_tokens)
    of_rows_alone = columns or prompts is not None or most_tokens is not None
    errors.require(
        kind is not None or not of_rows_alone,
        "--column, --prompts and --most-tokens are of rows of your own: add --kind, with one of "
        f"{', '.join(kind.name for kind in kinds() if kind.rows is not None)}, or leave them away.",
    )
    errors.require(
        kind is None or source != "default",
        f"--kind reads rows of your own: name their file, such as blueprint numbers rows.jsonl --kind {unquoted(str(kind))}.",
    )
    options = [(f"--{name}", f"{name}={value}") for name, value in chosen.items() if value is not None]
    options += [("--set", each) for each in overrides]
    errors.require(
        not show or (not schema and not output),
        "--show prints, and goes with neither --schema nor -o: leave one of them away.",
    )
    errors.require(
        not schema or (not options and source == "default"),
        "--schema describes every numbers file: leave all but -o and --force away.",
    )
    if schema:
        _deliver(_schema(), output, force)
    elif show:
        for line in table([list(each) for each in origins(_source(source, rows), options)]):
            console.say(line)
    else:
        _write(_source(source, rows), [each for _, each in options], output, force)


def _source(name: str, rows: Rows) -> Source:
    """Reads the tables of a built-in set, of a file, of what is typed in a workbook, or makes them of rows of one's own."""
    if rows.kind is not None:
        return source_in(Path(name), rows)
    if not _is_workbook(name):
        return read(name)
    from blueprint.reopening import back_from

    back = back_from(Path(name))
    for line in (
        *(f"not in a numbers file: {each}" for each in back.unheld),
        *(f"as its value: {each}" for each in back.remarks),
    ):
        console.say(line, err=True)  # stdout may be the file itself
    return source_of(toml_of(back.numbers), Path(name))


def _is_workbook(name: str) -> bool:
    with suppress(OSError, ValueError):
        return name.lower().endswith(".xlsx") or content_of(Path(name), len(ZIP)).startswith(ZIP)
    return name.lower().endswith(".xlsx")  # no file: a name, or a path that is refused where it is read


def _write(found: Source, overrides: list[str], output: Path | None, force: bool) -> None:
    """Writes or prints the numbers file; the schema goes beside it."""
    loaded = load(found, overrides)
    errors.require(
        output is None or output.suffix.lower() == ".toml",
        f"{output} does not end in .toml, by which `blueprint build` knows a numbers file: name it so.",
    )
    _deliver(toml_of(loaded), output, force)
    if output is not None:
        head = f"{output}: all numbers of {loaded.title}; blueprint build --numbers makes a workbook of it"
        console.say("\n".join([printable(head), *loaded.departures, printable(_schema_beside(output))]))


def _schema_beside(output: Path) -> str:
    """Puts the schema, to which the file points, into its folder, where there is none; says what it did."""
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
    return json.dumps(schema_of(), ensure_ascii=False, indent=1) + "\n"


def _deliver(text: str, output: Path | None, force: bool) -> None:
    """Writes a text to a file whole, or prints it as UTF-8, which is what a file of it must be."""
    if output is None:
        click.echo(text.encode(), nl=False)
        return
    refuse_existing(output, force)
    with saved_whole(output) as unfinished:
        unfinished.write_bytes(text.encode())
