"""The command `presets`: the libraries whose conventions can be chosen, and the conventions. No maths."""

from difflib import get_close_matches
from typing import Any

import click

from blueprint.commands import errors
from blueprint.inputs import Level, Preset, shown_value
from blueprint.workbooks.kind import Kind
from blueprint.workbooks.registry import kinds

EXAMPLES = """\b
Examples:
  blueprint presets
  blueprint presets verl
  blueprint presets cleanrl
  blueprint presets --keys
"""
NOTHING = frozenset({None, "none", "off"})
"""A setting that is so, here and by default, leaves those that are part of it nothing to say."""


@click.command(epilog=EXAMPLES)
@click.argument("name", required=False)
@click.option("--keys", is_flag=True, help="List the conventions instead: what each is, and what may stand there.")
def presets(name: str | None, keys: bool) -> None:
    """List the libraries whose conventions can be chosen: version, source, and what differs from the default."""
    errors.require(not (name and keys), f"{name} and --keys: a library, or the conventions of all, leave one out")
    offered = [(kind, level) for kind in kinds() if (level := kind.chooses())]
    if name is not None:
        return _tell_named(name, offered)
    for kind, level in offered:
        _head(kind)
        if keys:
            _tell_keys(level)
        for preset in () if keys else level.presets().presets.values():
            _tell(level, preset)
        click.echo()


def _head(kind: Kind) -> None:
    """Prints of which kind of workbook the presets below are, and how one is built."""
    built_in = kind.usual() or "FILE"
    of = "" if built_in == "default" else f" --numbers {built_in}"
    click.echo(f"{kind.title[0].upper()}{kind.title[1:]}: blueprint build{of} --preset NAME")


def _tell_named(name: str, offered: list[tuple[Kind, Any]]) -> None:
    """Prints the presets of a name: of each kind that has one, since a library may do PPO and GRPO."""
    named = [(kind, level) for kind, level in offered if name in level.presets().presets]
    near = get_close_matches(name, [each for _, level in offered for each in level.presets().presets], n=1)
    for kind, level in named:
        if len(named) > 1:
            _head(kind)
        _tell(level, level.presets().preset(name))
        if len(named) > 1:
            click.echo()
    if not named:
        levels = [level for _, level in offered if {*near} <= {*level.presets().presets}]
        levels[0].presets().preset(name)


def _tell_keys(level: Level) -> None:
    """Prints every convention: its key, what it means, and what may stand there, the default first."""
    for key, setting in level.by_dotted_key.items():
        limits = f"{shown_value(setting.low, '-')} … {shown_value(setting.high, '-')}"
        others = ", ".join(word for word in setting.words if word != setting.value)
        allowed = f"or {others}" if others else limits
        click.echo(f"{key} = {shown_value(setting.value, '-')}  ({allowed})\n    {setting.meaning}")


def _tell(level: Level, preset: Preset) -> None:
    click.echo(f"\n{preset.name}: {preset.title}, {preset.version}\n  {preset.source}\n  {preset.why}")
    for key, value in preset.values.items():
        default, whole = level.settings[key].value, level.settings[key].part_of
        says_nothing = whole in level.settings and {preset.values.get(whole), level.settings[whole].value} <= NOTHING
        if value != default and not says_nothing:
            click.echo(f"    {level.dotted(key)} = {shown_value(value, '-')}  (default {shown_value(default, '-')})")
