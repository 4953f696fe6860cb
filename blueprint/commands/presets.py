"""The commands `list` and `presets`: what workbooks can be built from, and how each library differs from the default."""

import click

from blueprint.commands.console import say
from blueprint.inputs import Level, Preset, names, shown_value
from blueprint.workbooks.registry import kinds

EXAMPLES = """\b
Examples:
  blueprint presets
  blueprint presets verl
  blueprint presets cleanrl
  blueprint presets --keys
"""


@click.command("list")
def list_numbers() -> None:
    """Name the numbers that workbooks can be built from."""
    listed = names()
    width = max(len(name) for name, _ in listed)
    for name, about in listed:
        say(f"{name:<{width}}  {about}")


@click.command(epilog=EXAMPLES)
@click.argument("name", required=False)
@click.option("--keys", is_flag=True, help="List the conventions instead: what each is, and what may stand there.")
def presets(name: str | None, keys: bool) -> None:
    """List the libraries whose conventions can be chosen: version, source, and what differs from the default."""
    offered = [(kind, level) for kind in kinds() if (level := kind.chooses())]
    if name is not None:
        found = next((level for _, level in offered if name in level.presets().presets), offered[0][1])
        return _tell(found, found.presets().preset(name))
    for kind, level in offered:
        built_in = next(iter(kind.built_in()), "FILE")
        of = "" if built_in == "default" else f" --numbers {built_in}"
        click.echo(f"{kind.title[0].upper()}{kind.title[1:]}: blueprint build{of} --preset NAME")
        if keys:
            _tell_keys(level)
        else:
            for preset in level.presets().presets.values():
                _tell(level, preset)
        click.echo()


def _tell_keys(level: Level) -> None:
    """Prints every convention: its key, what it means, and what may stand there, the default first."""
    for key, setting in level.by_dotted_key.items():
        others = ", ".join(word for word in setting.words if word != setting.value)
        limits = f"{shown_value(setting.low, '-')} … {shown_value(setting.high, '-')}"
        allowed = f"or {others}" if others else limits
        click.echo(f"{key} = {shown_value(setting.value, '-')}  ({allowed})\n    {setting.meaning}")


def _tell(level: Level, preset: Preset) -> None:
    """Prints one preset."""
    click.echo(f"\n{preset.name}: {preset.title}, {preset.version}\n  {preset.source}\n  {preset.why}")
    for key, value in preset.values.items():
        default = level.settings[key].value
        if value != default:
            click.echo(f"    {level.dotted(key)} = {shown_value(value, '-')}  (default {shown_value(default, '-')})")
