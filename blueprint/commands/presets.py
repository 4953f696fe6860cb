"""The command `blueprint presets`: what each library does, where that was read, and how it differs from the default."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from blueprint.commands.refusals import Refused

if TYPE_CHECKING:
    from blueprint.inputs.catalogue import Catalogue, Preset

EXAMPLES = """\b
Examples:
  blueprint presets
  blueprint presets verl
  blueprint presets cleanrl
  blueprint presets --keys
"""


@click.command(epilog=EXAMPLES)
@click.argument("name", required=False)
@click.option("--keys", is_flag=True, help="List the conventions instead: what each is, and what may stand there.")
def presets(name: str | None, keys: bool) -> None:
    """List the libraries whose conventions can be chosen: version, source, and what differs from the default."""
    from blueprint.inputs.errors import NumbersError
    from blueprint.workbooks.classic_ppo.presets import classic_presets
    from blueprint.workbooks.common.conventions.data import rlhf

    if keys:
        return _tell_keys()

    of_texts, of_classic = rlhf(), classic_presets()
    if name is not None:
        try:
            found = of_classic if name in of_classic.presets and name not in of_texts.presets else of_texts
            return _tell(found, found.preset(name))
        except NumbersError as error:
            raise Refused(str(error)) from error
    click.echo("RLHF PPO: blueprint build --preset NAME")
    _tell_all(of_texts)
    click.echo("Classic PPO: blueprint build --numbers classic --preset NAME")
    _tell_all(of_classic)


def _tell_keys() -> None:
    """Prints every convention: its key, what it means, and what may stand there, the default first."""
    from blueprint.inputs.setting import dotted, shown_value
    from blueprint.workbooks.common.conventions.data import rlhf

    for key, setting in rlhf().settings.items():
        others = [word for word in setting.words if word != setting.value]
        allowed = (
            f"or {', '.join(others)}"
            if others
            else f"{shown_value(setting.low, '-')} … {shown_value(setting.high, '-')}"
        )
        click.echo(f"{dotted(key)} = {shown_value(setting.value, '-')}  ({allowed})\n    {setting.meaning}")


def _tell_all(catalogue: Catalogue) -> None:
    for preset in catalogue.presets.values():
        _tell(catalogue, preset)
    click.echo()


def _tell(catalogue: Catalogue, preset: Preset) -> None:
    """Prints one preset."""
    from blueprint.inputs.setting import dotted, shown_value

    click.echo(f"\n{preset.name}: {preset.title}, {preset.version}")
    click.echo(f"  {preset.source}\n  {preset.why}")
    for key, value in preset.values.items():
        default = catalogue.settings[key].value
        if value != default:
            click.echo(f"    {dotted(key)} = {shown_value(value, '-')}  (default {shown_value(default, '-')})")
